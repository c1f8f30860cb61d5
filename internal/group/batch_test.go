package group

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// TestBatchAdmitsLateDraws: draws that arrive after a batch was taken join it, in order
// and within its bounds, unless the batch is in doubt.
func TestBatchAdmitsLateDraws(t *testing.T) {
	b := batchOf(urnOf(100), named("a"))
	q := b.queue
	q.pace.sizeMax = 3
	q.working = true // nobody else takes the batch
	for _, id := range []string{"b", "c", "d", "e"} {
		require.NoError(t, q.push(&waiter{Ask: urn.Ask{Request: named(id)}, since: time.Now(), done: make(chan struct{})}))
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
	require.NoError(t, q.push(&waiter{Ask: urn.Ask{Request: named("f")}, since: time.Now(), done: make(chan struct{})}))
	b.InDoubt(planOf(t, b, nil))
	b.TopUp()
	require.Equal(t, []string{"d", "e"}, b.Keys(), "what may be committed stays as it is")
}

// TestRefusalUsesTheLatestLookup: a refusal depends on the latest lookup in the log, and
// not on an earlier one for the same batch. In between, another instance may have drawn
// under the key, and taken the last unit.
func TestRefusalUsesTheLatestLookup(t *testing.T) {
	b := batchOf(urnOf(1), named("a"), named("b"))
	p := planOf(t, b, nil)
	require.Error(t, p.Err(1), "b was looked up, and is not there")
	b.Undo(p)
	emptied(b.Urn)
	b.Settle(planOf(t, b, map[string]draw.Draw{"b": {ID: "b", UserID: "u", Awards: []draw.Award{{DrawID: "b"}}}}))
	code(t, draw.CodeSoldOut, b.waiters[0].err)
	require.True(t, b.waiters[1].draw.Replayed)
}

// TestJoiningDrawIsLookedUp: a draw joins a batch that was already looked up. It is
// looked up too before it is refused.
func TestJoiningDrawIsLookedUp(t *testing.T) {
	b := batchOf(urnOf(1), named("a"), named("b"))
	q := b.queue
	q.working = true // nobody else takes the batch
	b.Undo(planOf(t, b, nil))
	require.NoError(t, q.push(&waiter{Ask: urn.Ask{Request: named("old")}, since: time.Now(), done: make(chan struct{})}))
	emptied(b.Urn)
	b.TopUp()
	b.Settle(planOf(t, b, map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old"}}}}))
	require.Equal(t, []string{"a", "b", "old"}, b.Keys())
	require.True(t, b.waiters[2].draw.Replayed)
}

// TestDrawsOfOneNameShareDoubt: two draws of one name are one draw. When its write is
// in doubt, neither answer says that nothing happened, whatever the result of a later
// attempt.
func TestDrawsOfOneNameShareDoubt(t *testing.T) {
	b := batchOf(urnOf(9), named("a"), named("a"), named("b"))
	b.InDoubt(planOf(t, b, nil))
	b.Undo(planOf(t, b, nil))
	ended, leave := context.WithCancel(t.Context())
	leave()
	for _, w := range b.waiters {
		_, err := w.wait(ended)
		code(t, draw.CodeOutcomeUnknown, err)
	}

	b = batchOf(urnOf(9), named("a"), named("a"))
	b.KnownKey() // so that the log is asked
	b.Undo(planOf(t, b, nil))
	for _, w := range b.waiters {
		_, err := w.wait(ended)
		code(t, draw.CodeContended, err)
	}
}

// TestDoubtReturnsTheKeyToRetry: a caller that sent no key gets the key for its retry,
// whether its time ended or its batch was given up.
func TestDoubtReturnsTheKeyToRetry(t *testing.T) {
	unnamed := draw.Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}
	ended, leave := context.WithCancel(t.Context())
	leave()
	late := batchOf(urnOf(9), unnamed)
	late.InDoubt(planOf(t, late, nil))
	_, err := late.waiters[0].wait(ended)
	code(t, draw.CodeOutcomeUnknown, err)
	require.Contains(t, draw.DetailOf(err), `"made"`)

	failed := batchOf(urnOf(9), unnamed)
	failed.InDoubt(planOf(t, failed, nil))
	failed.fail(draw.Errorf(draw.CodeOutcomeUnknown, "the commit was not heard of"))
	_, err = failed.waiters[0].wait(t.Context())
	code(t, draw.CodeOutcomeUnknown, err)
	require.Contains(t, draw.DetailOf(err), `"made"`)
}

// readUsers is a log that calls a function while it reads the users.
type readUsers struct {
	lookUp
	beside func()
}

// Turns implements Log: no user has turns.
func (l readUsers) Turns(_ context.Context, _ *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	l.beside()
	return urn.NewFacts(needs), nil
}

// TestWhoComesDuringTheReadWaits: a draw that arrives while the turns of a batch's users
// are read is not decided with the batch, whether or not the turns of its own user were
// read.
func TestWhoComesDuringTheReadWaits(t *testing.T) {
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":2,"per":"1h"}]}`))
	require.NoError(t, err)
	u := urnOf(9)
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Next(1), Rules: rules})
	b := batchOf(u, named("a"))
	q := b.queue
	q.working = true // nobody else takes the batch
	come := func(requests ...draw.Request) func() {
		return func() {
			for _, r := range requests {
				require.NoError(t, q.push(&waiter{Ask: urn.Ask{Request: r}, since: time.Now(), done: make(chan struct{})}))
			}
		}
	}
	for _, want := range [][]string{{"a"}, {"same", "other"}} {
		p, err := b.Plan(t.Context(), time.Now(), readUsers{nil, come(named("same"), by(named("other"), "other"))}, false)
		require.NoError(t, err)
		require.Equal(t, want, b.Keys())
		b.Settle(p)
		for _, w := range b.waiters {
			require.NoError(t, w.err)
		}
		come = func(...draw.Request) func() { return func() {} }
		b.Next()
	}
}

