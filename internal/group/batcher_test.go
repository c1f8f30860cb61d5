package group

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// answer is the result of a Draw.
type answer struct {
	draw draw.Draw
	err  error
}

// ask draws in the background.
func ask(ctx context.Context, b *Batcher, r draw.Request) <-chan answer {
	to := make(chan answer, 1)
	go func() {
		d, err := b.Draw(ctx, r)
		to <- answer{d, err}
	}()
	return to
}

// door stops the writer of the first plan until it is opened.
type door struct {
	passed  atomic.Bool
	arrived chan *urn.Plan
	open    chan struct{}
}

func newDoor() *door { return &door{arrived: make(chan *urn.Plan, 1), open: make(chan struct{})} }

func (d *door) before(p *urn.Plan) error {
	if !d.passed.Swap(true) {
		d.arrived <- p
		<-d.open
	}
	return nil
}

// waitingOn waits until n draws wait on the pool.
func waitingOn(t *testing.T, b *Batcher, poolID string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b.mu.RLock()
		defer b.mu.RUnlock()
		q := b.queues[poolID]
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.waiting) == n
	}, patience, time.Millisecond)
}

// TestBatcherSellsOutExactly: 64 callers ask for twice the stock.
func TestBatcherSellsOutExactly(t *testing.T) {
	for _, limits := range []Limits{{}, {BatchMax: 1}, {BatchMax: 7}} {
		l := newLedger(poolOf("p", 400, 99, 1))
		b, seen := newTestBatcher(t, l, limits)
		var group sync.WaitGroup
		codes := make(chan draw.Code, 1000)
		for i := range 64 {
			group.Go(func() {
				for n := i; n < 1000; n += 64 {
					_, err := b.Draw(t.Context(), draw.Request{PoolID: "p", UserID: "u", DrawID: fmt.Sprint(n), Named: n%2 == 0, Count: 1})
					codes <- draw.CodeOf(err)
				}
			})
		}
		group.Wait()
		close(codes)
		count := map[draw.Code]int{}
		for c := range codes {
			count[c]++
		}
		require.Equal(t, map[draw.Code]int{"": 500, draw.CodeSoldOut: 500}, count)
		require.Equal(t, 500, l.issued("p"))
		drain(t, b) // counts are updated after the answers
		require.Equal(t, 500, seen.answered["ledger won"])
		require.Equal(t, 500, seen.answered["ledger sold-out"])
		for _, n := range append(l.batches, seen.gathered...) {
			require.LessOrEqual(t, n, b.limits.BatchMax)
			require.Positive(t, n)
		}
	}
}

// TestBatcherGathers: the draws that wait while a batch is written become the next batch,
// within the limits and in order of arrival.
func TestBatcherGathers(t *testing.T) {
	for _, goesOn := range []bool{false, true} {
		l, stop := newLedger(poolOf("p", 1_000_000)), newDoor()
		l.before, l.goesOn = stop.before, goesOn
		b, seen := newTestBatcher(t, l, Limits{BatchMax: 100})
		answers := []<-chan answer{ask(t.Context(), b, named("first"))}
		receive(t, stop.arrived)
		for i := range 90 {
			answers = append(answers, ask(t.Context(), b, wanting(named(fmt.Sprint("big", i)), draw.CountMax)))
		}
		waitingOn(t, b, "p", 90)
		for i := range 30 {
			answers = append(answers, ask(t.Context(), b, named(fmt.Sprint("small", i))))
			waitingOn(t, b, "p", 91+i)
		}
		close(stop.open)
		for _, a := range answers {
			require.NoError(t, receive(t, a).err)
		}
		drain(t, b)
		// 82 draws of 100 units reach the bound on units, then 100 draws reach the bound
		// on draws
		require.Equal(t, []int{1, 82, 38}, l.batches)
		require.Equal(t, l.batches, seen.gathered)
		last := l.draws["p/small0"].Awards[0].Version
		for i := 1; i < 30; i++ {
			version := l.draws[fmt.Sprint("p/small", i)].Awards[0].Version
			require.Equal(t, last+1, version, "in order of arrival")
			last = version
		}
	}
}

