package draw

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// batchOf is a batch of requests that wait on an urn at version 10.
func batchOf(u *Urn, requests ...Request) *Batch {
	q := newQueue(NewBatcher(nil, &watcher{}, Limits{}), u.PoolID)
	u.Version = 10 // at the mark of no write
	q.batch.Urn = u
	var waiters []*waiter
	for _, r := range requests {
		waiters = append(waiters, &waiter{Request: r, done: make(chan struct{})})
	}
	q.batch.fill(waiters)
	return q.batch
}

func planOf(t *testing.T, b *Batch, known map[string]Draw) *Plan {
	t.Helper()
	p, err := b.Plan(t.Context(), time.Now(), func(_ context.Context, _ string, ids []string) (map[string]Draw, error) {
		found := map[string]Draw{}
		for _, id := range ids {
			if d, ok := known[id]; ok {
				found[id] = d
			}
		}
		return found, nil
	})
	require.NoError(t, err)
	return p
}

func wanting(r Request, count int) Request { r.Count = count; return r }

func by(r Request, user string) Request { r.UserID = user; return r }

// TestPlanInOrder: draws are decided one after another, each from what those
// before it have left; what one cannot have the next still may.
func TestPlanInOrder(t *testing.T) {
	u := urnOf(4, 2)
	b := batchOf(u, wanting(named("a"), 3), wanting(named("b"), 4), wanting(named("c"), 2), named("d"), named("e"))
	p := planOf(t, b, nil)
	b.Settle(p)

	require.Equal(t, int64(10), p.From.Version)
	require.Equal(t, int64(16), b.Urn.Version)
	require.Zero(t, u.Remaining())
	var ids []string
	units := map[string]int64{}
	for i, a := range p.Awards {
		ids = append(ids, a.DrawID)
		units[a.PrizeID]++
		require.Equal(t, int64(11+i), a.Version)
		require.Equal(t, units[a.PrizeID], a.Unit, "a prize's units count up from 1")
		require.Equal(t, p.Awards[0].At, a.At)
		require.Equal(t, a.At, a.At.UTC().Truncate(time.Microsecond))
	}
	require.Equal(t, []string{"a", "a", "a", "c", "c", "d"}, ids)
	require.Equal(t, []int{1, 2, 3, 1, 2, 1}, ordinals(p.Awards))
	require.Equal(t, map[string]int64{"p0": 4, "p1": 2}, units)
	require.Len(t, p.Changes, 2, "each prize once")
	for _, c := range p.Changes {
		require.Equal(t, units[c.PrizeID], c.Issued)
	}
	require.Equal(t, p.Awards[3:5], b.waiters[2].draw.Awards)
	code(t, CodeSoldOut, b.waiters[1].err)
	code(t, CodeSoldOut, b.waiters[4].err)
}

func ordinals(awards []Award) (all []int) {
	for _, a := range awards {
		all = append(all, a.Ordinal)
	}
	return all
}

// TestPlanUndone: what was not written is in the urn again, and a plan made
// after it stands on the same version.
func TestPlanUndone(t *testing.T) {
	u := urnOf(4, 2)
	b := batchOf(u, wanting(named("a"), 3), wanting(named("b"), 2))
	for range 20 {
		p := planOf(t, b, nil)
		require.Equal(t, int64(1), u.Remaining())
		require.Equal(t, int64(10), p.From.Version)
		b.Undo(p)
		b.Undo(p)
		require.Equal(t, int64(6), u.Remaining())
		for _, prize := range u.prizes {
			require.Zero(t, prize.issued)
		}
	}
}

