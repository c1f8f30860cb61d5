package stocktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// changesOfContent returns, by name, the acts that change the content of a pool or the
// way in which it is drawn from. item is an open item of its agenda.
func changesOfContent(t *testing.T, s *stock.Store, item int64) map[string]func(context.Context, string) error {
	move := func(delta int64) func(context.Context, string) error {
		return func(ctx context.Context, pool string) error {
			_, err := s.Stock(ctx, draw.Stocking{PoolID: pool, PrizeID: "a", Delta: delta, Reason: "test"}, "test")
			return err
		}
	}
	imported := func(dryRun bool) func(context.Context, string) error {
		return func(ctx context.Context, pool string) error {
			_, err := s.Import(ctx, draw.Import{PoolID: pool, Reason: "file", Actor: "test", DryRun: dryRun}, strings.NewReader("prize,name,value,stock\nnew,New,,4\n"), nil)
			return err
		}
	}
	corrected := func(c draw.PrizeChange) func(context.Context, string) error {
		return func(ctx context.Context, pool string) error {
			_, err := s.ChangePrize(ctx, pool, "b", c, "test")
			return err
		}
	}
	ruled := func(document string) func(context.Context, string) error {
		return func(ctx context.Context, pool string) error {
			var rules *draw.Rules
			if document != "" {
				rules = rulesOf(t, document)
			}
			_, err := s.SetRules(ctx, pool, rules, nil, "test")
			return err
		}
	}
	mode := func(c draw.PoolChange) func(context.Context, string) error {
		return func(ctx context.Context, pool string) error {
			_, err := s.ChangePool(ctx, pool, c, "test")
			return err
		}
	}
	later := s.Now().Add(time.Hour)
	return map[string]func(context.Context, string) error{
		"restock": move(3), "withdrawal": move(-1), "import": imported(false), "import's dry run": imported(true),
		"prize's name": corrected(draw.PrizeChange{Name: new("Other")}), "prize's value": corrected(draw.PrizeChange{Value: new(decimal.New(9, 0))}),
		"rules": ruled(`{"limits":[{"of":"draws","max":7}]}`), "no rules": ruled(""),
		"mode": mode(draw.PoolChange{Mode: new("external")}), "mode and name": mode(draw.PoolChange{Mode: new("optimistic"), Name: new("M")}),
		"new prize": func(ctx context.Context, pool string) error {
			_, err := s.AddPrize(ctx, pool, draw.Prize{ID: "c", Name: "C"}, "test")
			return err
		},
		"item": func(ctx context.Context, pool string) error {
			_, err := s.PlanItem(ctx, pool, StockAt(later, "a", 2), "", "test")
			return err
		},
		"items": func(ctx context.Context, pool string) error {
			_, err := s.PlanItems(ctx, pool, []draw.Item{StockAt(later, "a", 2)}, "salt", "test")
			return err
		},
		"item removed": func(ctx context.Context, pool string) error { return s.RemoveItem(ctx, pool, item, "test") },
	}
}

// testClosedIsFinal: after a pool is closed, its content and the way in which it was
// drawn from cannot change. Its name and the archive can change, known keys are replayed,
// and reads work. The same acts succeed on an open pool, so only the close refuses them.
func testClosedIsFinal(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	const rules = `{"limits":[{"of":"draws","max":9}]}`
	later := s.Now().Add(24 * time.Hour)
	keyed := func(pool string) {
		move, err := s.Stock(ctx, draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 5, Reason: "test", Key: "known"}, "test")
		require.NoError(t, err)
		require.Equal(t, int64(5), move.Delta)
		_, err = s.Import(ctx, draw.Import{PoolID: pool, Reason: "file", Actor: "test", Key: "known-file"}, strings.NewReader("prize,name,value,stock\na,,,4\n"), nil)
		require.NoError(t, err)
		_, err = s.PlanItem(ctx, pool, StockAt(later, "a", 2), "known-item", "test")
		require.NoError(t, err)
	}
	items := map[string]int64{}
	for _, pool := range []string{"open", "shut"} {
		Pool(t, s, pool, 3, 3)
		_, err := s.SetRules(ctx, pool, rulesOf(t, rules), nil, "test")
		require.NoError(t, err)
		keyed(pool)
		items[pool] = PlanAll(t, s, pool, StockAt(s.Now().Add(time.Hour), "a", 1))[0]
	}
	_, err := drawOne(t, s, urn.NewUrn("shut"), stock.TxOptions{Lock: true}, "u", "d")
	require.NoError(t, err)
	setState(t, s, "shut", draw.StateClosed)
	for _, id := range []string{"a", "b"} { // one of them has an award
		_, err := s.ChangePrize(ctx, "shut", id, draw.PrizeChange{Name: new("Other")}, "test")
		code(t, draw.CodePoolClosed, err)
	}

	before := linesOf(t, s, "shut")
	for name, act := range changesOfContent(t, s, items["shut"]) {
		err := act(ctx, "shut")
		require.Equal(t, draw.CodePoolClosed, draw.CodeOf(err), "%s: %v", name, err)
	}
	require.Equal(t, before, linesOf(t, s, "shut"))
	for name, act := range changesOfContent(t, s, items["open"]) {
		require.NoError(t, act(ctx, "open"), name)
	}

	keyed("shut")
	_, err = s.SetRules(ctx, "shut", rulesOf(t, rules), nil, "test")
	require.NoError(t, err, "they are in force already")
	require.Equal(t, before, linesOf(t, s, "shut"))
	_, err = s.ChangePool(ctx, "shut", draw.PoolChange{Name: new("Over"), Archived: new(true)}, "test")
	require.NoError(t, err)
	erased, err := s.EraseUser(ctx, "shut", "u", stock.Pseudonym([]byte("key"), "shut", "u"), "test")
	require.NoError(t, err)
	require.Equal(t, int64(1), erased)
	NoViolations(t, s, "shut")
}