// TestBatcherOverload: a full queue refuses further draws at once, and no others.
func TestBatcherOverload(t *testing.T) {
	l, stop := newLedger(poolOf("p", 100), poolOf("q", 1)), newDoor()
	l.before = stop.before
	b, _ := newTestBatcher(t, l, Limits{QueueMax: 3})
	first := ask(t.Context(), b, named("first"))
	receive(t, stop.arrived)
	all := make(chan answer, 10)
	for i := range 10 {
		go func() {
			d, err := b.Draw(t.Context(), named(fmt.Sprint(i)))
			all <- answer{d, err}
		}()
	}
	for range 7 {
		code(t, draw.CodeOverloaded, receive(t, all).err)
	}
	other := named("x")
	other.PoolID = "q"
	require.NoError(t, receive(t, ask(t.Context(), b, other)).err, "other pools are served")
	waiting, oldest := b.Waiting()
	require.Equal(t, 4, waiting)
	require.Positive(t, oldest)
	byPool, unread := b.WaitingByPool()
	require.Equal(t, map[string]int{"p": 4}, byPool, "its first batch is at work")
	require.Zero(t, unread)
	close(stop.open)
	for range 3 {
		require.NoError(t, receive(t, all).err)
	}
	require.NoError(t, receive(t, first).err)
	waiting, oldest = b.Waiting()
	require.Zero(t, waiting)
	require.Zero(t, oldest)
	byPool, unread = b.WaitingByPool()
	require.Empty(t, byPool)
	require.Zero(t, unread)
	require.Equal(t, 4, l.issued("p"))
}

// timeIsOver ends the time of all draws: of those under way, and of later ones.
func timeIsOver(b *Batcher, poolID string) {
	b.mu.RLock()
	q := b.queues[poolID]
	b.mu.RUnlock()
	q.mu.Lock()
	defer q.mu.Unlock()
	b.limits.Timeout = 50 * time.Millisecond
	q.arm()
}

// TestBatcherGivesUp: if a caller disconnects while its draw waits, the draw has not
// happened. If it disconnects while its draw is written, it gets the answer on a retry.
func TestBatcherGivesUp(t *testing.T) {
	for name, isLeft := range map[string]bool{"caller disconnected": true, "timeout": false} {
		t.Run(name, func(t *testing.T) {
			l, stop := newLedger(poolOf("p", 100)), newDoor()
			l.before = stop.before
			b, seen := newTestBatcher(t, l, Limits{})
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			under := ask(ctx, b, named("under way"))
			receive(t, stop.arrived)
			if isLeft {
				leave()
			} else {
				timeIsOver(b, "p")
			}
			code(t, draw.CodeOutcomeUnknown, receive(t, under).err)
			// a caller that has already left does not wait
			code(t, draw.CodeContended, receive(t, ask(ctx, b, named("waits"))).err)
			close(stop.open)
			// The next batch begins after the first one was answered.
			d, err := b.Draw(t.Context(), named("under way"))
			for draw.CodeOf(err) == draw.CodeContended || draw.CodeOf(err) == draw.CodeOutcomeUnknown {
				d, err = b.Draw(t.Context(), named("under way"))
			}
			require.NoError(t, err)
			require.True(t, d.Replayed)
			require.Equal(t, 1, l.issued("p"), "the draw that waited was not made")
			drain(t, b)
			require.Zero(t, seen.answered["ledger contended"], "withdrawn draws have no answer of a mode")
		})
	}
}

// TestBatcherMemoryOfSoldOut: after a sell-out, names that the service created are
// refused from memory, for a second or until the pool changes. Keys of callers are always
// looked up.
func TestBatcherMemoryOfSoldOut(t *testing.T) {
	l := newLedger(poolOf("p", 2))
	b, seen := newTestBatcher(t, l, Limits{})
	drawOne := func(id string, isNamed bool, count int) error {
		_, err := b.Draw(t.Context(), draw.Request{PoolID: "p", UserID: "u", DrawID: id, Named: isNamed, Count: count})
		return err
	}
	require.NoError(t, drawOne("kept", true, 1))
	code(t, draw.CodeSoldOut, drawOne("a", false, 2))
	asked := len(l.batches)
	b.queues["p"].soldOut.Load().until = time.Now().Add(time.Hour) // however slow the machine is
	code(t, draw.CodeSoldOut, drawOne("b", false, 2))
	require.Len(t, l.batches, asked, "answered from memory")
	require.NoError(t, drawOne("kept", true, 1), "a known key")
	code(t, draw.CodeSoldOut, drawOne("c", true, 2))
	require.NoError(t, drawOne("d", false, 1), "there is one unit")
	code(t, draw.CodeSoldOut, drawOne("e", false, 1))

	l.set("p", func(p *draw.Pool) { p.Prizes[0].Stocked, p.Version = 3, p.Version+1 })
	b.queues["p"].soldOut.Load().until = time.Now().Add(time.Hour)
	code(t, draw.CodeSoldOut, drawOne("f", false, 1))
	b.Changed("p")
	b.Changed("absent")
	require.NoError(t, drawOne("g", false, 1), "a restock by this process is seen at once")

	code(t, draw.CodeSoldOut, drawOne("h", false, 1))
	l.set("p", func(p *draw.Pool) { p.Prizes[0].Stocked, p.Version = 4, p.Version+1 })
	b.queues["p"].soldOut.Load().until = time.Now()
	require.NoError(t, drawOne("i", false, 1), "one by another process after a second")
	drain(t, b)
	require.Equal(t, map[string]int{"ledger won": 4, "ledger replayed": 1, "ledger sold-out": 6}, seen.answered)
}

