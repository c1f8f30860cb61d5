package lockmode_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestWaitingBatchAdmitsDraws: if draws arrive while a batch waits for the pool's row, or
// for the lock, they are decided with the batch.
func TestWaitingBatchAdmitsDraws(t *testing.T) {
	t.Parallel()
	const late = 20
	for _, c := range []cell{
		{mode: lockmode.ForUpdate, dialect: "postgres"}, {mode: lockmode.ForUpdate, dialect: "mysql"}, {lockmode.External, "postgres", "table"},
	} {
		a := newArena(t, c)
		pool := a.pool(t, 100)
		release := hold(t, a, pool)
		s := a.serve(t, 0)
		begun, once := make(chan struct{}), sync.Once{}
		s.seen.issuing = func(string) func() {
			once.Do(func() { close(begun) })
			return func() {}
		}
		answers := []<-chan answer{ask(t, s, named(pool, "first"))}
		receive(t, begun)
		for i := range late {
			answers = append(answers, ask(t, s, named(pool, fmt.Sprint("late-", i))))
		}
		waitingOn(t, s, late+1)
		release()
		for _, to := range answers {
			require.NoError(t, receive(t, to).err)
		}
		drain(t, s.Batcher)
		s.seen.in(func() { require.Equal(t, []int{late + 1}, s.seen.gathered, c.String()) })
		stocktest.NoViolations(t, a.store(0), pool)
	}
}

// hold makes another session take the lock for which the arena's mode waits.
func hold(t *testing.T, a *arena, pool string) (release func()) {
	t.Helper()
	if a.mode == lockmode.ForUpdate {
		tx, err := a.store(1).Read(t.Context(), urn.NewUrn(pool), stock.TxOptions{Lock: true})
		require.NoError(t, err)
		t.Cleanup(tx.Rollback)
		return tx.Rollback
	}
	held, done, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		isHeld := false
		for { // a server without processor time may answer too late
			err := a.locks[1].WithLock(t.Context(), pool, func(context.Context, int64) error {
				isHeld = true
				close(held)
				<-done
				return nil
			})
			if isHeld || t.Context().Err() != nil {
				ended <- err
				return
			}
		}
	}()
	receive(t, held)
	return func() {
		close(done)
		require.NoError(t, receive(t, ended))
	}
}
