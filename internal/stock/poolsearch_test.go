package stock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/stocktest"
)

// TestSearchOfPoolsIsBounded: a page of a search reads 10,000 names. It may be empty, and
// then the next page continues after these names.
func TestSearchOfPoolsIsBounded(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "z-needle", 1)
	stocktest.ExecAll(t, s, []string{`INSERT INTO pools (id, name, state, version, created_at)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10050)
		SELECT printf('f%05d', i), 'Filler', 'paused', 0, '2026-01-01T00:00:00.000000Z' FROM n`})
	wanted := draw.PoolFilter{Words: "needle"}
	found, next, err := s.PoolPage(t.Context(), wanted, "", 100)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, "f10000", next)
	found, next, err = s.PoolPage(t.Context(), wanted, next, 100)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, "z-needle", found[0].ID)
	require.Empty(t, next)
}