// TestGivenUpBatchReplays: a batch that cannot be decided still answers the draws that
// the log has. The others continue to wait, or get the reason.
func TestGivenUpBatchReplays(t *testing.T) {
	unnamed := draw.Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}
	b := batchOf(urnOf(9), named("new"), named("old"), unnamed, by(named("old"), "other"))
	busy := draw.Errorf(draw.CodeContended, "busy")
	known := map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old"}}}}
	asked := 0
	log := lookUp(func(ids []string) (map[string]draw.Draw, error) {
		asked++
		require.NotContains(t, ids, "made", "a name that the service made is new")
		return known, nil
	})
	require.True(t, b.AsksLog())
	p, err := b.PlanReplays(t.Context(), busy, log)
	require.NoError(t, err)
	b.SettleReplays(p)
	require.True(t, b.waiters[1].draw.Replayed)
	code(t, draw.CodeKeyReused, b.waiters[3].err)
	require.False(t, b.IsSettled())
	require.True(t, b.waiters[0].giveUp(), "the others wait, and may be withdrawn")

	p, err = b.PlanReplays(t.Context(), busy, log)
	require.NoError(t, err)
	require.Nil(t, p, "nobody is left whom the log may hold")
	b.fail(busy)
	require.NoError(t, b.waiters[1].err, "it has its answer")
	code(t, draw.CodeContended, b.waiters[2].err)
	require.Equal(t, 1, asked)
	require.Equal(t, int64(9), b.Urn.Remaining())
}

// TestPlanCachedGrantsOnly: a plan from the cached copy has no refusals and no replays.
// If one were needed, there is no plan, and the urn does not change.
func TestPlanCachedGrantsOnly(t *testing.T) {
	cached := func(requests ...draw.Request) *Batch {
		b := batchOf(urnOf(2), requests...)
		for !b.Urn.IsCached() {
			b.Urn.Seen(urn.Snapshot{State: draw.StateOpen, Head: b.Urn.Head})
		}
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
	restock(b.Urn, 2)
	require.Nil(t, b.PlanCached(time.Now()), "somebody else may write to the pool")
}
