package ui

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// all are the files of the page by name.
func all(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	entries, err := fs.ReadDir(files, "files")
	require.NoError(t, err)
	for _, e := range entries {
		f, ok := Open(e.Name())
		require.True(t, ok)
		require.NotEmpty(t, f.Type, e.Name())
		found[e.Name()] = string(f.Body)
	}
	require.Contains(t, found, "index.html")
	return found
}

// faults returns how a file breaks the page's rules. A file must not make markup from
// strings, have code that the policy would refuse, name other hosts, or have too many
// lines.
func faults(name, text string) (found []string) {
	for what, pattern := range map[string]string{
		"markup of a string":   `innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc`,
		"code of a string":     `\beval\(|new Function|javascript:`,
		"style or handler":     `\sstyle=|\son[a-z]+=["']|<script>|<style`,
		"another host":         `https?://(?:[^w]|w[^w]|ww[^w])`,
		"a style as attribute": `setAttribute\("style"`,
	} {
		if regexp.MustCompile(pattern).MatchString(text) {
			found = append(found, name+": "+what)
		}
	}
	if strings.Count(text, "\n") > 300 && !textFile.MatchString(name) {
		found = append(found, name+": more than 300 lines")
	}
	return found
}

// TestFilesKeepTheRules: the files keep the rules of doc.go, and import only existing
// files.
func TestFilesKeepTheRules(t *testing.T) {
	t.Parallel()
	page := all(t)
	for name, text := range page {
		require.Empty(t, faults(name, text))
		for _, other := range regexp.MustCompile(`from "\./([^"]+)"|(?:href|src)="(?:ui|-)/([^"]+)"`).FindAllStringSubmatch(text, -1) {
			require.Contains(t, page, other[1]+other[2], name)
		}
	}
}

// TestFilesKeepTheRulesCatches: each kind of fault is found.
func TestFilesKeepTheRulesCatches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`e.innerHTML = name`: "markup", `eval("1")`: "code", `<p style="x">`: "style", `<p onclick="x">`: "style",
		`fetch("https://example.org")`: "host", strings.Repeat("\n", 301): "300 lines",
	} {
		require.Len(t, faults("x.js", text), 1, text)
		require.Contains(t, faults("x.js", text)[0], want)
	}
}

// TestOpenFindsFilesOfThePage: only files of the page are found.
func TestOpenFindsFilesOfThePage(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "ui.go", "../ui.go", "files", "nothing.js"} {
		_, found := Open(name)
		require.False(t, found, name)
	}
	second, found := Open("verify.py")
	require.True(t, found)
	require.Equal(t, "text/x-python; charset=utf-8", second.Type)
	f, found := Open("app.js")
	require.True(t, found)
	require.Equal(t, "text/javascript; charset=utf-8", f.Type)
}

// TestFairFilesImportEachOther: the page of fairness needs no script that an operator may
// have restricted to operators.
func TestFairFilesImportEachOther(t *testing.T) {
	t.Parallel()
	page := all(t)
	for _, name := range FairFiles() {
		for _, other := range regexp.MustCompile(`from "\./([^"]+)"`).FindAllStringSubmatch(page[name], -1) {
			require.Contains(t, FairFiles(), other[1], name)
		}
	}
}

// TestNamedWritesTheNameAsText: the operator's name is in the title and the meta element
// of both pages, for all characters that it may contain. Other files, and the pages of a
// service without a name, are unchanged.
func TestNamedWritesTheNameAsText(t *testing.T) {
	t.Parallel()
	for name, title := range map[string]string{"index.html": `<title>A&amp;B &#34;&lt;b&gt;</title>`, "fair.html": "<title>Fairness</title>"} {
		file, _ := Open(name)
		require.Equal(t, file, file.Named(""))
		named := string(file.Named(`A&B "<b>`).Body)
		require.Contains(t, named, title)
		require.Contains(t, named, `<meta name="application-name" content="A&amp;B &#34;&lt;b&gt;">`)
	}
	script, _ := Open("app.js")
	require.Equal(t, script, script.Named("A"))
}

// TestPolicyForbidsInlineCode: the policy forbids inline code, content from other hosts,
// and markup from strings.
func TestPolicyForbidsInlineCode(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"} {
		require.Contains(t, Policy, part)
	}
	require.NotContains(t, Policy, "unsafe")
}
