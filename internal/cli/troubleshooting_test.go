package cli

import (
	"net"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// missingCodes returns the codes of the description of the interface that a page does
// not name.
func missingCodes(description, page string) (missing []string) {
	for _, found := range regexp.MustCompile(`\| \d{3}(?:, \d{3})* \| (.*?) \|`).FindAllStringSubmatch(description, -1) {
		for _, code := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(found[1], -1) {
			if !regexp.MustCompile("`" + code[1] + "`").MatchString(page) {
				missing = append(missing, code[1])
			}
		}
	}
	return missing
}

// TestTroubleshootingHasEveryCode: each code of the table of problems has a row.
func TestTroubleshootingHasEveryCode(t *testing.T) {
	t.Parallel()
	description, err := os.ReadFile("../../docs/http.md")
	require.NoError(t, err)
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	require.Empty(t, missingCodes(string(description), string(page)))
	without := regexp.MustCompile("`sold-out`").ReplaceAllString(string(page), "sold out")
	require.Equal(t, []string{"sold-out"}, slices.Compact(missingCodes(string(description), without)), "a code without a row is caught")
}

// TestTroubleshootingQuotes: a service that does not start prints the text that the
// page quotes.
func TestTroubleshootingQuotes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	url := stocktest.Migrated(t, "sqlite")
	p := program{tb: t}
	p.vars = map[string]string{"DRAWSVC_DATABASE": url}
	running := p.serve()
	open := []string{"--listen", "0.0.0.0:0"}
	tokens := append(open, "--admin-token", "0123456789abcdef", "--draw-token", "fedcba9876543210")
	for quote, args := range map[string][]string{
		"is open to others: give --admin-token":                   open,
		"is open to others: give --draw-token":                    tokens[:4],
		"without one each instance would have a stock of its own": tokens,
		"the password in the URL holds a raw @, : or /":           {"--listen", "127.0.0.1:0", "--database", "postgres://u:p@ss@127.0.0.1/x"},
		"or serve with --migrate":                                 {"--listen", "127.0.0.1:0", "--database", servertest.Postgres(t)},
		"the database cannot be opened":                           {"--listen", "127.0.0.1:0", "--database", "postgres://u:p@127.0.0.1:1/x"},
		"is in use by another process":                            {"--listen", "127.0.0.1:0", "--database", url},
		"address already in use":                                  {"--listen", taken.Addr().String()},
	} {
		require.Contains(t, string(page), "| `"+quote+"` |")
		o := program{tb: t}.run(append([]string{"serve"}, args...)...)
		require.NotZero(t, o.code, quote)
		require.Contains(t, o.message, quote)
	}
	misspelt := program{tb: t, vars: map[string]string{"DRAWSVC_DATABSE": "x"}}
	misspelt.refused(exitUsage, "is no variable of drawsvc; the nearest is", "serve")
	require.Equal(t, exitOK, running.end().code)
}
