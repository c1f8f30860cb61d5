package lockmode_test

import (
	"context"
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

// slowlyTaken is a lock that others hold for longer than any caller waits. When a wait
// begins, waiting gets a value. The wait ends when the test sends a value to ends.
type slowlyTaken struct{ waiting, ends chan struct{} }

func (l *slowlyTaken) WithLock(context.Context, string, func(context.Context, int64) error) error {
	l.waiting <- struct{}{}
	<-l.ends
	return draw.Errorf(draw.CodeContended, "the lock is held by others; nothing happened")
}

// waitingOn waits until n draws are under way.
func waitingOn(t *testing.T, s *service, n int) {
	t.Helper()
	require.Eventually(t, func() bool { waiting, _ := s.Waiting(); return waiting == n }, patience, time.Millisecond)
}

// TestReplaysBehindALock: others hold the pool's lock, and new draws wait for it. A known
// key is answered meanwhile, even if its time is too short to wait first for those draws
// and then for the lock.
func TestReplaysBehindALock(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql", "sqlite"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			w := newSwap(t, dialect, 3, func(s *settings) { s.Settle = patience / 2 }) // a lookup may take a part of it
			taken := &slowlyTaken{waiting: make(chan struct{}, 9), ends: make(chan struct{})}
			t.Cleanup(func() { close(taken.ends) })
			w.lock.swap(taken)
			fresh := once(t, w.service, named(w.pool, "new"))
			receive(t, taken.waiting)
			var known []<-chan answer
			for n := range 3 {
				known = append(known, once(t, w.service, named(w.pool, fmt.Sprint("known-", n))))
			}
			waitingOn(t, w.service, 1+len(known))
			taken.ends <- struct{}{} // the draws that wait for the next hold are given up
			for _, from := range known {
				got := receive(t, from)
				require.NoError(t, got.err)
				require.True(t, got.draw.Replayed)
			}
			require.Equal(t, draw.CodeContended, draw.CodeOf(receive(t, fresh).err))
			stocktest.NoViolations(t, w.store(0), w.pool)
		})
	}
}

// failedReads is a store whose next reads fail.
type failedReads struct {
	lockmode.Store
	err  error
	left atomic.Int64
}

func (s *failedReads) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	if s.left.Add(-1) >= 0 {
		return nil, s.err
	}
	return s.Store.Read(ctx, urn, o)
}

// TestReplaysWhileReadsAreTorn: a known key is answered even if others write so often
// that reads find the pool between two states.
func TestReplaysWhileReadsAreTorn(t *testing.T) {
	t.Parallel()
	store := &failedReads{err: stock.ErrConflict}
	w := newSwap(t, "sqlite", 1, func(s *settings) { store.Store, s.Store, s.Sharer = s.Store, store, nil })
	w.lock.swap(taken{})
	store.left.Store(3)
	got := receive(t, once(t, w.service, named(w.pool, "known-0")))
	require.NoError(t, got.err)
	require.True(t, got.draw.Replayed)
}
