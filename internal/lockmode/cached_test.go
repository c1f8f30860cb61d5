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
)

// reads counts two kinds of attempts: those that read the pool first, and those that did
// not. The latter were planned from the cached copy alone, or after only the turns of
// their users were read.
type reads struct {
	lockmode.Store
	reads, cached, resumed atomic.Int64
}

func (s *reads) Resume(ctx context.Context, o stock.TxOptions) (stock.Tx, error) {
	s.resumed.Add(1)
	return s.Store.Resume(ctx, o)
}

func (s *reads) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	s.reads.Add(1)
	return s.Store.Read(ctx, urn, o)
}

func (s *reads) Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error {
	s.cached.Add(1)
	return s.Store.Write(ctx, p, o)
}

// readsFirst is the number of reads before a pool is planned from its cached copy: one
// fills the copy, two find the pool unchanged.
const readsFirst = 3

// known returns a service that already plans the pool from its cached copy.
func known(t *testing.T, a *arena, pool string, edits ...edit) (*service, *reads) {
	t.Helper()
	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, append([]edit{func(s *settings) { s.Store = store }}, edits...)...)
	for i := range readsFirst + 2 {
		_, err := s.Draw(t.Context(), draw.Request{PoolID: pool, UserID: "u", DrawID: "known-" + string(rune('a'+i)), Count: 1})
		require.NoError(t, err)
	}
	require.Equal(t, []int64{readsFirst, 2}, []int64{store.reads.Load(), store.cached.Load()})
	return s, store
}

// testCached: a decision from the cached copy of a pool never contradicts changes of
// the pool since that copy.
func testCached(t *testing.T, a *arena) {
	pool := a.pool(t, readsFirst+4)
	s, store := known(t, a, pool)
	other := a.serve(t, 1)

	foreign, err := other.Draw(t.Context(), named(pool, "foreign"))
	require.NoError(t, err)
	d, err := s.Draw(t.Context(), named(pool, "after"))
	require.NoError(t, err)
	require.Equal(t, foreign.Awards[0].Version+1, d.Awards[0].Version, "picked again, from what the other had left")
	require.Equal(t, int64(readsFirst+1), store.reads.Load())

	_, err = s.Draw(t.Context(), named(pool, "none left"))
	require.Equal(t, draw.CodeSoldOut, draw.CodeOf(err))
	_, err = a.store(0).Stock(t.Context(), draw.Stocking{PoolID: pool, PrizeID: "a", Delta: 10, Reason: "more"}, "test")
	require.NoError(t, err)
	s.Changed(pool)
	for _, id := range []string{"b", "c", "d"} {
		_, err = s.Draw(t.Context(), named(pool, id))
		require.NoError(t, err)
	}
	again, err := s.Draw(t.Context(), named(pool, "after"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, d.Awards[0].Version, again.Awards[0].Version)

	paused := draw.StatePaused
	_, err = a.store(0).ChangePool(t.Context(), pool, draw.PoolChange{State: &paused}, "test")
	require.NoError(t, err)
	_, err = s.Draw(t.Context(), named(pool, "paused"))
	require.Equal(t, draw.CodePoolNotOpen, draw.CodeOf(err))
	require.NoError(t, audited(t, a.store(0), pool))
}

// testCachedFresh: picks are made from the cached copy, and their write is held while
// another draw is committed. They are then not written, even if the mode would have made
// the other draw wait.
func testCachedFresh(t *testing.T, a *arena) {
	pool := a.pool(t, 100)
	stop := newDoor()
	t.Cleanup(stop.release)
	armed := new(atomic.Bool)
	held := stop.then(applied)
	s, _ := known(t, a, pool, applying(func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		if armed.Load() {
			return held(ctx, tx, p)
		}
		return applied(ctx, tx, p)
	}))
	armed.Store(true)
	first := ask(t, s, named(pool, "first"))
	receive(t, stop.arrived)
	if a.mode == lockmode.External && a.lock != nobody {
		stop.release() // with a lock, everybody else would wait
		require.NoError(t, receive(t, stop.written))
		require.NoError(t, receive(t, first).err)
		return
	}
	second := receive(t, ask(t, a.serve(t, 1), named(pool, "second")))
	require.NoError(t, second.err)
	stop.release()
	require.Equal(t, stock.ClassConflict, stock.ClassOf(receive(t, stop.written)))
	answered := receive(t, first)
	require.NoError(t, answered.err)
	require.Equal(t, second.draw.Awards[0].Version+1, answered.draw.Awards[0].Version)
	require.NoError(t, audited(t, a.store(0), pool))
}

