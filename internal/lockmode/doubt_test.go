package lockmode_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// mortal is a store that a test takes down.
type mortal struct {
	lockmode.Store
	down, empty atomic.Bool
}

func (s *mortal) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if s.empty.Load() { // the database was restored to a time before the pool existed
		return nil, draw.Errorf(draw.CodePoolNotFound, "there is no pool %q", urn.PoolID)
	}
	if s.down.Load() {
		urn.Invalidate()
		return nil, &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: errCut}
	}
	return s.Store.Read(ctx, urn, o)
}

func (s *mortal) Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error {
	if s.down.Load() {
		return &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: errCut}
	}
	return s.Store.Write(ctx, p, o)
}

// TestDoubtfulCommitStaysInDoubt: once a commit may have happened, the service never
// says that nothing happened, whatever fails later. A retry with the same key settles
// the draw later, and so does a lookup in the log, which needs no lock.
func TestDoubtfulCommitStaysInDoubt(t *testing.T) {
	t.Parallel()
	other := lockmode.External
	const locked = "the lock is lost and goes down"
	for name, then := range map[string]struct {
		mode string
		what func(t *testing.T, a *arena, pool string, store *mortal, lock *spy)
	}{
		"the database goes down": {lockmode.ForUpdate, func(_ *testing.T, _ *arena, _ string, store *mortal, _ *spy) {
			store.down.Store(true)
		}},
		"the pool is missing": {lockmode.Optimistic, func(_ *testing.T, _ *arena, _ string, store *mortal, _ *spy) {
			store.empty.Store(true)
		}},
		"database and lock go down": {lockmode.External, func(_ *testing.T, _ *arena, _ string, store *mortal, lock *spy) {
			store.down.Store(true)
			(*lock.lose.Load())()
		}},
		locked: {lockmode.External, func(_ *testing.T, _ *arena, _ string, _ *mortal, lock *spy) {
			(*lock.lose.Load())()
		}},
		"the pool goes over to a lock that is down": {lockmode.Optimistic, func(t *testing.T, a *arena, pool string, _ *mortal, _ *spy) {
			_, err := a.store(0).ChangePool(context.Background(), pool, draw.PoolChange{Mode: &other}, "test")
			require.NoError(t, err)
		}},
	} {
		for committed, fault := range map[bool]apply{true: answerLost, false: commitLost} {
			// On a busy machine the time may end before the write. Then nothing is in
			// doubt yet, and the test runs again with more time.
			settle := 300 * time.Millisecond
			if name == locked { // it ends at once, because a lookup has only a part of this time
				settle = patience / 4
			}
			for written := false; !written; settle *= 2 {
				require.Less(t, settle, patience, name)
				a := newArena(t, cell{mode: then.mode, dialect: "sqlite", lock: nobody})
				pool := a.pool(t, 5)
				store := &mortal{Store: a.store(0)}
				lock := &spy{refuse: func(hold int64) error {
					if hold > 1 || then.mode != lockmode.External {
						return draw.Errorf(draw.CodeLockUnavailable, "no")
					}
					return nil
				}}
				s := a.serve(t, 0, locking(lock), func(s *settings) {
					s.Mode, s.Settle = then.mode, settle
					s.Store = &tampered{store, func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
						defer then.what(t, a, pool, store, lock)
						err := fault(ctx, tx, p)
						written = written || stock.ClassOf(err) == stock.ClassUnknown
						return err
					}}
				})
				d, err := s.Draw(t.Context(), named(pool, "k"))
				if !written {
					continue
				}
				if name == locked && committed {
					require.NoError(t, err)
					require.False(t, d.Replayed, "its caller has had no answer yet")
				} else {
					require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(err), "%s, committed %t: %v", name, committed, err)
				}

				d, err = a.serve(t, 0, locking(&spy{})).Draw(t.Context(), named(pool, "k"))
				require.NoError(t, err)
				require.Equal(t, committed, d.Replayed)
				require.Equal(t, int64(1), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
			}
		}
	}
}

// cutOff is a store whose connection is lost. After that it reads pools over another
// connection. The lost connection stays cut, because the driver would use it to cancel
// the commit.
type cutOff struct {
	lockmode.Store
	other lockmode.Store
	isCut *atomic.Bool
}

func (s *cutOff) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if s.isCut.Load() {
		return s.other.Read(ctx, urn, o)
	}
	return s.Store.Read(ctx, urn, o)
}

// TestRefusedWhileItsCommitIsHeld: the connection is lost while the server commits a
// draw. The clock leaps, so an attempt that does not find the draw would refuse it. The
// commit ends later, so no answer may say that nothing was drawn. If the next attempt
// waits for the row, it finds the draw.
func TestRefusedWhileItsCommitIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range []cell{
		{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.Optimistic, dialect: "postgres"}, {lockmode.External, "postgres", nobody},
	} {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			a := newArenaOn(t, c, stocktest.Migrated(t, c.dialect))
			pool := a.pool(t, 5)
			stocktest.PlanAll(t, a.store(0), pool, stocktest.StockAt(a.store(0).Now().Add(time.Hour), "a", 1))
			commits := stocktest.HoldCommits(t, a.url, "awards")
			link := servertest.StartProxy(t, a.url)
			linked := stocktest.Open(t, link.URL(), stock.Options{})
			var leapt atomic.Bool
			s := a.serve(t, 0, func(s *settings) {
				s.Store, s.Sharer = &cutOff{linked, s.Store, &leapt}, nil
				s.Settle, s.Timeout = patience/2, patience
				s.ClockLeapt = func() error {
					if leapt.Load() {
						return draw.Errorf(draw.CodeClockLeapt, "it has")
					}
					return nil
				}
			})

			drawn := once(t, s, named(pool, "k"))
			commits.AwaitHeld()
			leapt.Store(true)
			link.Cut()
			if c.mode == lockmode.ForUpdate {
				commits.Await(2, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
				commits.Release()
				got := receive(t, drawn)
				require.NoError(t, got.err)
				require.False(t, got.draw.Replayed, "its caller has had no answer yet")
			} else {
				require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(receive(t, drawn).err))
				commits.Release()
				commits.Await(1, `SELECT count(*) FROM awards WHERE pool_id = $1`, pool)
			}

			d, err := a.serve(t, 0).Draw(t.Context(), named(pool, "k"))
			require.NoError(t, err)
			require.True(t, d.Replayed)
			require.Equal(t, int64(1), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
		})
	}
}
