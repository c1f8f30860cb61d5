package house

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// givenUp returns banned words, by the word to use in their place. Each counts only as
// a whole word, in any case.
func givenUp() map[string][]string {
	return map[string][]string{
		"another session, another program":  {"stranger", "strangers"},
		"read, check, lookup":               {"look", "looks", "looked", "looking"},
		"answered, notified, distinguished": {"told"},
		"tested by, checked against":        {"held to", "holds to", "held against"},
		"interleaved":                       {"in turns"},
		"down, ended, disconnected":         {"gone"},
		"exiting, shutting down":            {"ending"},
		"cached":                            {"remember", "remembers", "remembered"},
		"invalidate, drop":                  {"forget", "forgets", "forgotten"},
		"in doubt":                          {"unsure", "doubted"},
		"coalescer, entry, shared":          {"joiner", "joint", "seat"},
		"the condition itself":              {"befall", "befalls"},
		"timeout":                           {"time-out", "time-outs"},
		"retry":                             {"ask again", "asks again", "asked again", "asking again"},
		"rejected": {
			"write refused", "writes refused", "write is refused", "writes are refused", "write was refused",
			"refuse the write", "refuses the write", "refused the write", "refuses a write", "refused write",
		},
	}
}

// fine returns phrases that may contain a banned word. They are terms of the field, or
// names of cells of loadtest/faults, which cannot change because published results are
// found by them.
func fine() []string {
	return []string{
		"look up", "looks up", "looked up", "looking up", "look for", "looks for", "looking for", "look like", "looks like",
		"lock held by a stranger for", "clients gone in mid-request", "drawsvc-keeps-answers",
		"zero-width joiner",                           // of Unicode
		`Why = "gone`, "operator`, `gone", "why-gone", // why a hook is off
		"user forget", `user", "forget`, "user-forgotten", "forget USER", // the command and its change
	}
}

// wordless returns the places where the words are allowed. This file names them.
func wordless() []string { return []string{"internal/house/words_test.go"} }

// vocabulary finds the banned words.
type vocabulary struct{ bad, good *regexp.Regexp }

func newVocabulary() vocabulary {
	var bad []string
	for _, words := range givenUp() {
		bad = append(bad, words...)
	}
	slices.Sort(bad)
	return vocabulary{bad: anyOf(bad), good: anyOf(fine())}
}

func anyOf(phrases []string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:` + strings.ReplaceAll(strings.Join(phrases, "|"), " ", `\s+`) + `)\b`)
}

// margin is the beginning of a comment's next line, before its text.
var margin = regexp.MustCompile(`\n[ \t]*(?://|#|--|\*)[ \t]*`)

// faults returns the banned words of a text, each with its line. A phrase may continue
// on the next line.
func (v vocabulary) faults(name, text string) (found []string) {
	if strings.HasSuffix(name, ".md") {
		text = strings.Join(handWritten(text), "\n")
	}
	text = margin.ReplaceAllString(text, "\n")
	fine := v.good.FindAllStringIndex(text, -1)
	for _, at := range v.bad.FindAllStringIndex(text, -1) {
		if slices.ContainsFunc(fine, func(f []int) bool { return f[0] <= at[0] && at[1] <= f[1] }) {
			continue
		}
		word := strings.Join(strings.Fields(text[at[0]:at[1]]), " ")
		found = append(found, fmt.Sprintf("%s:%d: %s", name, 1+strings.Count(text[:at[0]], "\n"), word))
	}
	return found
}

// TestGivenUpWordsStayOut: the banned words are in no code, comment, page, help or
// message.
func TestGivenUpWordsStayOut(t *testing.T) {
	v := newVocabulary()
	for _, name := range files(t, ".go", ".md", ".sql", ".js", ".lua", ".sh", ".py", ".yml", "Makefile", ".ci/run", ".ci/packages", ".ci/fuzz") {
		out := func(place string) bool { return strings.HasPrefix(name, place) }
		if slices.ContainsFunc(wordless(), out) {
			continue
		}
		for _, fault := range v.faults(name, read(t, name)) {
			t.Error(fault)
		}
	}
}

// TestGivenUpWordsStayOutCatches: it catches each of the words, in any case and across
// a line end, and accepts what is fine.
func TestGivenUpWordsStayOutCatches(t *testing.T) {
	v := newVocabulary()
	for _, words := range givenUp() {
		for _, word := range words {
			require.Equal(t, []string{"x.go:2: " + word}, v.faults("x.go", "package x\nvar y = \""+word+"\"\n"))
			require.Len(t, v.faults("x.md", "A "+strings.ToUpper(word)+"."), 1)
		}
	}
	require.Equal(t, []string{"x.go:1: held to"}, v.faults("x.go", "// It is held\n\t// to it.\n"))
	require.Equal(t, []string{"x.go:1: stranger"}, v.faults("x.go", "// held by a stranger for once"))
	require.Empty(t, v.faults("x.go", `"row lock held by a stranger for 5 s"`))
	require.Empty(t, v.faults("x.go", "// A key is looked\n// up. lookUp(\"foretold\"); endings\n"))
	require.Empty(t, v.faults("x.md", "# A\n<!-- x:begin -->\ngone\n<!-- x:end -->\n"))
	require.Equal(t, []string{"x.md:5: gone"}, v.faults("x.md", "# A\n<!-- x:begin -->\ngone\n<!-- x:end -->\ngone\n"))
}
