package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRun: the results of two tests on one lock make one row. Values that no test
// measured are marked as missing. The rest of the page stays.
func TestRun(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, os.WriteFile(results, []byte(
		`{"Lock":"row:","Server":"postgres","Cores":2,"TTL":500,"Contenders":32,"KilledFree":6.4}`+"\n"+
			`{"Lock":"row:","Server":"postgres","Cores":2,"TTL":500,"DownRefused":12.3,"Seen":["a","b"]}`+"\n"+
			`{"Lock":"row:","Server":"postgres","Uncontended":0.31,"DrawsPerSecond":5143.2,"Callers":64}`+"\n"), 0o600))
	file := filepath.Join(t.TempDir(), "locks.md")
	const begin, end = "<!-- locks:begin -->\n", "<!-- locks:end -->"
	require.NoError(t, os.WriteFile(file, []byte("above\n"+begin+"of yesterday\n"+end+"\nbelow\n"), 0o600))
	fill := func(results string) error {
		return publish(t.Context(), settings{results: results, page: file}, io.Discard)
	}
	require.NoError(t, fill(results))
	filled, err := os.ReadFile(file)
	require.NoError(t, err)
	page := string(filled)
	require.True(t, strings.HasPrefix(page, "above\n"+begin))
	require.True(t, strings.HasSuffix(page, end+"\nbelow\n"))
	require.NotContains(t, page, "yesterday")
	require.Contains(t, page, "| `row:` on postgres | 500 ms | yes, 32 contenders | 6.40 ms | not measured |")
	require.Contains(t, page, "| `row:` on postgres | 0.31 ms | not measured | 5143 with 64 callers |")
	require.Contains(t, page, "| `row:` on postgres | 12 ms | not measured | not measured | a; b |")
	require.NoError(t, fill(results), "a page that was filled before")
}

func TestRunRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	fill := func(results string) error {
		return publish(t.Context(), settings{results: results, page: empty}, io.Discard)
	}
	require.Error(t, fill(empty), "no results")
	results := filepath.Join(t.TempDir(), "results.json")
	require.NoError(t, os.WriteFile(results, []byte(`{"Lock":"row:","Server":"postgres"}`), 0o600))
	require.ErrorContains(t, fill(results), "locks:begin")
}
