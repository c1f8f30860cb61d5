package lockmode_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// counting counts the attempts that reach their write.
func counting(n *atomic.Int64, next apply) apply {
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		n.Add(1)
		return next(ctx, tx, p)
	}
}

func unexpected(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
	tx.Rollback()
	return &stock.Error{Class: stock.ClassOther, Reason: "unexpected", Err: errCut}
}

// unheard waits until the time is over. On a busy machine, a wait for another session's
// lock may last as long.
func unheard(ctx context.Context, tx stock.Tx, _ *urn.Plan) error {
	defer tx.Rollback()
	<-ctx.Done()
	return &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: ctx.Err()}
}

// moreMax is the largest factor by which a test extends its usual time on a busy machine.
const moreMax = 16

// TestAttemptsAreBounded: whichever failure repeats, a draw ends after a bounded number
// of attempts, and nothing is written. Its code is the one for that failure.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mode     string
		fault    apply
		edit     edit
		code     draw.Code
		attempts [2]int64 // minimum and maximum
	}{
		"optimistic by attempts": {lockmode.Optimistic, outrun, func(s *settings) { s.OptimisticAttempts = 4; s.OptimisticBudget = patience }, draw.CodeContended, [2]int64{4, 4}},
		"optimistic by time":     {lockmode.Optimistic, outrun, func(s *settings) { s.OptimisticAttempts = 1e9; s.OptimisticBudget = 60 * time.Millisecond }, draw.CodeContended, [2]int64{1, 1000}},
		"for-update by attempts": {lockmode.ForUpdate, outrun, nil, draw.CodeContended, [2]int64{10, 10}},
		"for-update by time":     {lockmode.ForUpdate, outrun, func(s *settings) { s.Budget = 1 }, draw.CodeContended, [2]int64{1, 1}},
		"external by attempts":   {lockmode.External, outrun, nil, draw.CodeContended, [2]int64{10, 10}},
		"database down":          {lockmode.ForUpdate, unreached, nil, draw.CodeStoreUnavailable, [2]int64{3, 3}},
		"optimistic, down":       {lockmode.Optimistic, unreached, nil, draw.CodeStoreUnavailable, [2]int64{3, 3}},
		// A fault experiment found this case: another session holds the row lock for 5
		// s.
		"out of time in a wait": {lockmode.ForUpdate, inTurn(outrun, unheard), func(s *settings) { s.Settle = 400 * time.Millisecond }, draw.CodeContended, [2]int64{2, 2}},
		"out of time unheard":   {lockmode.ForUpdate, unheard, func(s *settings) { s.Settle = 200 * time.Millisecond }, draw.CodeStoreUnavailable, [2]int64{1, 1}},
		"nobody expected":       {lockmode.Optimistic, unexpected, nil, draw.CodeInternal, [2]int64{1, 1}},
		"never heard of":        {lockmode.ForUpdate, commitLost, func(s *settings) { s.Settle = 200 * time.Millisecond }, draw.CodeOutcomeUnknown, [2]int64{1, 1000}},
	} {
		a := newArena(t, cell{mode: c.mode, dialect: "sqlite"})
		var pool string
		var attempts atomic.Int64
		var err error
		// A busy machine may use up its time before that, and gets more.
		for more := time.Duration(1); more <= moreMax && attempts.Load() < c.attempts[0]; more *= 2 {
			attempts.Store(0)
			pool = a.pool(t, 5)
			edits := []edit{applying(counting(&attempts, c.fault))}
			if c.edit != nil {
				edits = append(edits, c.edit)
			}
			s := a.serve(t, 0, append(edits, func(s *settings) { s.Settle *= more })...)
			_, err = s.Draw(t.Context(), named(pool, "k"))
		}
		require.Equal(t, c.code, draw.CodeOf(err), "%s: %v", name, err)
		require.GreaterOrEqual(t, attempts.Load(), c.attempts[0], name)
		require.LessOrEqual(t, attempts.Load(), c.attempts[1], name)
		require.Equal(t, int64(2), stocktest.NoViolations(t, a.store(0), pool).Version, name)
		d, err := a.serve(t, 0).Draw(t.Context(), named(pool, "k"))
		require.NoError(t, err, "%s: the key is free", name)
		require.False(t, d.Replayed, name)
	}
}

// turning shows another mode of the pool at every read.
type turning struct {
	lockmode.Store
	reads atomic.Int64
}

func (s *turning) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, urn, o)
	urn.Mode = lockmode.Names()[int(s.reads.Add(1))%len(lockmode.Names())]
	if urn.Mode == lockmode.Optimistic && !o.Lock && o.Fence.Lock == "" {
		urn.Mode = lockmode.ForUpdate // never the current mode
	}
	return tx, err
}

// TestModeThatNeverRests: if the mode of a pool changes again and again, a batch follows
// it a few times, and then answers that the pool is busy.
func TestModeThatNeverRests(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	pool := a.pool(t, 5)
	store := &turning{Store: a.store(0)}
	s := a.serve(t, 0, func(s *settings) { s.Store = store })
	_, err := s.Draw(t.Context(), named(pool, "k"))
	if err != nil { // it may have read the current mode
		require.Equal(t, draw.CodeContended, draw.CodeOf(err), "%v", err)
		require.Equal(t, int64(2), stocktest.NoViolations(t, a.store(0), pool).Version)
	}
	require.LessOrEqual(t, store.reads.Load(), int64(10))
}