// TestSoldOutIsAsOldAsItsRead: "sold out" is cached for a second from the moment at which
// the pool was read. Here the read of the log takes longer than that, and another process
// has restocked the pool by then.
func TestSoldOutIsAsOldAsItsRead(t *testing.T) {
	l := newLedger(poolOf("p", 0, 1))
	b, _ := newTestBatcher(t, l, Limits{})
	require.NoError(t, receive(t, ask(t.Context(), b, named("last"))).err)
	l.asked = func() {
		l.set("p", func(p *draw.Pool) { p.Prizes[0].Stocked, p.Version = 9, p.Version+1 })
		time.Sleep(soldOutFor + 100*time.Millisecond)
	}
	code(t, draw.CodeSoldOut, receive(t, ask(t.Context(), b, named("late"))).err)
	unnamed := named("made")
	unnamed.Named = false
	require.NoError(t, receive(t, ask(t.Context(), b, unnamed)).err)
}

// TestBatcherForgetsWhatItReadBefore: a state that was read before a restock is not
// cached after the restock.
func TestBatcherForgetsWhatItReadBefore(t *testing.T) {
	for moved, restock := range map[bool]func(*Batcher){
		true:  func(b *Batcher) { b.Changed("p") },
		false: func(b *Batcher) {},
	} {
		l, stop := newLedger(poolOf("p", 3)), newDoor()
		l.before = stop.before
		b, _ := newTestBatcher(t, l, Limits{})
		first := ask(t.Context(), b, named("first"))
		receive(t, stop.arrived)
		l.before = func(*urn.Plan) error { restock(b); return nil }
		answers := []<-chan answer{ask(t.Context(), b, named("second"))}
		waitingOn(t, b, "p", 1)
		answers = append(answers, ask(t.Context(), b, wanting(named("many"), 9)))
		waitingOn(t, b, "p", 2)
		close(stop.open)
		require.NoError(t, receive(t, first).err)
		require.NoError(t, receive(t, answers[0]).err)
		code(t, draw.CodeSoldOut, receive(t, answers[1]).err)
		drain(t, b)
		require.Equal(t, moved, b.queues["p"].soldOut.Load() == nil)
	}
}

// absentPool is an Issuer that finds no pool once open is closed.
type absentPool struct {
	arrived chan struct{}
	open    chan struct{}
}

// Issue implements Issuer.
func (a absentPool) Issue(context.Context, *Batch) error {
	a.arrived <- struct{}{}
	<-a.open
	return draw.Errorf(draw.CodePoolNotFound, "pool not found")
}

// TestUnreadPoolsHaveNoQueueOfTheirOwn: all pools whose ids callers made up are counted
// together.
func TestUnreadPoolsHaveNoQueueOfTheirOwn(t *testing.T) {
	absent := absentPool{make(chan struct{}, 3), make(chan struct{})}
	b, _ := newTestBatcher(t, newLedger(), Limits{})
	b.issuer = absent
	var all []<-chan answer
	for i := range 3 {
		r := named("x")
		r.PoolID = fmt.Sprint("made-up-", i)
		all = append(all, ask(t.Context(), b, r))
	}
	for range all {
		receive(t, absent.arrived)
	}
	byPool, unread := b.WaitingByPool()
	require.Empty(t, byPool)
	require.Equal(t, 3, unread)
	close(absent.open)
	for _, a := range all {
		code(t, draw.CodePoolNotFound, receive(t, a).err)
	}
}
