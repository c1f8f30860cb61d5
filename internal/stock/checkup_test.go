package stock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
)

// checkUp opens the database read-only, and returns the findings of a check-up, except
// the one about a folder in memory.
func checkUp(t *testing.T, url string) (lines []string) {
	t.Helper()
	s, err := stock.Open(t.Context(), url, stock.Options{ReadOnly: true})
	require.NoError(t, err)
	defer s.Close()
	found, err := checkup.Run(t.Context(), s, checkup.Options{Lock: "table"})
	require.NoError(t, err)
	for _, f := range found {
		if f.Rule == "memory-file-system" {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Level, f.Rule, f.Detail))
	}
	return lines
}
