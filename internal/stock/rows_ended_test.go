package stock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/stocktest"
)

// TestRowsAfterSessionEndReturnAnError: the server ends a session, and the client does
// not notice. Reading rows then returns an error instead of waiting forever.
func TestRowsAfterSessionEndReturnAnError(t *testing.T) {
	t.Parallel()
	s := stocktest.Open(t, stocktest.URL(t, "postgres"), stock.Options{})
	stocktest.Pool(t, s, "p", 1)
	ended := make(chan error, 1)
	go func() {
		ended <- s.RowsOf(t.Context(), "p", func(q engine.Querier) error {
			var ok bool
			_ = q.QueryRowContext(t.Context(), `SELECT pg_terminate_backend(pg_backend_pid())`).Scan(&ok)
			return engine.EachRow(t.Context(), q, `SELECT true`, nil, []any{&ok}, func() {})
		})
	}()
	select {
	case err := <-ended:
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "it waits for ever")
	}
	_, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
}
