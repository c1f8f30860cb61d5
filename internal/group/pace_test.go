package group

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// TestPaceOfBatches: after a slow batch the next batches are smaller, and after full,
// fast batches they are larger. A small batch that waited for others changes nothing.
func TestPaceOfBatches(t *testing.T) {
	const fast, fine, slow = 10 * time.Millisecond, time.Second, 3 * time.Second
	limits := &Limits{BatchMax: 512, Timeout: 5 * time.Second}
	for name, c := range map[string]struct {
		size, draws     int
		took            time.Duration
		isFull, decided bool
		want            int
	}{
		"slow":                     {512, 512, slow, true, true, 256},
		"failed":                   {512, 512, slow, true, false, 256},
		"failed at the least":      {1, 1, slow, true, false, 1},
		"fewer were too slow":      {512, 300, slow, false, true, 300},
		"one waited for a row":     {512, 1, slow, false, true, 256},
		"small ones are not large": {slowSizeMin, slowSizeMin, slow, true, true, slowSizeMin},
		"but when they fail":       {slowSizeMin, slowSizeMin, slow, true, false, slowSizeMin / 2},
		"fine":                     {100, 100, fine, true, true, 125},
		"fast":                     {100, 100, fast, true, true, 200},
		"fast at the most":         {400, 400, fast, true, true, 512},
		"fast, and not full":       {100, 3, fast, false, true, 100},
		"fast failures":            {100, 100, fast, true, false, 200},
	} {
		p := pace{sizeMax: c.size}
		p.note(c.draws, c.took, c.isFull, c.decided, limits)
		require.Equal(t, c.want, p.sizeMax, name)
	}
}

// refusedOf requests n draws at once, and counts the refusals by overload.
func refusedOf(t *testing.T, b *Batcher, n int) (refused int) {
	all := make(chan answer, n)
	for i := range n {
		go func() {
			d, err := b.Draw(t.Context(), named(fmt.Sprint("burst-", i)))
			all <- answer{d, err}
		}()
	}
	for range n {
		if a := <-all; draw.CodeOf(a.err) == draw.CodeOverloaded {
			refused++
		}
	}
	return refused
}

// TestNoFalseOverload: a queue that is cold, idle, or busy and fast refuses no draw.
// Neither does a queue whose last batch was a single draw that waited for others.
func TestNoFalseOverload(t *testing.T) {
	limits := Limits{Timeout: 5 * time.Second}
	for name, before := range map[string]func(t *testing.T, b *Batcher, l *ledger){
		"cold": func(*testing.T, *Batcher, *ledger) {},
		"busy and fast": func(t *testing.T, b *Batcher, _ *ledger) {
			require.Zero(t, refusedOf(t, b, 3000))
		},
		"a row that was held": func(t *testing.T, b *Batcher, l *ledger) {
			write := l.before
			l.before = func(*urn.Plan) error { time.Sleep(4 * time.Second); l.before = write; return nil }
			require.NoError(t, receive(t, ask(t.Context(), b, named("held"))).err)
			synctest.Wait() // idle
		},
		"the next batch after it": func(t *testing.T, b *Batcher, l *ledger) {
			write := l.before
			l.before = func(*urn.Plan) error { time.Sleep(2 * time.Second); l.before = write; return nil }
			held := ask(t.Context(), b, named("held"))
			synctest.Wait()
			next := ask(t.Context(), b, named("next"))
			require.NoError(t, receive(t, held).err)
			require.Zero(t, refusedOf(t, b, 250))
			require.NoError(t, receive(t, next).err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := slowed(cost{5 * time.Millisecond, 20 * time.Microsecond, 1})
				b, _ := newTestBatcher(t, l, limits)
				before(t, b, l)
				require.Zero(t, refusedOf(t, b, 4000))
			})
		})
	}
}

// TestOverloadIsHonest: if a queue is too slow, a draw that arrives is refused at once,
// with the time that the waiting draws need. If it has a key, the refusal does not say
// what an earlier request did.
func TestOverloadIsHonest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := slowed(cost{0, 10 * time.Millisecond, 1}) // 100 draws a second
		b, _ := newTestBatcher(t, l, Limits{Timeout: 5 * time.Second, BatchMax: 100})
		for i := range 701 { // after 2.5 s, batches of 1, 100 and 100 are written, and 100 draws are under way
			go func() { _, _ = b.Draw(t.Context(), named(fmt.Sprint(i))) }()
		}
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		for isNamed, keyUnasked := range map[bool]bool{true: true, false: false} {
			began := time.Now()
			_, err := b.Draw(t.Context(), draw.Request{PoolID: "p", UserID: "u", DrawID: "more", Named: isNamed, Count: 1})
			code(t, draw.CodeOverloaded, err)
			require.Zero(t, time.Since(began))
			e, _ := errors.AsType[*draw.Error](err)
			require.Equal(t, keyUnasked, e.KeyUnasked)
			require.InDelta(t, 3.5, e.RetryAfter.Seconds(), 0.8, "400 draws wait")
		}
	})
}

