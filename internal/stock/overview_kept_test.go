package stock_test

import (
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestOverviewsFollowEachChange: what one reading of the overviews keeps for the next is
// dropped with each change of a pool, also of one that was deleted and created again, with
// the same number of versions. The broken double versions-only compares versions only.
func TestOverviewsFollowEachChange(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			stocktest.Pool(t, s, "p", 10, 20)
			stocktest.Pool(t, s, "q", 5)
			agrees := func(about string) {
				t.Helper()
				for range 2 { // the second time from what was kept
					all, err := s.Overviews(ctx, 10, 3)
					require.NoError(t, err, about)
					for i := range all {
						p, err := s.Pool(ctx, all[i].ID)
						require.NoError(t, err)
						require.Equal(t, p, all[i].Pool, about)
						var stocked, issued int64
						for _, prize := range p.Prizes {
							stocked, issued = stocked+prize.Stocked, issued+prize.Issued
						}
						require.Equal(t, [4]int64{int64(len(p.Prizes)), stocked, issued, issued}, [4]int64{all[i].PrizeCount, all[i].Stocked, all[i].Issued, all[i].Awards}, about)
					}
				}
			}
			agrees("at first")
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 3, "a", 0, "d1", "d2")))
			agrees("after draws")
			_, err := s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Value: new(decimal.RequireFromString("7.50"))}, "test")
			require.NoError(t, err)
			agrees("after a value")
			_, err = s.ChangePool(ctx, "q", draw.PoolChange{Currency: new("EUR")}, "test")
			require.NoError(t, err)
			agrees("after a currency, which makes no version")
			all, err := s.Overviews(ctx, 10, 1)
			require.NoError(t, err)
			require.Empty(t, all[0].Prizes, "fewer prizes are wanted")
			agrees("after fewer prizes")
			before, err := s.Pool(ctx, "q")
			require.NoError(t, err)
			require.NoError(t, s.DeletePool(ctx, "q", nil, "test"))
			agrees("without q")
			stocktest.Pool(t, s, "q", 6)
			_, err = s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Value: new(decimal.RequireFromString("8.50"))}, "test")
			require.NoError(t, err)
			again, err := s.Pool(ctx, "q")
			require.NoError(t, err)
			require.Equal(t, before.Version, again.Version)
			agrees("with another q")
			require.NoError(t, s.DeletePool(ctx, "q", nil, "test"))
			stocktest.Pool(t, s, "q", 7)
			_, err = s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Value: new(decimal.RequireFromString("9.50"))}, "test")
			require.NoError(t, err)
			agrees("with a third q, of which nobody saw that the second was deleted")
		})
	}
}

// TestRoundTripsOfOverviews: while nothing changes, a reading of the overviews reads the
// rows of the pools, and no prizes: one statement, however many pools there are.
func TestRoundTripsOfOverviews(t *testing.T) {
	t.Parallel()
	proxy := servertest.StartProxy(t, servertest.Postgres(t))
	s := stocktest.Open(t, proxy.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 1000)
	stocktest.Pool(t, s, "q", 1000)
	read := func() int64 {
		before := proxy.Turns()
		_, err := s.Overviews(t.Context(), 10, 3)
		require.NoError(t, err)
		return proxy.Turns() - before
	}
	draws := func(version int64, key string) {
		require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", version, "a", version-2, key)))
	}
	read() // the first calls prepare the statements
	draws(2, "d1")
	read()
	idle := read()
	draws(3, "d2")
	require.Equal(t, idle+2, read(), "the sums and the prizes of the pool that changed")
	require.Equal(t, idle, read())
}