// TestPlanRepeats: a key that is twice in one batch is one draw, and one
// caller alone is told that it is new.
func TestPlanRepeats(t *testing.T) {
	for name, lost := range map[string]bool{"answered": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			two := wanting(named("a"), 2)
			b := batchOf(urnOf(10), two, two, by(two, "other"), wanting(two, 3), two, named("b"))
			p := planOf(t, b, nil)
			require.Len(t, p.Awards, 3)
			if lost { // written all the same, as the next look at the log tells
				b.InDoubt(p)
				require.True(t, b.IsInDoubt())
				p = planOf(t, b, map[string]Draw{
					"a": {ID: "a", UserID: "u", Awards: p.Awards[:2]}, "b": {ID: "b", UserID: "u", Awards: p.Awards[2:]},
				})
				require.Empty(t, p.Awards)
			}
			b.Settle(p)
			var fresh int
			for _, i := range []int{0, 1, 4} {
				require.NoError(t, b.waiters[i].err)
				require.Equal(t, b.waiters[0].draw.Awards, b.waiters[i].draw.Awards)
				if !b.waiters[i].draw.Replayed {
					fresh++
				}
			}
			require.Equal(t, 1, fresh)
			code(t, CodeKeyReused, b.waiters[2].err)
			code(t, CodeKeyReused, b.waiters[3].err)
			require.False(t, b.waiters[5].draw.Replayed)
		})
	}
}

// TestPlanDoubtsOnlyItsOwn: a draw of another time, or of another service, is
// a replay, also to a batch that is in doubt about its own try at the same key.
func TestPlanDoubtsOnlyItsOwn(t *testing.T) {
	b := batchOf(urnOf(10), named("a"), named("b"))
	p := planOf(t, b, nil)
	mine, other := p.Awards[0], p.Awards[1]
	other.At = other.At.Add(-time.Second)
	b.InDoubt(p)
	b.InDoubt(planOf(t, b, nil)) // the first try is seen only now
	b.Settle(planOf(t, b, map[string]Draw{
		"a": {ID: "a", UserID: "u", Awards: []Award{mine}}, "b": {ID: "b", UserID: "u", Awards: []Award{other}},
	}))
	require.False(t, b.waiters[0].draw.Replayed)
	require.True(t, b.waiters[1].draw.Replayed)
}

// TestPlanRefusedKeyIsFree: a draw that was sold out is not recorded, so its
// key may win in the same batch.
func TestPlanRefusedKeyIsFree(t *testing.T) {
	b := batchOf(urnOf(3), wanting(named("a"), 5), wanting(named("a"), 2))
	b.Settle(planOf(t, b, nil))
	code(t, CodeSoldOut, b.waiters[0].err)
	require.Len(t, b.waiters[1].draw.Awards, 2)
}

// TestPlanLooksOnlyWhenItMust: a key of the caller's is looked up before it is
// refused, and after the write has met one; else never.
func TestPlanLooksOnlyWhenItMust(t *testing.T) {
	known := map[string]Draw{"old": {ID: "old", UserID: "u", Awards: []Award{{DrawID: "old", Version: 3}}}}
	var asked []string
	looking := func(_ context.Context, _ string, ids []string) (map[string]Draw, error) {
		asked = append(asked, ids...)
		return known, nil
	}
	unnamed := Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}
	plan := func(b *Batch) {
		asked = nil
		p, err := b.Plan(t.Context(), time.Now(), looking)
		require.NoError(t, err)
		b.Settle(p)
	}

	plan(batchOf(urnOf(9), named("new"), unnamed))
	require.Empty(t, asked, "a usual draw pays nothing")

	plan(batchOf(urnOf(0), unnamed, unnamed))
	require.Empty(t, asked, "a name that the service made is new")

	b := batchOf(urnOf(1), unnamed, named("old"), named("new"))
	plan(b)
	require.Equal(t, []string{"new", "old"}, asked)
	require.Equal(t, "made", b.waiters[0].draw.ID)
	require.True(t, b.waiters[1].draw.Replayed)
	code(t, CodeSoldOut, b.waiters[2].err)

	b = batchOf(urnOf(9), named("old"), by(named("old"), "other"), wanting(named("old"), 2), unnamed)
	b.KnownKey()
	plan(b)
	require.Equal(t, []string{"old"}, asked, "each name once, however often it is in the batch")
	require.Equal(t, int64(3), b.waiters[0].draw.Awards[0].Version)
	code(t, CodeKeyReused, b.waiters[1].err)
	code(t, CodeKeyReused, b.waiters[2].err)
	require.Len(t, b.waiters[3].draw.Awards, 1)

	b = batchOf(urnOf(9), unnamed)
	b.InDoubt(planOf(t, b, nil))
	plan(b)
	require.Equal(t, []string{"made"}, asked, "in doubt every name is looked up")
}

