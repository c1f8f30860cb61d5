package stock_test

import (
	"fmt"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestOverviewsFollowEachChange: each change of a pool drops the data that a reading of
// the overviews has cached. One pool is deleted and created again, with the same number
// of versions and another budget. The broken double versions-only compares only versions.
func TestOverviewsFollowEachChange(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			budgets := map[string]int64{} // of the pools, in cents
			create := func(id string, budget int64, stocked ...int64) {
				t.Helper()
				budgets[id] = budget
				p := draw.Pool{ID: id, Name: "Pool " + id, Rules: budgetOf(t, budget)}
				for i, n := range stocked {
					p.Prizes = append(p.Prizes, draw.Prize{ID: string(rune('a' + i)), Name: "Prize", Value: decimal.New(1990, -2), Stocked: n})
				}
				p.Prizes = append(p.Prizes, draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock})
				_, err := s.CreatePool(ctx, p, "test")
				require.NoError(t, err)
			}
			remove := func(id string) {
				t.Helper()
				delete(budgets, id)
				require.NoError(t, s.DeletePool(ctx, id, nil, "test"))
			}
			create("p", 1000_00, 10, 20)
			create("q", 500_00, 5)
			agrees := func(about string) {
				t.Helper()
				for range 2 { // the second time from the cache
					all, err := s.Overviews(ctx, 10, 3)
					require.NoError(t, err, about)
					shown := map[string]int64{}
					for i := range all {
						p, err := s.Pool(ctx, all[i].ID)
						require.NoError(t, err)
						require.Equal(t, p, all[i].Pool, about)
						money, err := s.Money(ctx, &p)
						require.NoError(t, err)
						require.Equal(t, money, all[i].Money, about)
						shown[p.ID] = money.Budget.Max
						var stocked, issued int64
						for _, prize := range p.Prizes[:len(p.Prizes)-1] { // without the endless blank
							stocked, issued = stocked+prize.Stocked, issued+prize.Issued
						}
						require.Equal(t, [4]int64{int64(len(p.Prizes)), stocked, issued, issued}, [4]int64{all[i].PrizeCount, all[i].Stocked, all[i].Issued, all[i].Awards}, about)
					}
					require.Equal(t, budgets, shown, about)
				}
			}
			agrees("at first")
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("p", 5, "a", 0, "d1", "d2")))
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
			remove("q")
			agrees("without q")
			create("q", 600_00, 6)
			_, err = s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Value: new(decimal.RequireFromString("8.50"))}, "test")
			require.NoError(t, err)
			again, err := s.Pool(ctx, "q")
			require.NoError(t, err)
			require.Equal(t, [2]int64{before.Version, before.RulesVersion}, [2]int64{again.Version, again.RulesVersion})
			agrees("with another q")
			remove("q")
			create("q", 700_00, 7)
			_, err = s.ChangePrize(ctx, "q", "a", draw.PrizeChange{Value: new(decimal.RequireFromString("9.50"))}, "test")
			require.NoError(t, err)
			agrees("with a third q, of which nobody saw that the second was deleted")
			kept := stocktest.Keep(t, s, "q")
			for _, cents := range []int64{800_00, 900_00} {
				_, err := s.SetRules(ctx, "q", budgetOf(t, cents), nil, "test")
				require.NoError(t, err)
				budgets["q"] = cents
				agrees("with other rules")
				if cents == 800_00 {
					kept.PutBack(t, s)
				}
			}
		})
	}
}

// budgetOf returns rules with a budget.
func budgetOf(t *testing.T, cents int64) *draw.Rules {
	t.Helper()
	return drawtest.Rules(t, fmt.Sprintf(`{"fallback":"none","budget":{"max":"%d.00"}}`, cents/100))
}

// TestRoundTripsOfOverviews: while nothing changes, a reading of the overviews reads the
// rows of the pools, but no prizes. It needs one statement, however many pools there are.
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
	const idle = 3 // a beginning, the rows of the pools, an end
	require.EqualValues(t, idle, read())
	draws(3, "d2")
	require.EqualValues(t, idle+2, read(), "the sums and the prizes of the pool that changed")
	require.EqualValues(t, idle, read())
	stocktest.Pool(t, s, "r", 1000)
	require.EqualValues(t, idle+2, read(), "those of the new pool")
	require.EqualValues(t, idle, read(), "with three pools")
}
