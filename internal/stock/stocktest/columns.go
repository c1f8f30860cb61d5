package stocktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
)

// testColumns: the logs in package engine name exactly the columns that the migrations
// create.
func testColumns(t *testing.T, s *stock.Store) {
	checkColumns(t, s, engine.Awards())
	checkColumns(t, s, engine.Moves())
	checkColumns(t, s, engine.Changes())
}

func checkColumns[T any](t *testing.T, s *stock.Store, log engine.Log[T]) {
	t.Helper()
	rows, err := s.LockDB().QueryContext(t.Context(), `SELECT * FROM `+log.Table+` WHERE 1 = 0`)
	require.NoError(t, err)
	made, _ := scanAll(t, rows)
	names := func() []string { return append(strings.Split(log.Names(""), ", "), "pool_id", "at") }
	require.ElementsMatch(t, made, names())
	log.Columns = log.Columns[1:]
	require.NotSubset(t, names(), made)
}