// TestPlanOfClosedPool: known keys are answered whatever the pool's state is.
func TestPlanOfClosedPool(t *testing.T) {
	for _, state := range []State{StatePaused, StateClosed} {
		u := urnOf(9)
		u.State = state
		b := batchOf(u, named("old"), named("new"))
		b.Settle(planOf(t, b, map[string]Draw{"old": {ID: "old", UserID: "u", Awards: []Award{{DrawID: "old"}}}}))
		require.True(t, b.waiters[0].draw.Replayed)
		code(t, CodePoolNotOpen, b.waiters[1].err)
		require.Equal(t, int64(9), u.Remaining())
	}
}

// TestPlanFailsWhole: a look at the log that fails leaves the urn full.
func TestPlanFailsWhole(t *testing.T) {
	b := batchOf(urnOf(2), wanting(named("a"), 2), named("b"))
	broken := errors.New("no log")
	_, err := b.Plan(t.Context(), time.Now(), func(context.Context, string, []string) (map[string]Draw, error) { return nil, broken })
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(2), b.Urn.Remaining())
	require.Len(t, planOf(t, b, nil).Awards, 2)
}

// TestPlanSkipsTheWithdrawn: who gave up while waiting takes nothing.
func TestPlanSkipsTheWithdrawn(t *testing.T) {
	b := batchOf(urnOf(2), named("a"), named("b"), named("c"))
	b.waiters[0].state.Store(withdrawn)
	p := planOf(t, b, nil)
	require.Len(t, p.Awards, 2)
	require.False(t, b.waiters[1].state.CompareAndSwap(waiting, withdrawn), "planned draws cannot be withdrawn")
	b.Undo(p)
	require.True(t, b.waiters[1].state.CompareAndSwap(waiting, withdrawn), "those of a plan that wrote nothing can")
	p = planOf(t, b, nil)
	require.Equal(t, "c", p.Awards[0].DrawID)
	b.InDoubt(p)
	require.False(t, b.waiters[2].state.CompareAndSwap(waiting, withdrawn), "those that may be written cannot")
	b.Settle(planOf(t, b, nil))
	require.Equal(t, int64(1), b.Urn.Remaining())
}

// TestTopUp: a batch takes in those who came after it was taken, in order and
// within its bounds, unless it is in doubt.
func TestTopUp(t *testing.T) {
	b := batchOf(urnOf(100), named("a"))
	q := b.queue
	q.batcher.limits = Limits{BatchMax: 3, QueueMax: 10, Timeout: time.Minute}
	q.working = true // nobody else takes
	for _, id := range []string{"b", "c", "d", "e"} {
		require.NoError(t, q.push(&waiter{Request: named(id), since: time.Now(), done: make(chan struct{})}))
	}
	b.TopUp()
	require.Equal(t, []string{"a", "b", "c"}, b.Keys())
	require.Len(t, q.waiting, 2)
	b.TopUp()
	require.Equal(t, 3, b.Draws(), "it is full")
	b.Settle(planOf(t, b, nil))
	b.TopUp()
	require.Equal(t, 3, b.Draws(), "it is over")

	require.True(t, b.Next())
	require.Equal(t, []string{"d", "e"}, b.Keys())
	require.NoError(t, q.push(&waiter{Request: named("f"), since: time.Now(), done: make(chan struct{})}))
	b.InDoubt(planOf(t, b, nil))
	b.TopUp()
	require.Equal(t, []string{"d", "e"}, b.Keys(), "what may be committed stays as it is")
}

