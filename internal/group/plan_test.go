package group

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// batchOf is a batch of requests that wait on an urn at version 10.
func batchOf(u *urn.Urn, requests ...draw.Request) *Batch {
	q := newQueue(NewBatcher(nil, &watcher{}, Limits{BatchMax: 9, QueueMax: 9, Timeout: patience}), u.PoolID)
	u.Version = 10 // its mark is one that no write has
	q.batch.Urn = u
	var waiters []*waiter
	for _, r := range requests {
		waiters = append(waiters, &waiter{Ask: urn.Ask{Request: r}, since: time.Now(), queue: q, done: make(chan struct{})})
	}
	q.batch.fill(waiters)
	return q.batch
}

func planOf(t *testing.T, b *Batch, known map[string]draw.Draw) *urn.Plan {
	t.Helper()
	p, err := plan(t, b, lookUp(func([]string) (map[string]draw.Draw, error) { return known, nil }))
	require.NoError(t, err)
	return p
}

// plan plans a batch, and then reads the log as a write does.
func plan(t *testing.T, b *Batch, log Log) (*urn.Plan, error) {
	p, err := b.Plan(t.Context(), time.Now(), log, false)
	if err != nil {
		return nil, err
	}
	return p, learn(t.Context(), p, log)
}

// learn is the part of a write that reads the log.
func learn(ctx context.Context, p *urn.Plan, log Log) error {
	names := p.Unasked()
	if len(names) == 0 {
		return nil
	}
	known, err := log.Draws(ctx, p.PoolID, names)
	p.Learn(known)
	return err
}

// lookUp is a log that finds draws.
type lookUp func(ids []string) (map[string]draw.Draw, error)

// Draws implements Log.
func (l lookUp) Draws(_ context.Context, _ string, ids []string) (map[string]draw.Draw, error) {
	return l(ids)
}

// noTurns is a log that finds draws, but whose turns cannot be read.
type noTurns struct{ lookUp }

// Turns implements Log.
func (noTurns) Turns(context.Context, *urn.Urn, []urn.Need) (*urn.Facts, error) {
	return nil, errors.New("no turns")
}

// Turns implements Log: the tests' pools have no rules.
func (l lookUp) Turns(context.Context, *urn.Urn, []urn.Need) (*urn.Facts, error) {
	return urn.NewFacts(nil), nil
}

// urnOf is the cached copy of an open pool at version 10, whose prizes p0, p1 …
// hold the given units.
func urnOf(stock ...int64) *urn.Urn {
	u := urn.NewUrn("p")
	restock(u, stock...)
	return u
}

// restock makes the urn read the pool again: at the next version, with the given units.
func restock(u *urn.Urn, stock ...int64) {
	head := u.Head.Next(1)
	if u.Version == 0 {
		head = draw.NewHead().Next(10)
	}
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: head, Prizes: poolOf("p", stock...).Prizes})
}

// emptied makes the urn read the pool again, with one unit, which is issued.
func emptied(u *urn.Urn) {
	prizes := poolOf("p", 1).Prizes
	prizes[0].Issued = 1
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Next(1), Prizes: prizes})
}

func wanting(r draw.Request, count int) draw.Request { r.Count = count; return r }

func by(r draw.Request, user string) draw.Request { r.UserID = user; return r }

// TestPlanRepeats: a key that occurs twice in one batch makes one draw, and only one of
// the two answers says that the draw is new.
func TestPlanRepeats(t *testing.T) {
	for name, lost := range map[string]bool{"answered": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			two := wanting(named("a"), 2)
			b := batchOf(urnOf(10), two, two, by(two, "other"), wanting(two, 3), two, named("b"))
			p := planOf(t, b, nil)
			require.Len(t, p.Awards, 3)
			if lost { // it was written, as the next lookup in the log shows
				b.InDoubt(p)
				require.True(t, b.IsInDoubt())
				p = planOf(t, b, map[string]draw.Draw{
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
			code(t, draw.CodeKeyReused, b.waiters[2].err)
			code(t, draw.CodeKeyReused, b.waiters[3].err)
			require.False(t, b.waiters[5].draw.Replayed)
		})
	}
}

// TestPlanDoubtsOnlyItsOwn: a draw of an earlier batch or of another service is a replay,
// even if the batch is in doubt about its own attempt with the same key.
func TestPlanDoubtsOnlyItsOwn(t *testing.T) {
	b := batchOf(urnOf(10), named("a"), named("b"))
	p := planOf(t, b, nil)
	mine, other := p.Awards[0], p.Awards[1]
	other.At = other.At.Add(-time.Second)
	b.InDoubt(p)
	b.InDoubt(planOf(t, b, nil)) // the first attempt becomes visible only now
	b.Settle(planOf(t, b, map[string]draw.Draw{
		"a": {ID: "a", UserID: "u", Awards: []draw.Award{mine}}, "b": {ID: "b", UserID: "u", Awards: []draw.Award{other}},
	}))
	require.False(t, b.waiters[0].draw.Replayed)
	require.True(t, b.waiters[1].draw.Replayed)
}

// TestPlanLooksUpOnlyWhatItMust: a caller's key is looked up before it is refused, and
// after a write has met a known key. Otherwise it is never looked up.
func TestPlanLooksUpOnlyWhatItMust(t *testing.T) {
	known := map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old", Version: 3}}}}
	var asked []string
	log := lookUp(func(ids []string) (map[string]draw.Draw, error) {
		asked = append(asked, ids...)
		return known, nil
	})
	unnamed := draw.Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}
	settled := func(b *Batch) {
		asked = nil
		p, err := plan(t, b, log)
		require.NoError(t, err)
		b.Settle(p)
	}

	settled(batchOf(urnOf(9), named("new"), unnamed))
	require.Empty(t, asked, "a usual draw pays nothing")

	settled(batchOf(urnOf(0), unnamed, unnamed))
	require.Empty(t, asked, "a name that the service made is new")

	b := batchOf(urnOf(1), unnamed, named("old"), named("new"))
	settled(b)
	require.Equal(t, []string{"new", "old"}, asked)
	require.Equal(t, "made", b.waiters[0].draw.ID)
	require.True(t, b.waiters[1].draw.Replayed)
	code(t, draw.CodeSoldOut, b.waiters[2].err)

	b = batchOf(urnOf(9), named("old"), by(named("old"), "other"), wanting(named("old"), 2), unnamed)
	b.KnownKey()
	settled(b)
	require.Equal(t, []string{"old"}, asked, "each name once, however often it is in the batch")
	require.Equal(t, int64(3), b.waiters[0].draw.Awards[0].Version)
	code(t, draw.CodeKeyReused, b.waiters[1].err)
	code(t, draw.CodeKeyReused, b.waiters[2].err)
	require.Len(t, b.waiters[3].draw.Awards, 1)

	b = batchOf(urnOf(9), unnamed)
	b.InDoubt(planOf(t, b, nil))
	settled(b)
	require.Equal(t, []string{"made"}, asked, "in doubt every name is looked up")
}

