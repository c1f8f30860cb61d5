package history

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../../.."

// TestDoublesAreMadeOfTheSource: each double has a comment in the source, and the code
// below it is found exactly once.
func TestDoublesAreMadeOfTheSource(t *testing.T) {
	t.Parallel()
	for _, d := range Edited() {
		file, err := Overlay(root, t.TempDir(), d)
		require.NoError(t, err, d.Program)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), d.Program)
	}
}

// TestDoublesAreKnown: each comment in the source belongs to a known double.
func TestDoublesAreKnown(t *testing.T) {
	t.Parallel()
	texts, err := sources(root+"/internal", root+"/cmd")
	require.NoError(t, err)
	for file, text := range texts {
		all := marks().FindAllStringSubmatch(text, -1)
		require.Len(t, all, len(regexp.MustCompile(`//\s*double:`).FindAllString(text, -1)), "%s: a comment has another form", file)
		for _, m := range all {
			_, known := EditedOf("drawsvc-" + m[1])
			require.True(t, known, "%s: %s is no double", file, m[1])
		}
	}
}

// TestDoublesFindLostCode: it is an error if code below a comment was renamed or occurs
// twice, and if a double has no comment.
func TestDoublesFindLostCode(t *testing.T) {
	t.Parallel()
	d := Double{Program: "drawsvc-x"}
	const comment = "\t//double:x a && b => a\n"
	broken, err := d.breakAt(comment + "\treturn a && b\n\nfunc f() {}\n")
	require.NoError(t, err)
	require.Equal(t, "\t//double:x a && b => a\n\treturn a\n\nfunc f() {}\n", strings.TrimRight(broken, "\n")+"\n")
	for _, code := range []string{"\treturn a && c\n", "\treturn a && b || a && b\n", "\n\treturn a && b\n"} {
		_, err := d.breakAt(comment + code)
		require.ErrorContains(t, err, "has to be there once", code)
	}
	_, err = Overlay(root, t.TempDir(), d)
	require.ErrorContains(t, err, "no comment //double:x")
}