func TestModesByName(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{lockmode.External, lockmode.ForUpdate, lockmode.Optimistic}, lockmode.Names())
	_, err := lockmode.New(lockmode.Options{Mode: "pessimistic"})
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))

	// A pool may name a mode of a newer version: the service's own mode decides.
	a := optimisticOnSQLite(t)
	pool := a.pool(t, 5)
	newer := "consensus"
	_, err = a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{Mode: &newer}, "test")
	require.NoError(t, err)
	s := a.serve(t, 0)
	require.NoError(t, receive(t, ask(t, s, named(pool, "k"))).err)
	drain(t, s.Batcher)
	s.seen.in(func() { require.Positive(t, s.seen.modes[lockmode.Optimistic]) })
}

// spy is a lock that a test controls.
type spy struct {
	token atomic.Int64
	holds atomic.Int64
	// refuse, if set, answers in place of the lock. It gets the number of the hold.
	refuse func(hold int64) error
	// lose ends the holder's context.
	lose atomic.Pointer[context.CancelFunc]
}

func (l *spy) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	hold := l.holds.Add(1)
	if l.refuse != nil {
		if err := l.refuse(hold); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.lose.Store(&cancel)
	return fn(ctx, l.token.Add(1))
}

func locking(l lockmode.Locker) edit {
	return func(s *settings) { s.Mode, s.Locker, s.LockName = lockmode.External, l, "spy" }
}

// TestHoldsAreBounded: while draws keep arriving, a holder decides only a few batches,
// and then releases the lock for others.
func TestHoldsAreBounded(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	pool := a.pool(t, 100)
	lock, stop := &spy{}, newDoor()
	s := a.serve(t, 0, locking(lock), oneByOne, queueOf(39), applying(stop.then(applied)))
	answers := crowd(t, s, stop, pool, 39)
	stop.release()
	for _, from := range answers {
		require.NoError(t, receive(t, from).err)
	}
	require.Equal(t, int64(3), lock.holds.Load(), "40 batches, 16 to a hold")
}

// TestLockErrorReachesTheCaller: the caller gets the error of the lock, and nothing
// was written.
func TestLockErrorReachesTheCaller(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	for _, code := range []draw.Code{draw.CodeContended, draw.CodeLockUnavailable} {
		pool := a.pool(t, 5)
		lock := &spy{refuse: func(int64) error { return draw.Errorf(code, "no") }}
		_, err := a.serve(t, 0, locking(lock)).Draw(t.Context(), named(pool, "k"))
		require.Equal(t, code, draw.CodeOf(err))
		require.Equal(t, int64(1), lock.holds.Load())
		require.Equal(t, int64(2), stocktest.NoViolations(t, a.store(0), pool).Version)
	}
}

// TestLockLost: a holder that loses its lock before the write takes it again. A holder
// that loses it repeatedly answers that nothing happened.
func TestLockLost(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	losing := func(l *spy, times int64) apply {
		return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
			if l.holds.Load() > times {
				return tx.Write(ctx, p)
			}
			(*l.lose.Load())()
			tx.Rollback()
			return &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: context.Canceled}
		}
	}
	pool, lock := a.pool(t, 5), &spy{}
	s := a.serve(t, 0, locking(lock), applying(losing(lock, 2)))
	d, err := s.Draw(t.Context(), named(pool, "k"))
	require.NoError(t, err)
	require.False(t, d.Replayed)
	require.Equal(t, int64(3), lock.holds.Load())
	s.seen.in(func() { require.Zero(t, s.seen.stale, "a lock that was lost is no stale token") })

	lock = &spy{}
	_, err = a.serve(t, 0, locking(lock), applying(losing(lock, 1000))).Draw(t.Context(), named(pool, "other"))
	require.Equal(t, draw.CodeContended, draw.CodeOf(err), "%v", err)
	require.Less(t, lock.holds.Load(), int64(10))
	require.Equal(t, int64(1), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
}

// TestLockThatLostItsCount: a lock service that restarts the count of its tokens is
// refused at first, and then accepted again.
func TestLockThatLostItsCount(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		a := newArena(t, cell{mode: lockmode.External, dialect: dialect, lock: nobody})
		pool := a.pool(t, 10)
		old := &spy{}
		old.token.Store(1000)
		require.NoError(t, receive(t, ask(t, a.serve(t, 0, locking(old)), named(pool, "before"))).err)

		emptied := &spy{}
		s := a.serve(t, 0, locking(emptied))
		for i := range 3 {
			d, err := s.Draw(t.Context(), named(pool, fmt.Sprint("after", i)))
			require.NoError(t, err)
			require.False(t, d.Replayed)
		}
		s.seen.in(func() { require.Positive(t, s.seen.stale) })
		require.Less(t, emptied.holds.Load(), int64(10), "the new count is taken up once")
		require.Equal(t, int64(4), stocktest.NoViolations(t, a.store(0), pool).Prizes[0].Awards)
	}
}

// TestErrorsKeepTheirCause: the service's log states the cause, which the caller does not
// see.
func TestErrorsKeepTheirCause(t *testing.T) {
	t.Parallel()
	a := optimisticOnSQLite(t)
	pool := a.pool(t, 5)
	_, err := a.serve(t, 0, applying(unreached)).Draw(t.Context(), named(pool, "k"))
	require.ErrorIs(t, err, errCut)
	e, ok := errors.AsType[*draw.Error](err)
	require.True(t, ok)
	require.NotContains(t, e.Detail, errCut.Error())
}