// TestPlanFailsWhole: if a lookup in the log fails, the urn still has all its units.
func TestPlanFailsWhole(t *testing.T) {
	b := batchOf(urnOf(2), wanting(named("a"), 2), named("b"))
	b.KnownKey()
	broken := errors.New("no log")
	_, err := b.Plan(t.Context(), time.Now(), lookUp(func([]string) (map[string]draw.Draw, error) { return nil, broken }), false)
	require.ErrorIs(t, err, broken)
	require.Equal(t, int64(2), b.Urn.Remaining())
	require.Len(t, planOf(t, b, nil).Awards, 2)
}

// TestDoubtSettledByReplays: draws in doubt count as settled when they are answered, once
// each.
func TestDoubtSettledByReplays(t *testing.T) {
	for _, left := range []bool{false, true} {
		requests := []draw.Request{named("a")}
		if left {
			requests = append(requests, named("b"))
		}
		b := batchOf(urnOf(10), requests...)
		p := planOf(t, b, nil)
		b.InDoubt(p)
		log := lookUp(func([]string) (map[string]draw.Draw, error) {
			return map[string]draw.Draw{"a": {ID: "a", UserID: "u", Awards: p.Awards[:1]}}, nil
		})
		replays, err := b.PlanReplays(t.Context(), errors.New("later"), log)
		require.NoError(t, err)
		b.SettleReplays(replays)
		seen := b.queue.batcher.observer.(*watcher)
		require.Equal(t, 1, seen.settled)
		require.Equal(t, !left, b.IsSettled())
		require.NoError(t, b.waiters[0].err)
		if left {
			b.Settle(planOf(t, b, nil))
			require.Equal(t, 2, seen.settled)
		}
	}
}

// TestRefusalOfADrawThatMayLand: a write in doubt may still be committed while the pool
// is at the version that it expects. Meanwhile, no refusal says that nothing was drawn.
// At a later version the write cannot be committed any more, and a refusal is final. A
// refusal of a draw that was not in doubt is always final.
func TestRefusalOfADrawThatMayLand(t *testing.T) {
	for name, moved := range map[string]bool{"the head is the same": false, "another change was committed": true} {
		t.Run(name, func(t *testing.T) {
			b := batchOf(urnOf(1), named("a"), named("b"))
			b.Urn.DueAt = time.Now().Add(time.Hour)
			p := planOf(t, b, nil)
			require.NoError(t, p.Err(0))
			code(t, draw.CodeSoldOut, p.Err(1))
			b.InDoubt(p)

			if moved {
				restock(b.Urn, 1)
				b.Urn.DueAt = time.Now().Add(time.Hour)
			}
			b.Urn.ClockLeapt = draw.Errorf(draw.CodeClockLeapt, "it has")
			b.Settle(planOf(t, b, nil))
			code(t, draw.CodeClockLeapt, b.waiters[1].err)
			seen := b.queue.batcher.observer.(*watcher)
			if moved {
				code(t, draw.CodeClockLeapt, b.waiters[0].err)
				require.Equal(t, 2, seen.settled)
				return
			}
			code(t, draw.CodeOutcomeUnknown, b.waiters[0].err)
			require.ErrorContains(t, b.waiters[0].err, `"a"`)
			require.Equal(t, 1, seen.settled, "what is unknown is not settled")
		})
	}
}