// TestFactsAreOfOnePlan: a refusal rests on what the log says now, not on what
// it said when the batch was planned before: meanwhile another instance may
// have drawn under the key, and taken the last unit.
func TestFactsAreOfOnePlan(t *testing.T) {
	b := batchOf(urnOf(1), named("a"), named("b"))
	p := planOf(t, b, nil)
	require.Error(t, p.outcomes[1].err, "b was looked up, and is not there")
	b.Undo(p)
	b.Urn.put(Prize{ID: "p0", Stocked: 1, Issued: 1})
	b.Settle(planOf(t, b, map[string]Draw{"b": {ID: "b", UserID: "u", Awards: []Award{{DrawID: "b"}}}}))
	code(t, CodeSoldOut, b.waiters[0].err)
	require.True(t, b.waiters[1].draw.Replayed)
}

// TestWhoJoinsIsAsked: a draw that joins a batch which was looked up before is
// looked up itself before it is refused.
func TestWhoJoinsIsAsked(t *testing.T) {
	b := batchOf(urnOf(1), named("a"), named("b"))
	q := b.queue
	q.batcher.limits = Limits{BatchMax: 9, QueueMax: 9, Timeout: time.Minute}
	q.working = true // nobody else takes
	b.Undo(planOf(t, b, nil))
	require.NoError(t, q.push(&waiter{Request: named("old"), since: time.Now(), done: make(chan struct{})}))
	b.Urn.put(Prize{ID: "p0", Stocked: 1, Issued: 1})
	b.TopUp()
	b.Settle(planOf(t, b, map[string]Draw{"old": {ID: "old", UserID: "u", Awards: []Award{{DrawID: "old"}}}}))
	require.Equal(t, []string{"a", "b", "old"}, b.Keys())
	require.True(t, b.waiters[2].draw.Replayed)
}

// TestGivenUpBatchReplays: a batch that cannot be decided still answers the
// draws that the log holds; the others wait on, or get the reason.
func TestGivenUpBatchReplays(t *testing.T) {
	unnamed := Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}
	b := batchOf(urnOf(9), named("new"), named("old"), unnamed, by(named("old"), "other"))
	busy := Errorf(CodeContended, "busy")
	log := map[string]Draw{"old": {ID: "old", UserID: "u", Awards: []Award{{DrawID: "old"}}}}
	asked := 0
	lookUp := func(_ context.Context, _ string, ids []string) (map[string]Draw, error) {
		asked++
		require.NotContains(t, ids, "made", "a name that the service made is new")
		return log, nil
	}
	require.True(t, b.AsksLog())
	p, err := b.PlanReplays(t.Context(), busy, lookUp)
	require.NoError(t, err)
	b.SettleReplays(p)
	require.True(t, b.waiters[1].draw.Replayed)
	code(t, CodeKeyReused, b.waiters[3].err)
	require.False(t, b.IsSettled())
	require.True(t, b.waiters[0].giveUp(), "the others wait, and may be withdrawn")

	p, err = b.PlanReplays(t.Context(), busy, lookUp)
	require.NoError(t, err)
	require.Nil(t, p, "nobody is left whom the log may hold")
	b.fail(busy)
	require.NoError(t, b.waiters[1].err, "it has its answer")
	code(t, CodeContended, b.waiters[2].err)
	require.Equal(t, 1, asked)
	require.Equal(t, int64(9), b.Urn.Remaining())
}

// TestPlanCachedGrantsOnly: a plan from the cached copy refuses nothing and
// replays nothing: it is none at all then, and the urn is full.
func TestPlanCachedGrantsOnly(t *testing.T) {
	cached := func(requests ...Request) *Batch {
		b := batchOf(urnOf(2), requests...)
		b.Urn.hits = hitsMin
		return b
	}
	b := cached(named("a"), named("b"))
	require.Len(t, b.PlanCached(time.Now()).Awards, 2)
	require.Zero(t, b.Urn.Remaining())

	b = cached(named("a"), named("b"), named("c"))
	require.Nil(t, b.PlanCached(time.Now()))
	require.Equal(t, int64(2), b.Urn.Remaining())

	b = cached(named("a"))
	b.KnownKey()
	require.Nil(t, b.PlanCached(time.Now()), "the log has to be asked first")
	b = cached(named("a"))
	b.doubt()
	require.Nil(t, b.PlanCached(time.Now()))
	b = cached(named("a"))
	b.Urn.hits--
	require.Nil(t, b.PlanCached(time.Now()), "somebody else may write to the pool")
}
