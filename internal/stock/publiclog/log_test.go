package publiclog_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/stocktest"
)

// TestLogContinuesWhereItWasRead: the read of a log continues after the last line that
// was read, and finds new prizes. It does not continue if that line was lost with a
// server.
func TestLogContinuesWhereItWasRead(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p", 9)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d1", "d2")))
	size, err := s.ReadTwice(t.Context(), "p", func() {
		_, err := s.AddPrize(t.Context(), "p", draw.Prize{ID: "b", Name: "B", Stocked: 4}, "test")
		require.NoError(t, err)
		require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 5, "b", 0, "d3")))
	})
	require.NoError(t, err)
	require.EqualValues(t, 6, size)
	for _, lost := range []string{
		`UPDATE awards SET draw_id = 'other' WHERE version = 6`, `UPDATE awards SET unit = 2 WHERE version = 6`,
		`UPDATE awards SET at = '2026-01-01T00:00:00.000000Z' WHERE version = 6`, `DELETE FROM awards WHERE version = 6`,
	} {
		_, err := s.ReadTwice(t.Context(), "p", func() { stocktest.ExecAll(t, s, []string{lost}) })
		require.ErrorIs(t, err, publiclog.ErrRewritten, lost)
		require.Equal(t, draw.CodeContended, draw.CodeOf(err))
	}
}

// TestLogIsOfOneTime: if a user was erased between two parts of the read, the first lines
// no longer exist. So the pool must not be committed to that log.
func TestLogIsOfOneTime(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "p", 30_000)
	names := make([]string, 25_000)
	for i := range names {
		names[i] = fmt.Sprint("d", i)
	}
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, names...)))
	stocktest.ExecAll(t, s, []string{`UPDATE awards SET user_id = 'v' WHERE version > 1002`}) // the last lines that were read do not change
	salts := proof.NewSalts()
	before, stood, err := s.ReadWhile(t.Context(), "p", salts, 0, nil)
	require.NoError(t, err)
	require.True(t, stood)
	mixed, stood, err := s.ReadWhile(t.Context(), "p", salts, 10, func() {
		awards, err := s.EraseUser(t.Context(), "p", "u", "erased-1", "test")
		require.NoError(t, err)
		require.EqualValues(t, 1000, awards)
	})
	require.NoError(t, err)
	require.False(t, stood)
	after, stood, err := s.ReadWhile(t.Context(), "p", salts, 0, nil)
	require.NoError(t, err)
	require.True(t, stood)
	require.NotEqual(t, before, after)
	require.NotEqual(t, mixed, after)
}
