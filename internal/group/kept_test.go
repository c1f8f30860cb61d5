package group

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
)

// TestQueuesAreBounded: queues of pools without further draws are dropped, the least
// recently used first. Such a pool is read again when it is used.
func TestQueuesAreBounded(t *testing.T) {
	l := newLedger(poolOf("p", 10), poolOf("q", 10), poolOf("new", 10))
	b, _ := newTestBatcher(t, l, Limits{})
	on := func(poolID, id string) draw.Draw {
		r := named(id)
		r.PoolID = poolID
		d, err := b.Draw(t.Context(), r)
		require.NoError(t, err)
		return d
	}
	on("p", "a")
	on("q", "a")
	b.mu.Lock()
	for i := range queuesMax - 2 {
		idle := newQueue(b, fmt.Sprint(i))
		idle.lastUsed = time.Now().Add(-time.Hour)
		b.queues[fmt.Sprint(i)] = idle
	}
	q := b.queues["p"]
	b.mu.Unlock()
	require.Eventually(t, func() bool { q.mu.Lock(); defer q.mu.Unlock(); return !q.working }, patience, time.Millisecond)
	q.lastUsed = time.Now().Add(-2 * time.Hour)

	on("new", "a")
	require.Len(t, b.queues, queuesMax/2+1)
	require.Contains(t, b.queues, "q", "was used last")
	require.NotContains(t, b.queues, "p", "was used first")
	require.Equal(t, int64(3), on("p", "b").Awards[0].Version)
	require.True(t, on("p", "a").Replayed)

	b.mu.Lock() // few pools of very many prizes are also too much
	b.prizesMax = 8
	for i := range 9 {
		large := newQueue(b, fmt.Sprint("large", i))
		restock(large.batch.Urn, 1)
		large.count()
		b.queues[fmt.Sprint("large", i)] = large
	}
	b.mu.Unlock()
	l.mu.Lock()
	newer := poolOf("newer", 1)
	newer.State = draw.StateOpen
	l.pools["newer"] = &newer
	l.mu.Unlock()
	on("newer", "a")
	require.NotContains(t, b.queues, "large0")
}

// TestUnknownPoolsLookAtNoOther: the cost of a draw from a pool that does not exist does
// not depend on the number of cached pools. Here one cached pool is locked permanently,
// and the draw is still refused.
func TestUnknownPoolsLookAtNoOther(t *testing.T) {
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 10)), Limits{})
	_, err := b.Draw(t.Context(), named("a"))
	require.NoError(t, err)
	b.mu.Lock()
	held := newQueue(b, "held")
	b.queues["held"] = held
	b.mu.Unlock()
	held.mu.Lock()
	defer held.mu.Unlock()

	refused := named("b")
	refused.PoolID = "absent"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answers := ask(ctx, b, refused)
	select {
	case a := <-answers:
		require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(a.err))
	case <-ctx.Done():
		t.Fatal("the draw waits for a pool that it does not concern")
	}
	require.Eventually(t, func() bool {
		b.mu.RLock()
		defer b.mu.RUnlock()
		return b.queues["absent"] == nil && b.prizes.Load() == 1 // the only prize of p, counted after its draw was answered
	}, patience, time.Millisecond)
}

// remembering returns an idle queue whose copy of the pool has turns of users cached.
func remembering(t *testing.T, b *Batcher, poolID string, users int) *queue {
	t.Helper()
	q := newQueue(b, poolID)
	u := q.batch.Urn
	restock(u, int64(users))
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Head, Rules: drawtest.Rules(t, `{"limits":[{"of":"draws","max":1}]}`)})
	var asks []*urn.Ask
	for i := range users {
		r := named(fmt.Sprint(i))
		r.PoolID, r.UserID = poolID, fmt.Sprint("u", i)
		asks = append(asks, &urn.Ask{Request: r})
	}
	u.PlanWith(asks, urn.NewFacts(u.Needs(asks)), time.Now()).Settle()
	require.Equal(t, users, u.CachedTurns())
	q.countTurns()
	b.queues[poolID] = q
	return q
}

// TestTurnsAreBounded: if too many turns are cached, idle queues drop theirs first. A
// queue that works keeps its own, unless these alone are too many.
func TestTurnsAreBounded(t *testing.T) {
	b, _ := newTestBatcher(t, newLedger(poolOf("p", 10)), Limits{})
	b.turnsMax = 8
	idle, busy, worker := remembering(t, b, "idle", 4), remembering(t, b, "busy", 2), remembering(t, b, "worker", 2)
	busy.working, worker.working = true, true
	cached := func() [3]int {
		return [3]int{idle.batch.Urn.CachedTurns(), busy.batch.Urn.CachedTurns(), worker.batch.Urn.CachedTurns()}
	}
	b.boundTurns(worker)
	require.Equal(t, [3]int{4, 2, 2}, cached())
	b.turnsMax = 7
	b.boundTurns(worker)
	require.Equal(t, [3]int{0, 2, 2}, cached())
	require.EqualValues(t, 4, b.turns.Load())
	b.turnsMax = 3
	b.boundTurns(worker)
	require.Equal(t, [3]int{0, 2, 0}, cached())
	b.drop(busy)
	require.Zero(t, b.turns.Load())
}
