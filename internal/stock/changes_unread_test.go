package stock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestUnreadChangeIsNotReportedAsNone: if a pool was changed but cannot be read
// afterwards, the error does not say that nothing happened.
func TestUnreadChangeIsNotReportedAsNone(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			s := stocktest.Open(t, stocktest.URL(t, dialect), stock.Options{Changed: func(string) { leave() }})
			stocktest.Pool(t, s, "p", 1)
			paused := draw.StatePaused
			_, err := s.ChangePool(ctx, "p", draw.PoolChange{State: &paused}, "test")
			require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(err), "%v", err)
			pool, err := s.Pool(t.Context(), "p")
			require.NoError(t, err)
			require.Equal(t, paused, pool.State)
		})
	}
}
