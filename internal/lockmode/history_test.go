package lockmode_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestRowsPutBack: the rows are reset to a former state while instances run. Draws then
// use the rows as they are, whatever the instances have cached. No unit is given twice,
// no draw fails, and the odds of each prize are those of its remaining units.
func TestRowsPutBack(t *testing.T) {
	for _, c := range cells() {
		if c.lock != "" && c.lock != "table" {
			continue // the lock has no effect here
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, c)
			first, second := a.serve(t, 0), a.serve(t, 1)
			for round := range 4 {
				pool := a.pool(t, 30, 30)
				draws(t, first, pool, "before", 10)
				kept := stocktest.Keep(t, a.store(0), pool)
				draws(t, first, pool, "lost", 20)
				kept.PutBack(t, a.store(0))
				draws(t, second, pool, "second", 20-round) // in one round to the version of the first instance's copy, in the other to an earlier version
				draws(t, first, pool, "first", 20)
				draws(t, first, pool, "lost", 10+round) // keys that were lost are new again
				_, err := first.Draw(t.Context(), named(pool, "none left"))
				require.Equal(t, draw.CodeSoldOut, draw.CodeOf(err), "%v", err)
				stocktest.NoViolations(t, a.store(0), pool)
			}
		})
	}
}

// draws makes n draws, and checks that every draw is new and wins.
func draws(t *testing.T, s *service, pool, prefix string, n int) {
	t.Helper()
	for i := range n {
		d := receive(t, ask(t, s, named(pool, fmt.Sprint(prefix, "-", i))))
		require.NoError(t, d.err)
		require.False(t, d.draw.Replayed)
	}
}

// TestLastUnitsPutBack: even if an instance's cached copy has other prizes than those
// that remain, the instance gives the remaining units.
func TestLastUnitsPutBack(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: dialect})
		first, second := a.serve(t, 0), a.serve(t, 1)
		for range 5 {
			pool := a.pool(t, 3, 3)
			draws(t, first, pool, "before", 2)
			kept := stocktest.Keep(t, a.store(0), pool)
			draws(t, first, pool, "lost", 3)
			kept.PutBack(t, a.store(0))
			draws(t, second, pool, "second", 3)
			draws(t, first, pool, "last", 1)
			require.Zero(t, remaining(stocktest.NoViolations(t, a.store(0), pool)))
		}
	}
}

// unmarked is a store that identifies a history only by its version: it replaces the
// mark that it reads by the mark of its copy.
type unmarked struct {
	lockmode.Store
	db *sql.DB
}

func (u *unmarked) forge(ctx context.Context, poolID string, h *draw.Head) error {
	var trail []byte
	err := u.db.QueryRowContext(ctx, `SELECT mark, trail FROM pools WHERE id = '`+poolID+`'`).Scan(&h.Mark, &trail)
	h.Trail = draw.Trail(trail)
	return err
}

func (u *unmarked) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if urn.Version > 0 {
		if err := u.forge(ctx, urn.PoolID, &urn.Head); err != nil {
			return nil, err
		}
	}
	return u.Store.Read(ctx, urn, o)
}

func (u *unmarked) Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error {
	if err := u.forge(ctx, p.PoolID, &p.From); err != nil {
		return err
	}
	return u.Store.Write(ctx, p, o)
}

// TestRowsPutBackCondemnsVersionsAlone: instances that identify a history only by its
// version draw from units that no longer exist.
func TestRowsPutBackCondemnsVersionsAlone(t *testing.T) {
	t.Parallel()
	a := newArena(t, cell{mode: lockmode.ForUpdate, dialect: "sqlite"})
	broken := func(s *settings) { s.Store = &unmarked{s.Store, a.store(0).LockDB()} }
	first, second := a.serve(t, 0, broken), a.serve(t, 1, broken)
	pool := a.pool(t, slices.Repeat([]int64{50}, 12)...) // with few prizes, the lost draws may by chance have taken as many of each as the draws after them
	draws(t, first, pool, "before", 10)
	kept := stocktest.Keep(t, a.store(0), pool)
	draws(t, first, pool, "lost", 60)
	kept.PutBack(t, a.store(0))
	draws(t, second, pool, "second", 60)
	draws(t, first, pool, "first", 60)
	require.Error(t, audited(t, a.store(0), pool))
}