// testCachedCounts: under rules that count users, the write shows whether the cached copy
// and the cached turns are current. Before a refusal, a read shows that. If they are
// current, a refusal is as good as after a read of the pool. Otherwise the pool is read,
// and no limit is exceeded.
func testCachedCounts(t *testing.T, a *arena) {
	pool := a.ruled(t, 50, 50, `{"fallback":"none","limits":[{"of":"draws","max":8}]}`)
	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, func(s *settings) { s.Store = store })
	granted := func(s *service, id string) draw.Draw {
		t.Helper()
		d, err := s.Draw(t.Context(), named(pool, id))
		require.NoError(t, err)
		return d
	}
	refused := func(id string) {
		t.Helper()
		_, err := s.Draw(t.Context(), named(pool, id))
		require.Equal(t, draw.CodeLimitReached, draw.CodeOf(err), "%v", err)
	}
	first := granted(s, "first")
	for i := range readsFirst + 1 {
		granted(s, fmt.Sprint("own-", i))
	}
	require.Equal(t, []int64{readsFirst, 2, 0}, []int64{store.reads.Load(), store.cached.Load(), store.resumed.Load()}, "the user's turns are cached")
	granted(a.serve(t, 1), "foreign-1")
	granted(a.serve(t, 2), "foreign-2")
	before := store.reads.Load()
	granted(s, "last")
	require.Equal(t, before+1, store.reads.Load(), "the copy was out of date")
	refused("too many")
	for store.reads.Load() != before { // until the copy is used again
		before = store.reads.Load()
		refused("too many")
	}
	require.True(t, granted(s, "first").Replayed)
	require.Equal(t, first.Awards[0].Version, granted(s, "first").Awards[0].Version, "a known key, though the limit is reached")
	require.Len(t, awardsOf(t, a.store(0), pool), 8)
	lawful(t, a.store(0), pool)
}

// testNewUsers: after batches of new users, the next users are supposed to be new, and
// no turns are read. If a user is not, the write meets the user's turn. Then the turns
// are read, so that no limit is exceeded and no draw is lost.
func testNewUsers(t *testing.T, a *arena) {
	pool := a.ruled(t, 500, 500, `{"fallback":"none","limits":[{"of":"draws","max":2},{"of":"wins","max":1,"per":"day"}]}`)
	by := func(s *service, user, id string) error {
		r := named(pool, id)
		r.UserID = user
		_, err := s.Draw(t.Context(), r)
		return err
	}
	other := a.serve(t, 1)
	for _, user := range []string{"once", "twice", "thrice"} {
		require.NoError(t, by(other, user, "first of "+user))
	}
	require.NoError(t, by(other, "twice", "second of twice"))

	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, func(s *settings) { s.Store = store })
	drawn := 0
	supposes := func() {
		t.Helper()
		for before := store.cached.Load(); store.cached.Load() == before; drawn++ {
			require.Less(t, drawn, 200)
			require.NoError(t, by(s, fmt.Sprint("new-", drawn), fmt.Sprint("new-", drawn)))
		}
	}
	supposes()
	resumed := store.resumed.Load()
	require.NoError(t, by(s, "new too", "new too"))
	require.Equal(t, resumed, store.resumed.Load(), "nothing is read of a new user")

	require.Equal(t, draw.CodeLimitReached, draw.CodeOf(by(s, "twice", "third of twice")))
	require.NoError(t, by(s, "new after", "new after"))
	require.Equal(t, resumed+1, store.resumed.Load(), "the users are read again")
	supposes()
	require.NoError(t, by(s, "once", "second of once"))
	require.Equal(t, draw.CodeLimitReached, draw.CodeOf(by(s, "once", "third of once")))
	supposes()
	require.NoError(t, by(s, "thrice", "first of thrice"), "the key of another instance")
	require.NoError(t, by(s, "thrice", "second of thrice"))

	counts := map[string]int{}
	for _, w := range awardsOf(t, a.store(0), pool) {
		counts[w.UserID]++
	}
	require.Equal(t, []int{2, 2, 2}, []int{counts["once"], counts["twice"], counts["thrice"]})
	lawful(t, a.store(0), pool)
}

// testSeveralWindows: a kind has two windows, and the user has more turns than the
// shorter window counts. Plans from cached turns then refuse exactly the draws that a
// limit refuses. When the user is erased, the limits start again.
func testSeveralWindows(t *testing.T, a *arena) {
	const most, short = 13, 3
	pool := a.ruled(t, 50, 50, fmt.Sprintf(`{"fallback":"none","limits":[{"of":"draws","max":%d,"per":"1s"},{"of":"draws","max":%d,"per":"1000h"},{"of":"wins","max":2,"per":"1s"}]}`, short, most))
	store := &reads{Store: a.store(0)}
	s := a.serve(t, 0, func(s *settings) { s.Store = store })
	tried := 0
	granted := func() *draw.Reached {
		tried++
		_, err := s.Draw(t.Context(), named(pool, fmt.Sprint("draw-", tried)))
		if err == nil {
			return nil
		}
		e, ok := errors.AsType[*draw.Error](err)
		require.True(t, ok)
		require.Equal(t, draw.CodeLimitReached, e.Code, "%v", err)
		return e.Reached
	}
	for drawn := 0; drawn < most; {
		reached := granted()
		if reached == nil {
			drawn++
			continue
		}
		require.Equal(t, int64(short), reached.Limit.Max)
		all := awardsOf(t, a.store(0), pool)
		require.Len(t, all, drawn)
		require.Equal(t, all[drawn-short].At.Add(time.Second+draw.TimeStep).UTC(), reached.RetryAt.UTC(), "the draw that must leave the window")
		time.Sleep(reached.RetryAt.Sub(a.store(0).Now()))
	}
	require.Equal(t, int64(most), granted().Limit.Max)
	require.GreaterOrEqual(t, store.cached.Load(), int64(most-2*readsFirst), "most draws are planned from cached turns")

	n, err := a.store(1).EraseUser(t.Context(), pool, "u", stock.Pseudonym([]byte("key"), pool, "u"), "cleo")
	require.NoError(t, err)
	require.Equal(t, int64(most), n)
	require.Nil(t, granted())
	lawful(t, a.store(0), pool)
}
