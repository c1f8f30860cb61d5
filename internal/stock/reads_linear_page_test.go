package stock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestPageReadsDoNotGrowWithAwards: for a pool with ten times as many awards, the admin
// page reads about as much, without statistics. Files and audits are left out, because
// they read everything. So are searches without an index: by user, by prize, and by
// states other than claimed and fulfilled. Each of their calls reads a bounded part of
// the history. The broken double scans the awards.
func TestPageReadsDoNotGrowWithAwards(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			m := newMetered(t, dialect).empty(t, "none")
			const few, many = 2_000, 20_000
			s := stocktest.Open(t, m.url, stock.Options{})
			fillWon(t, s, "few", few)
			fillWon(t, s, "many", many)
			require.NoError(t, s.Close())
			s = m.open(t)
			of := func(pool string, awards int) []work { return pageWork(t, s, pool, int64(awards)) }
			for i, large := range of("many", many) {
				before, after := m.count(t, s, of("few", few)[i].do), m.count(t, s, large.do)
				t.Logf("%s: read %d of %d awards, and %d of %d", large.name, before, few, after, many)
				require.LessOrEqual(t, after, 2*before+100, large.name)
			}
			scan := func(pool string) int64 {
				return m.count(t, s, func() {
					require.NoError(t, m.drain(t.Context(), s.Engine().Read, `SELECT COUNT(*) FROM awards WHERE pool_id = ? AND CONCAT(user_id, '') = 'nobody'`, pool))
				})
			}
			require.Greater(t, scan("many"), 2*scan("few")+100, "a scan must break the bound, or that bounds nothing")
		})
	}
}

// fillWon creates a pool of a few prizes with the given number of awards, twenty for each
// user. A tenth of the awards have steps.
func fillWon(t *testing.T, s *stock.Store, poolID string, awards int) {
	t.Helper()
	prizes := []draw.Prize{{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}}
	for n := range 10 {
		prizes = append(prizes, draw.Prize{ID: fmt.Sprint("prize-", n), Name: "Prize", Value: draw.Amount(100), Stocked: int64(awards)})
	}
	rules := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"900000.00"},"claims":{"within":"8760h"},"limits":[{"of":"draws","max":100000,"per":"day"}]}`)
	_, err := s.CreatePool(t.Context(), draw.Pool{ID: poolID, Name: poolID, Prizes: prizes, Rules: rules}, "test")
	require.NoError(t, err)
	require.NoError(t, stocktest.Large{Pool: poolID, Prizes: 10, Awards: awards, Users: awards / 20, Stepped: awards / 10, Days: 3}.Fill(t.Context(), s.LockDB()))
	stocktest.NoViolations(t, s, poolID)
}

// pageWork returns what the page reads of a pool, view by view.
func pageWork(t *testing.T, s *stock.Store, poolID string, awards int64) []work {
	ctx := t.Context()
	p, err := s.Pool(ctx, poolID)
	require.NoError(t, err)
	last := p.Version
	reading := func(name string, read func() error) work {
		return work{name: name, do: func() { require.NoError(t, read(), name) }}
	}
	in := func(state draw.AwardState) func() error {
		return func() error {
			found, _, err := s.FindByState(ctx, poolID, draw.AwardFilter{State: state}, 0, 100)
			require.Len(t, found, 100)
			return err
		}
	}
	return []work{
		reading("claimed awards", in(draw.AwardClaimed)), reading("fulfilled awards", in(draw.AwardFulfilled)),
		reading("overviews", func() error { _, err := s.Overviews(ctx, 100, 50); return err }),
		reading("pool", func() error { _, err := s.Pool(ctx, poolID); return err }),
		reading("money", func() error { _, err := s.Money(ctx, &p); return err }),
		reading("rules", func() error { _, err := s.Rules(ctx, poolID, 0); return err }),
		reading("odds", func() error { _, err := s.Odds(ctx, poolID, ""); return err }),
		reading("odds of a user", func() error { _, err := s.Odds(ctx, poolID, "user-7"); return err }),
		reading("agenda", func() error { _, err := s.Agenda(ctx, poolID, 0, 1000, false); return err }),
		reading("last awards", func() error { _, err := s.Awards(ctx, poolID, last-25, 25); return err }),
		reading("an entry of the chart", func() error { _, err := s.Log(ctx, poolID, last/2, 1); return err }),
		reading("log", func() error { _, err := s.Log(ctx, poolID, last-200, 1000); return err }),
		reading("acts", func() error { _, err := s.Acts(ctx, poolID, 0, 1000); return err }),
		reading("moves", func() error { _, err := s.Moves(ctx, poolID, 0, 1000); return err }),
		reading("steps", func() error { _, err := s.StepsAfter(ctx, poolID, 0, 100); return err }),
		reading("statement", func() error { _, _, err := s.Statements(ctx, poolID, "", 1000); return err }),
		reading("award", func() error { _, err := s.Life(ctx, poolID, last-awards/2); return err }),
		reading("draw", func() error {
			found, _, err := s.FindAwards(ctx, poolID, draw.AwardFilter{DrawID: "draw-77"}, 0, 1000)
			require.Len(t, found, 1)
			return err
		}),
	}
}