// TestBatchLeavesOutExpiredDraws: some draws are neither planned nor looked up: those
// whose callers have disconnected, and those whose time ends before the expected end of
// the batch. The callers of the latter are notified at once.
func TestBatchLeavesOutExpiredDraws(t *testing.T) {
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":9}]}`))
	require.NoError(t, err)
	u := urn.NewUrn("p")
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead().Next(10), Prizes: poolOf("p", 9).Prizes, Rules: rules})
	b := batchOf(u, by(named("first"), "first"))
	q := b.queue
	q.working = true // nobody else takes the batch
	q.pace.each = 40 * time.Second / time.Duration(q.pace.sizeMax)
	came := map[string]time.Duration{"left": time.Second, "late": patience - 30*time.Second, "in time": patience - 50*time.Second}
	all := map[string]*waiter{}
	for _, user := range []string{"late", "left", "in time"} {
		w := &waiter{Ask: urn.Ask{Request: by(named(user), user)}, since: time.Now().Add(-came[user]), queue: q, done: make(chan struct{})}
		q.waiting, all[user] = append(q.waiting, w), w
	}
	require.True(t, all["left"].giveUp())
	b.TopUp()
	require.Equal(t, []string{"first", "in time"}, b.Keys())
	_, err = all["late"].wait(t.Context())
	code(t, draw.CodeOverloaded, err)

	require.True(t, b.waiters[0].giveUp())
	log := &turnsRead{}
	_, err = b.Plan(t.Context(), time.Now(), log, false)
	require.NoError(t, err)
	require.Equal(t, []string{"in time"}, log.users)
}

// turnsRead is a log that records whose turns were read. No user has turns.
type turnsRead struct {
	lookUp
	users []string
}

// Turns implements Log.
func (l *turnsRead) Turns(_ context.Context, _ *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	for _, n := range needs {
		l.users = append(l.users, n.Subject)
	}
	return urn.NewFacts(needs), nil
}

// TestWaitingDrawsGetTheFailureReason: draws that wait after a failed batch, and that no
// batch takes, get the reason of the failure. This ends when a batch is decided.
func TestWaitingDrawsGetTheFailureReason(t *testing.T) {
	lost := &draw.Error{Code: draw.CodeOutcomeUnknown, Err: errors.New("the answer to a COMMIT")}
	for _, c := range []struct {
		failed error
		want   draw.Code
	}{
		{draw.Errorf(draw.CodeStoreUnavailable, "the database does not answer"), draw.CodeStoreUnavailable},
		{draw.Errorf(draw.CodeLockUnavailable, "the lock service does not answer"), draw.CodeLockUnavailable},
		{draw.Errorf(draw.CodeContended, "the lock is held"), draw.CodeContended},
		{lost, draw.CodeStoreUnavailable},
		{&draw.Error{Code: draw.CodeOutcomeUnknown, Err: draw.Errorf(draw.CodeContended, "the lock is held")}, draw.CodeContended},
		{draw.Errorf(draw.CodePoolNotFound, "none"), draw.CodeContended},
		{nil, draw.CodeContended},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger(poolOf("p", 9))
			l.before = func(p *urn.Plan) error {
				switch p.Awards[0].DrawID {
				case "first":
					time.Sleep(4400 * time.Millisecond)
					return c.failed
				case "second":
					time.Sleep(4400 * time.Millisecond)
				}
				return nil
			}
			b, _ := newTestBatcher(t, l, Limits{Timeout: 5 * time.Second, BatchMax: 1})
			first := ask(t.Context(), b, named("first"))
			time.Sleep(3 * time.Second)
			second := ask(t.Context(), b, named("second"))
			synctest.Wait()
			third := ask(t.Context(), b, named("third"))
			<-first
			a := <-third
			code(t, c.want, a.err)
			e, _ := errors.AsType[*draw.Error](a.err)
			require.True(t, e.KeyUnasked)
			<-second
			require.NoError(t, (<-ask(t.Context(), b, named("fourth"))).err)
			require.Nil(t, b.queues["p"].trouble.Load())
		})
	}
}

// TestTroubleIsToldAtOnce: if the queue is too slow for a draw and its last batch failed,
// the draw is refused with the reason of that failure.
func TestTroubleIsToldAtOnce(t *testing.T) {
	b := batchOf(urnOf(9), named("first"))
	q := b.queue
	q.working, q.armed = true, true // nobody else takes the batch
	q.pace.each = q.batcher.limits.Timeout
	q.waiting = []*waiter{{}}
	come := func() error {
		return q.push(&waiter{Ask: urn.Ask{Request: named("late")}, since: time.Now(), done: make(chan struct{})})
	}
	code(t, draw.CodeOverloaded, come())
	q.noteTrouble(draw.Errorf(draw.CodeStoreUnavailable, "the database does not answer"))
	code(t, draw.CodeStoreUnavailable, come())
}

// TestRefusalBeforeLookupIsUnknown: if a draw with a key is refused before the key was
// looked up in the log, no answer says what happened to an earlier request with the key,
// whatever the code is.
func TestRefusalBeforeLookupIsUnknown(t *testing.T) {
	unnamed := named("made")
	unnamed.Named = false
	for _, refused := range []draw.Code{draw.CodeStoreUnavailable, draw.CodeLockUnavailable, draw.CodeContended, draw.CodeSeedUnavailable} {
		b := batchOf(urnOf(9), named("key"), named("absent"), unnamed)
		b.waiters[1].Learn(nil)
		b.fail(draw.Errorf(refused, "no"))
		for i, want := range []bool{true, false, false} {
			_, err := b.waiters[i].wait(context.Background())
			e, _ := errors.AsType[*draw.Error](err)
			require.Equal(t, want, e.KeyUnasked, "%s %d", refused, i)
		}
	}
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 9)), Limits{})
	drain(t, b)
	for _, r := range []draw.Request{named("key"), unnamed} {
		_, err := b.Draw(t.Context(), r)
		code(t, draw.CodeDraining, err)
		e, _ := errors.AsType[*draw.Error](err)
		require.Equal(t, r.Named, e.KeyUnasked)
	}
}
