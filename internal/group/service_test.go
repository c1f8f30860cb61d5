package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// TestDrainFinishesWhatIsUnderWay: from the first moment of a drain new draws are
// refused, and those that arrived before are answered at its end.
func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	l, stop := newLedger(poolOf("p", 100)), newDoor()
	l.before = stop.before
	b, _ := newTestBatcher(t, l, Limits{})
	first := ask(t.Context(), b, named("first"))
	receive(t, stop.arrived)
	second := ask(t.Context(), b, named("second"))
	waitingOn(t, b, "p", 1)

	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, b.Drain(ended), context.Canceled, "bounded by its context")
	drained := make(chan error, 1)
	go func() { drained <- b.Drain(t.Context()) }()
	_, err := b.Draw(t.Context(), named("late"))
	code(t, draw.CodeDraining, err)
	other := named("late")
	other.PoolID = "q"
	_, err = b.Draw(t.Context(), other)
	code(t, draw.CodeDraining, err)
	select {
	case <-drained:
		require.FailNow(t, "drained while a draw is under way")
	default:
	}
	close(stop.open)
	require.NoError(t, receive(t, drained))
	require.NoError(t, receive(t, first).err)
	require.NoError(t, receive(t, second).err)
	require.Equal(t, 2, l.issued("p"))
	require.NoError(t, b.Drain(t.Context()), "again")
}

// TestDrainUnderLoad: during a drain, each draw is either made and answered, or refused.
func TestDrainUnderLoad(t *testing.T) {
	l := newLedger(poolOf("p", 1_000_000))
	b, _ := newTestBatcher(t, l, Limits{})
	var group sync.WaitGroup
	var mu sync.Mutex
	count := map[draw.Code]int{}
	for i := range 32 {
		group.Go(func() {
			for n := 0; ; n++ {
				if i == 0 && n == 20 {
					go b.Drain(t.Context()) // drained again below
				}
				_, err := b.Draw(t.Context(), named(fmt.Sprint(i, "-", n)))
				mu.Lock()
				count[draw.CodeOf(err)]++
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	group.Wait()
	require.NoError(t, b.Drain(t.Context()))
	require.Equal(t, 32, count[draw.CodeDraining], "%v", count)
	require.Len(t, count, 2)
	require.Equal(t, count[""], l.issued("p"))
}

// TestUnknownPoolsLeaveNothing: no queue remains of a pool that does not exist.
func TestUnknownPoolsLeaveNothing(t *testing.T) {
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 1)), Limits{})
	var group sync.WaitGroup
	for i := range 200 {
		group.Go(func() {
			r := named("x")
			r.PoolID = fmt.Sprint("absent", i%20)
			_, err := b.Draw(t.Context(), r)
			code(t, draw.CodePoolNotFound, err)
		})
	}
	group.Wait()
	_, err := b.Draw(t.Context(), named("x"))
	require.NoError(t, err)
	require.NoError(t, b.Drain(t.Context())) // afterwards, the workers have ended
	require.Len(t, b.queues, 1)
}

// slowIssuer continues with the draws that wait. If none wait, it returns late, as a mode
// does that must release a lock.
type slowIssuer struct {
	*ledger
	inside  atomic.Int32
	crowded atomic.Bool
	leaving func()
}

func (s *slowIssuer) Issue(ctx context.Context, b *Batch) error {
	if s.inside.Add(1) > 1 {
		s.crowded.Store(true)
	}
	defer s.inside.Add(-1)
	err := s.ledger.Issue(ctx, b)
	s.leaving()
	return err
}

// TestBatchHasOneWorker: while an issuer returns from a batch, no other goroutine
// touches that batch, although no caller waits for it any more.
func TestBatchHasOneWorker(t *testing.T) {
	l := newLedger(poolOf("p", 10))
	l.goesOn = true
	slow := &slowIssuer{ledger: l}
	b, _ := newTestBatcher(t, slow, Limits{})
	second := make(chan (<-chan answer), 1)
	var once sync.Once
	slow.leaving = func() {
		once.Do(func() {
			second <- ask(t.Context(), b, named("second"))
			for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
				b.mu.RLock()
				q := b.queues["p"]
				b.mu.RUnlock()
				q.mu.Lock()
				here := len(q.waiting) == 1 || slow.inside.Load() > 1
				q.mu.Unlock()
				if here {
					return
				}
			}
		})
	}
	require.NoError(t, receive(t, ask(t.Context(), b, named("first"))).err)
	require.NoError(t, receive(t, receive(t, second)).err)
	drain(t, b)
	require.False(t, slow.crowded.Load(), "two workers on one batch")
	require.Equal(t, 2, l.issued("p"))
}

func TestDrawChecksItsRequest(t *testing.T) {
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 1)), Limits{})
	_, err := b.Draw(t.Context(), draw.Request{PoolID: "p", UserID: "u", DrawID: "k", Count: 0})
	code(t, draw.CodeInvalidRequest, err)
	require.Empty(t, b.queues)
}

// TestSameKeyAtOnce: 200 callers with one key get one draw, and only one of the answers
// says that the draw is new.
func TestSameKeyAtOnce(t *testing.T) {
	for _, limits := range []Limits{{}, {BatchMax: 1}} {
		l := newLedger(poolOf("p", 100))
		b, seen := newTestBatcher(t, l, limits)
		answers := make(chan answer, 200)
		for range 200 {
			go func() {
				d, err := b.Draw(t.Context(), wanting(named("k"), 2))
				answers <- answer{d, err}
			}()
		}
		fresh := 0
		var first []draw.Award
		for range 200 {
			a := receive(t, answers)
			require.NoError(t, a.err)
			if first == nil {
				first = a.draw.Awards
			}
			require.Equal(t, first, a.draw.Awards)
			if !a.draw.Replayed {
				fresh++
			}
		}
		require.Equal(t, 1, fresh)
		require.Equal(t, 2, l.issued("p"))
		require.NoError(t, b.Drain(t.Context()))
		require.Equal(t, map[string]int{"ledger won": 1, "ledger replayed": 199}, seen.answered)
	}
}

// TestOneQueuePerPool: a queue is dropped, and another worker creates it again. The first
// worker does not drop the new one. So a pool never has two workers.
func TestOneQueuePerPool(t *testing.T) {
	b, _ := newTestBatcher(t, newLedger(), Limits{})
	former, present := newQueue(b, "p"), newQueue(b, "p")
	b.queues["p"] = present
	b.dropUnread(former)
	require.Same(t, present, b.queues["p"])
	b.dropUnread(present)
	require.Empty(t, b.queues)
}

// TestInvalidatedPoolIsKept: the queue of a pool whose cached copy was dropped remains,
// because a retry must get the same picks from its deck.
func TestInvalidatedPoolIsKept(t *testing.T) {
	l := newLedger(poolOf("p", 1))
	l.before = func(*urn.Plan) error { return errors.New("nobody expected this") }
	b, _ := newTestBatcher(t, &invalidating{l}, Limits{})
	_, err := b.Draw(t.Context(), named("x"))
	code(t, draw.CodeInternal, err)
	drain(t, b)
	require.Contains(t, b.queues, "p")
}

// invalidating drops the cached copy after each failure, as a mode does.
type invalidating struct{ *ledger }

func (i *invalidating) Issue(ctx context.Context, b *Batch) error {
	err := i.ledger.Issue(ctx, b)
	if err != nil {
		b.Urn.Invalidate()
	}
	return err
}
