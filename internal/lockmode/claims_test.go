package lockmode_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/proof"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// claim claims the awards of a draw.
type claim func(t *testing.T, s *stock.Store, d *draw.Draw) error

func claimOnly(t *testing.T, s *stock.Store, d *draw.Draw) error {
	_, err := s.Claim(t.Context(), d.PoolID, d.ID, "u", 0, "test")
	return err
}

// claimCallers is the number of concurrent callers in these tests, and claimUnits is the
// number of units of each draw.
const claimCallers, claimUnits = 8, 10

// claimBeside makes callers draw ten units at a time and claim each draw, until about n
// awards are claimed. It returns the number of awards that were won, and of those that
// were claimed.
func (a *arena) claimBeside(t *testing.T, pool string, n int64, do claim) (won, claimed int64) {
	t.Helper()
	const units = claimUnits
	services := a.three(t)
	var all sync.WaitGroup
	var drawn, done atomic.Int64
	for caller := range claimCallers {
		all.Go(func() {
			for i := 0; done.Load() < n; i++ {
				r := named(pool, fmt.Sprint("claimed-", caller, "-", i))
				r.UserID, r.Count = "u", units
				got := receive(t, ask(t, services[(caller+i)%instances], r))
				if draw.CodeOf(got.err) == draw.CodeContended {
					continue
				}
				if got.err != nil {
					t.Error(got.err)
					return
				}
				drawn.Add(units)
				if err := do(t, a.store(caller), &got.draw); err != nil {
					t.Error(err)
					return
				}
				for k := range got.draw.Awards {
					if !got.draw.Awards[k].Blank {
						done.Add(1)
					}
				}
			}
		})
	}
	all.Wait()
	return drawn.Load(), done.Load()
}

// judgeClaimed returns what is wrong after claims that were made during draws: each award
// must have taken a version, and no claim may have taken one.
func (a *arena) judgeClaimed(t *testing.T, pool string, n int64, do claim) error {
	t.Helper()
	before, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	won, claimed := a.claimBeside(t, pool, n, do)
	after, err := a.store(0).Pool(t.Context(), pool)
	require.NoError(t, err)
	steps, err := a.store(0).LastStep(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, claimed, steps)
	if took := after.Version - before.Version; took != won {
		return fmt.Errorf("%d awards and %d claims took %d versions", won, claimed, took)
	}
	return nil
}

// claimable creates a committed pool for n claims. Most of its draws win. Its units last
// until the callers have ended, because a draw that gets only losing tickets has nothing
// to claim.
func (a *arena) claimable(t *testing.T, n int64) string {
	t.Helper()
	n += claimCallers * claimUnits
	pool := a.ruled(t, n, 2*n, `{"fallback":"none","win":"9/10","claims":{}}`)
	a.setState(t, 0, pool, draw.StatePaused)
	const epoch = 1000
	require.NoError(t, stocktest.Commit(t, a.store(0), pool, 2*n/epoch+4, epoch))
	a.setState(t, 0, pool, draw.StateOpen)
	return pool
}

// TestClaimsTakeNoVersion: even if awards of a committed pool are claimed during draws,
// each award is the one that the seed determines, and only awards take versions.
func TestClaimsTakeNoVersion(t *testing.T) {
	claims := int64(600)
	if servertest.Every() {
		claims = 100_000
	}
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			a := newArena(t, cell{mode: lockmode.Optimistic, dialect: dialect})
			pool := a.claimable(t, claims)
			require.NoError(t, a.judgeClaimed(t, pool, claims, claimOnly))
			a.setState(t, 0, pool, draw.StateClosed)
			_, err := a.store(0).Reveal(t.Context(), pool)
			require.NoError(t, err)
			_, files := stocktest.Export(t, a.store(0), pool)
			r, err := proof.Verify(files, proof.VerifyOptions{})
			require.NoError(t, err)
			require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
			require.GreaterOrEqual(t, r.Recomputed, claims)
			stocktest.NoViolations(t, a.store(0), pool)
		})
	}
}

// TestClaimsCatchAVersion: the judge reports a claim that also changes the pool, and so
// takes a version.
func TestClaimsCatchAVersion(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	pool := a.claimable(t, 30)
	require.Error(t, a.judgeClaimed(t, pool, 30, func(t *testing.T, s *stock.Store, d *draw.Draw) error {
		name := "claimed " + d.ID
		if _, err := s.ChangePool(t.Context(), pool, draw.PoolChange{Name: &name}, "test"); err != nil && draw.CodeOf(err) != draw.CodeContended {
			return err
		}
		return claimOnly(t, s, d)
	}))
}
