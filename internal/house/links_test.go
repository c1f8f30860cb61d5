package house

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	heading   = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	noAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
)

// anchors returns the addresses of a page's headings, as GitHub makes them.
func anchors(page string) map[string]bool {
	found := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		found[strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")] = true
	}
	return found
}

// deadLinks returns the relative links of a page that lead nowhere: to no file, or to
// no heading of a page.
func deadLinks(t *testing.T, name, page string) (dead []string) {
	t.Helper()
	for _, found := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		address := found[2]
		if strings.Contains(address, "://") || strings.HasPrefix(address, "mailto:") {
			continue
		}
		file, anchor, _ := strings.Cut(address, "#")
		target := name
		if file != "" {
			target = path.Join(path.Dir(name), file)
		}
		text := page
		if target != name {
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				dead = append(dead, name+": "+address)
				continue
			}
			if anchor != "" {
				text = read(t, target)
			}
		}
		if anchor != "" && !anchors(text)[anchor] {
			dead = append(dead, name+": "+address)
		}
	}
	return dead
}

// TestLinksResolve: every relative link of every page leads to a file, and to a heading
// if it names one.
func TestLinksResolve(t *testing.T) {
	for _, name := range files(t, ".md") {
		require.Empty(t, deadLinks(t, name, read(t, name)))
	}
}

// TestLinksResolveCatches: it catches links that lead nowhere.
func TestLinksResolveCatches(t *testing.T) {
	const page = "# A `b` c\n[x](#a-b-c) [y](../README.md) [z](https://example.org/x) [w](../README.md#modes)\n```text\n[in code](x.md)\n```\n"
	require.Empty(t, deadLinks(t, "docs/x.md", page))
	require.Equal(t, []string{"docs/x.md: none.md", "docs/x.md: #none", "docs/x.md: ../README.md#none", "docs/x.md: none.svg"},
		deadLinks(t, "docs/x.md", page+"[a](none.md) [`b`](#none) [c](../README.md#none) ![d](none.svg)"))
}
