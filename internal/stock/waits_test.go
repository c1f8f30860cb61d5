package stock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestWaitsForConnections: the time that a draw waits for a connection is counted, even
// if the draw gives up.
func TestWaitsForConnections(t *testing.T) {
	t.Parallel()
	url := stocktest.URL(t, "postgres")
	mark := "?"
	if strings.Contains(url, "?") {
		mark = "&"
	}
	s := stocktest.Open(t, url+mark+"pool_max_conns=1", stock.Options{})
	stocktest.Pool(t, s, "p", 5)
	tx, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{Lock: true})
	require.NoError(t, err)
	defer tx.Rollback()
	before := s.Connections().Waited
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Read(ctx, urn.NewUrn("p"), stock.TxOptions{})
		ended <- err
	}()
	require.Eventually(t, func() bool { return s.Connections().Waited > before+100*time.Millisecond }, waitMax, tick, "nobody has got a connection yet")
	cancel()
	require.Error(t, <-ended)
	counted := s.Connections().Waited
	require.Greater(t, counted, before+100*time.Millisecond)
	require.Equal(t, counted, s.Connections().Waited, "nobody waits any more")
}
