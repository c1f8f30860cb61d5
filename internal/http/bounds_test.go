package http

import (
	"context"
	"errors"
	nethttp "net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/packed"
)

// checksOf returns the number of checks that are made when many callers ask at once.
func checksOf(t *testing.T, ask func(check func(context.Context) error) func(context.Context) error) (made int64) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var checks atomic.Int64
		letGo := make(chan struct{})
		asked := ask(func(context.Context) error {
			checks.Add(1)
			<-letGo
			return nil
		})
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { _ = asked(t.Context()) })
		}
		synctest.Wait() // by now every caller that would check concurrently is checking
		close(letGo)
		all.Wait()
		made = checks.Load()
	})
	return made
}

// TestReadinessIsCheckedOnce: the result of one check is the answer to all callers that
// ask meanwhile, or within a second after it. The broken double checks the database for
// each caller.
func TestReadinessIsCheckedOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, int64(1), checksOf(t, func(check func(context.Context) error) func(context.Context) error {
		return newReadiness(check).ask
	}))
	require.Greater(t, checksOf(t, func(check func(context.Context) error) func(context.Context) error { return check }), int64(1))
}

// TestReadinessOutlivesItsCaller: the check continues for the other callers that wait
// for it, and its result is not used after a second.
func TestReadinessOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, readinessOutlivesItsCaller)
}

func readinessOutlivesItsCaller(t *testing.T) {
	down := errors.New("down")
	var result error
	checks := 0
	r := newReadiness(func(ctx context.Context) error {
		checks++
		_, bounded := ctx.Deadline()
		require.True(t, bounded)
		return errors.Join(ctx.Err(), result)
	})
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_ = r.ask(canceled) // this caller may leave before the check begins
	require.NoError(t, r.ask(t.Context()))
	result = down
	require.NoError(t, r.ask(t.Context()), "of the last second")
	time.Sleep(readyFor)
	require.ErrorIs(t, r.ask(t.Context()), down)
	require.ErrorIs(t, r.ask(t.Context()), down, "a failure is kept as well")
	require.Equal(t, 2, checks)
	require.NoError(t, r.turn.Acquire(t.Context(), 1))
	require.ErrorIs(t, r.ask(canceled), context.Canceled)
}

// TestPoolIsShownFromMemory: one read of the database serves all callers within a
// second, and callers that already have the answer get 304.
func TestPoolIsShownFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, poolIsShownFromMemory) // so that the time does not depend on the machine
}

func poolIsShownFromMemory(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	first := do(s, request("GET", "/pools/spring", ""))
	tag := first.Header().Get("ETag")
	require.Regexp(t, `^"[0-9a-f]{24}"$`, tag)
	require.Equal(t, "application/json", first.Header().Get("Content-Type"))
	require.NotContains(t, first.Body.String(), "stock", "no counts")
	for range 20 {
		again := do(s, request("GET", "/pools/spring", ""))
		require.Equal(t, first.Body.String(), again.Body.String())
		require.Equal(t, tag, again.Header().Get("ETag"))
	}
	require.Len(t, f.asked, 1, "the database was asked once")
	for value, status := range map[string]int{tag: 304, `"x", W/` + tag: 304, "*": 304, `"x"`: 200, "": 200, strings.Trim(tag, `"`): 200} {
		w := do(s, request("GET", "/pools/spring", "", "If-None-Match", value))
		require.Equal(t, status, w.Code, value)
		require.Equal(t, tag, w.Header().Get("ETag"))
		require.Equal(t, status == 304, w.Body.Len() == 0)
	}
	require.Len(t, f.asked, 1)

	require.Equal(t, 200, do(s, asAdmin("PATCH", "/admin/pools/spring", `{"state":"paused"}`)).Code)
	do(s, request("GET", "/pools/spring", ""))
	require.Len(t, f.asked, 3, "what this instance has changed is read at once")
	time.Sleep(packed.KeptFor)
	do(s, request("GET", "/pools/spring", ""))
	require.Len(t, f.asked, 4, "and what another may have changed, after a second")
}

// blocking is a store whose audits and logs wait until they are released.
type blocking struct {
	fakeStore
	begun chan struct{}
	letGo chan struct{}
}

func (b blocking) Audit(ctx context.Context, id string) (draw.Audit, error) {
	b.begun <- struct{}{}
	<-b.letGo
	return b.fakeStore.Audit(ctx, id)
}

func (b blocking) Awards(ctx context.Context, id string, after int64, limit int) ([]draw.Award, error) {
	if limit == api.PageMax { // the page size of a stream
		b.begun <- struct{}{}
		<-b.letGo
	}
	return b.fakeStore.Awards(ctx, id, after, limit)
}

