package stocktest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

func testStock(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 5, 0)
	require.NoError(t, Write(t, s, stock.TxOptions{}, Plan("p", 3, "a", 0, "d1", "d2")))

	m, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 100, Reason: "restock"}, "test")
	require.NoError(t, err)
	require.Equal(t, [3]int64{6, 105, 2}, [3]int64{m.Version, m.Stocked, m.Issued})
	m, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: -103, Reason: "to the edge"}, "test")
	require.NoError(t, err)
	require.Equal(t, [3]int64{7, 2, 2}, [3]int64{m.Version, m.Stocked, m.Issued})
	for _, w := range []struct {
		code  draw.Code
		prize string
		delta int64
	}{
		{draw.CodeStockBelowIssued, "a", -1},
		{draw.CodeStockBelowIssued, "b", -1},
		{draw.CodeInvalidRequest, "a", 0},
		{draw.CodeInvalidRequest, "a", draw.StockMax},
		{draw.CodeInvalidRequest, "a", draw.StockMax + 1},
		{draw.CodeInvalidRequest, "a", -draw.StockMax - 1},
		{draw.CodePrizeNotFound, "zz", 1},
	} {
		_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: w.prize, Delta: w.delta, Reason: "x"}, "test")
		code(t, w.code, err)
	}
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "q", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1}, "test")
	code(t, draw.CodeInvalidRequest, err)
	a := NoViolations(t, s, "p")
	require.Equal(t, int64(7), a.Version, "nothing of the refused moves is left")
}

func testStockKeys(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 5, 5)
	w := draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 3, Reason: "once", Key: "k"}
	firstly, err := s.Stock(ctx, w, "test")
	require.NoError(t, err)
	require.False(t, firstly.Replayed)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "other"}, "test")
	require.NoError(t, err)
	again, err := s.Stock(ctx, w, "test")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	again.Replayed = false
	require.Equal(t, firstly, again)
	w.Delta = 4
	_, err = s.Stock(ctx, w, "test")
	code(t, draw.CodeKeyReused, err)
	w.Delta, w.PrizeID = 3, "b"
	_, err = s.Stock(ctx, w, "test")
	code(t, draw.CodeKeyReused, err)
	w.PrizeID, w.Reason = "a", "twice"
	_, err = s.Stock(ctx, w, "test")
	code(t, draw.CodeKeyReused, err)
	require.Equal(t, int64(9), NoViolations(t, s, "p").Prizes[0].Stocked)
}

// testStockAtOnce runs moves, keyed moves and awards concurrently on one pool.
func testStockAtOnce(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 100)
	var group sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 8 {
		group.Go(func() {
			for n := range 5 {
				_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 2, Reason: "up", Key: fmt.Sprint("k", n)}, "test")
				errs <- err
				_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: -1, Reason: fmt.Sprint("down ", i)}, "test")
				errs <- err
			}
		})
	}
	group.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, int64(100+5*2-40), NoViolations(t, s, "p").Prizes[0].Stocked, "each key once")
}