// TestStreamsAreBounded: audits and exports beyond the bound are refused, and other
// calls continue.
func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	b := blocking{fakeStore{f}, make(chan struct{}), make(chan struct{})}
	s := newServer(t, f, func(c *Config) { c.Store = b })
	streamsMax := int(s.bounds.Streams.Limit(gate.RankAdmin))
	codes := make(chan int, streamsMax)
	audit, export := asAdmin("GET", "/admin/pools/p/audit", ""), asAdmin("GET", "/admin/pools/p/awards", "", "Accept", "text/csv")
	for _, r := range []*nethttp.Request{audit, export, audit.Clone(t.Context()), export.Clone(t.Context())} {
		go func() { codes <- do(s, r).Code }()
		<-b.begun
	}
	for path, accept := range map[string]string{
		"/admin/pools/p/audit": "", "/admin/pools/p/awards": "text/csv", "/admin/pools/p/moves": "text/csv",
		"/admin/pools/p/log": "application/x-ndjson", "/admin/pools/p/statements": "text/csv",
	} {
		w := do(s, asAdmin("GET", path, "", "Accept", accept))
		require.Equal(t, "overloaded", problemIn(t, w.Result()).Code, path)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
	}
	for _, r := range []*nethttp.Request{
		asAdmin("PATCH", "/admin/pools/p", `{"state":"paused"}`), asAdmin("GET", "/admin/pools/p", ""), asAdmin("GET", "/admin/pools/p/awards", ""),
		asAdmin("GET", "/admin/pools/p/log", ""), request("GET", "/readyz", ""), request("GET", "/pools/p", ""), request("POST", "/draw", `{"pool":"p","user":"u"}`),
	} {
		require.Equal(t, 200, do(s, r).Code, r.URL)
	}
	close(b.letGo)
	for range streamsMax {
		require.Equal(t, 200, <-codes)
	}
	go func() { <-b.begun }()
	require.Equal(t, 200, do(s, asAdmin("GET", "/admin/pools/p/audit", "")).Code, "there is room again")
}

// TestLongAnswersAreBounded: while answers use up the memory, further long answers are
// refused; a change is still answered.
func TestLongAnswersAreBounded(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for i := range 1000 {
		a := award(strings.Repeat("d", 100), "u")
		a.Version = int64(i) + 1
		f.awards = append(f.awards, a)
	}
	s := newServer(t, f)
	long := func() int { return do(s, asAdmin("GET", "/admin/pools/p/awards?limit=1000", "")).Code }
	require.Equal(t, 200, long())
	done, ok := s.bounds.Answers.Try(gate.RankAdmin, 1<<40)
	require.True(t, ok, "the longest goes alone")
	require.Equal(t, 503, long())
	require.Equal(t, 200, do(s, asAdmin("GET", "/admin/pools/p/awards?limit=10", "")).Code, "short ones need no room")
	require.Equal(t, 200, do(s, asAdmin("PATCH", "/admin/pools/p", `{"state":"paused"}`)).Code)
	done()
	require.Equal(t, 200, long())
	done, ok = s.bounds.Answers.Try(gate.RankStock, 1<<40)
	require.True(t, ok)
	require.Equal(t, 200, long(), "what a lower rank is sent leaves room for the admin")
	done()
}

// TestNoCallTakesTwoPlaces: with one place for reads and one for changes, each call is
// answered. A call that needed a second place while it holds the first would deadlock
// with others like it.
func TestNoCallTakesTwoPlaces(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{awards: manyAwards(3)})
	one := [gate.Ranks]int64{1, 1, 1, 1}
	s.bounds.Reads, s.bounds.Changes = gate.NewShares(one), gate.NewShares(one)
	s.RequestTimeout = 300 * time.Millisecond
	all := calls()
	for _, query := range []string{"?user=u1", "?draw=d", "?prize=gold"} {
		all = append(all, example{roleAuditor, "GET", "/admin/pools/p/awards" + query, ""})
	}
	for _, e := range all {
		if e.target == eventsPath {
			continue // its answer does not end
		}
		w := do(s, e.request("Authorization", "Bearer "+adminToken))
		require.NotEqual(t, nethttp.StatusServiceUnavailable, w.Code, "%s %s", e.method, e.target)
	}
	done, err := s.bounds.Reads.Wait(t.Context(), gate.RankDraw)
	require.NoError(t, err, "each place was given back")
	done()
}

// TestEveryChangeHasABound: without a free place, no call changes anything. Draws are
// left out, because the queues of the batcher bound them.
func TestEveryChangeHasABound(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	none := [gate.Ranks]int64{}
	s.bounds.Changes, s.bounds.LongChanges, s.bounds.Imports, s.bounds.Claims = gate.NewShares(none), gate.NewShares(none), gate.NewShares(none), gate.NewShares(none)
	s.bounds.Streams = gate.NewShares(none)
	s.RequestTimeout = 50 * time.Millisecond
	changes := 0
	for _, e := range calls() {
		if e.method == nethttp.MethodGet || e.target == drawPath || strings.HasSuffix(e.target, "/draws") || e.target == "/admin/pools/p/simulation?draws=10" {
			continue
		}
		p := problemIn(t, do(s, e.request("Authorization", "Bearer "+adminToken)).Result())
		require.Equal(t, string(draw.CodeOverloaded), p.Code, "%s %s: %s", e.method, e.target, p.Detail)
		require.Nil(t, f.last(), "%s %s did something", e.method, e.target)
		changes++
	}
	require.Greater(t, changes, 20)
}

// TestLongChangesLeaveRoom: short changes do not wait for long ones.
func TestLongChangesLeaveRoom(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	s.RequestTimeout = 300 * time.Millisecond
	for range 2 {
		_, err := s.bounds.LongChanges.Wait(t.Context(), gate.RankAdmin)
		require.NoError(t, err)
	}
	long := asAdmin("POST", "/admin/pools/p/skip", `{"to":9}`)
	require.Equal(t, string(draw.CodeOverloaded), problemIn(t, do(s, long).Result()).Code)
	require.Equal(t, nethttp.StatusOK, do(s, asAdmin("PATCH", "/admin/pools/p", `{"state":"paused"}`)).Code)
	require.Equal(t, nethttp.StatusNoContent, do(s, asAdmin("DELETE", "/admin/pools/p", "")).Code)
}
