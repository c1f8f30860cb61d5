package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// rankedRoles returns the ranks with a role of each.
func rankedRoles() map[gate.Rank]role {
	return map[gate.Rank]role{gate.RankDraw: roleDraw, gate.RankAuditor: roleAuditor, gate.RankStock: roleStock, gate.RankAdmin: roleAdmin}
}

// ofEveryRole sets a token of each role; its text is the name of the role.
func ofEveryRole(c *Config) {
	tokens := []access.Token{adminEntry()}
	for _, of := range []role{roleDraw, roleMetrics, roleAuditor, roleStock, roleAdmin} {
		tokens = append(tokens, access.Token{Name: string(of), Role: of, Digest: access.DigestOf(string(of))})
	}
	c.Tokens, c.PublicDraw = keep(tokens...), false
}

// useUp takes everything that a rank can have of every bound.
func useUp(b *gate.Bounds, of gate.Rank) (giveBack func()) {
	var all []func()
	if b.Importing[of].TryAcquire(1) {
		all = append(all, func() { b.Importing[of].Release(1) })
	}
	if held, done, ok := b.Simulation.Take(context.Background(), of, errors.New("outranked")); ok {
		leave := sync.OnceFunc(done)
		context.AfterFunc(held, leave)
		all = append(all, leave)
	}
	for _, s := range []*gate.Shares{b.Reads, b.Changes, b.Claims, b.Streams, b.Listeners, b.Imports, b.Answers, b.PublicLogs, b.Proofs} {
		n := int64(1)
		if s == b.Answers {
			n = answerShort
		}
		for done, ok := s.Try(of, n); ok && s.Limit(of) > 0; done, ok = s.Try(of, n) {
			all = append(all, done)
		}
	}
	return func() {
		for _, done := range all {
			done()
		}
	}
}

// judgeFloods returns an error if a call of a higher role is refused or not answered in
// time while a lower role uses up everything that it can.
func judgeFloods(t *testing.T, s *Server, patience time.Duration) error {
	allowed := gate.Allowed()
	for of := gate.RankDraw; of < gate.RankAdmin; of++ {
		giveBack := useUp(&s.bounds, of)
		for above := of + 1; above < gate.Ranks; above++ {
			for _, call := range calls() {
				higher := rankedRoles()[above]
				// The stream of events does not end. Pages of fairness have the lowest
				// rank, even if a token is sent.
				if call.target == eventsPath || strings.HasPrefix(call.target, "/fair/") || call.need != roleNone && !slices.Contains(allowed[higher], call.need) {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				r := call.request("Authorization", "Bearer "+string(higher)).WithContext(ctx)
				if status := do(s, r).Code; status >= 400 {
					giveBack()
					cancel()
					return fmt.Errorf("%s %s of role %s is answered %d while rank %d uses up its own", call.method, call.target, higher, status, of)
				}
				cancel()
			}
		}
		giveBack()
	}
	return nil
}

// TestNoFloodOfALowerRole: no role can use up resources that a call of a higher role
// needs. The broken double has bounds that all roles share.
func TestNoFloodOfALowerRole(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, ofEveryRole)
	require.NoError(t, judgeFloods(t, s, 20*time.Second))

	for name, spoil := range map[string]func(b *gate.Bounds){
		"imports": func(b *gate.Bounds) { b.Imports = gate.NewShares([gate.Ranks]int64{1, 1, 1, 1}) },
		"files": func(b *gate.Bounds) {
			for of := range b.Importing {
				b.Importing[of] = b.Importing[gate.RankAdmin]
			}
		},
		"proofs": func(b *gate.Bounds) { b.Proofs = gate.NewShares([gate.Ranks]int64{1, 1, 1, 1}) },
		"logs":   func(b *gate.Bounds) { b.PublicLogs = gate.NewShares([gate.Ranks]int64{8, 8, 8, 8}) },
		"audits": func(b *gate.Bounds) { b.Streams = gate.NewShares([gate.Ranks]int64{2, 2, 2, 2}) },
	} {
		double := newServer(t, &fake{}, ofEveryRole)
		spoil(&double.bounds)
		require.Error(t, judgeFloods(t, double, time.Second), name)
	}
}

// placesOfAnyone takes all places of the database that callers without a token get, and
// returns their number.
func placesOfAnyone(t *testing.T, s *Server) (taken int) {
	c := call{server: s, route: &route{method: nethttp.MethodGet}, caller: &access.Token{}}
	for {
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		done, err := c.placeOfAnyone(short)
		cancel()
		if err != nil {
			return taken
		}
		t.Cleanup(done)
		taken++
	}
}

// TestPublicPagesLeavePlayersTheirPlaces: while callers without a token read as much as
// they can, players can still read. The broken double has no separate bound for callers
// without a token.
func TestPublicPagesLeavePlayersTheirPlaces(t *testing.T) {
	t.Parallel()
	read := func(s *Server) int {
		require.Positive(t, placesOfAnyone(t, s))
		within := func(target string, limit time.Duration) *httptest.ResponseRecorder {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			return do(s, request("GET", target, "").WithContext(ctx))
		}
		require.Equal(t, "overloaded", problemIn(t, within("/fair/p", 10*time.Millisecond).Result()).Code)
		return within("/pools/p", time.Second).Code
	}
	require.Equal(t, 200, read(newServer(t, &fake{})))
	double := newServer(t, &fake{})
	double.bounds.Public = semaphore.NewWeighted(1000)
	require.Equal(t, 503, read(double))
}

// TestReadsWaitForTheirTurn: while all places of a rank are taken, a caller waits. It
// is answered when a place is free, or refused at its request timeout.
func TestReadsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	for _, target := range []string{"/pools/p", "/pools/p/odds", "/pools/p/draws/d", "/pools/p/draws/d/receipt", "/pools/p/proof/log", "/pools/p/proof/key", "/fair/p"} {
		giveBack := useUp(&s.bounds, gate.RankDraw)
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond) // the wait for the place begins after other work
		w := do(s, request("GET", target, "").WithContext(short))
		require.Equal(t, "overloaded", problemIn(t, w.Result()).Code, target)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		cancel()
		status := make(chan int)
		go func() { status <- do(s, request("GET", target, "")).Code }()
		giveBack()
		require.Equal(t, 200, <-status, target)
	}
}

// TestTokensRankOnOpenCalls: on calls that anyone may make, a valid token has the
// bounds of its role. The broken double reads no token there, so the call waits with
// all others.
func TestTokensRankOnOpenCalls(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	giveBack := useUp(&s.bounds, gate.RankDraw)
	defer giveBack()
	read := func(r *nethttp.Request) int {
		short, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		return do(s, r.WithContext(short)).Code
	}
	require.Equal(t, 503, read(request("GET", "/pools/p", "")))
	require.Equal(t, 503, read(request("GET", "/pools/p", "", "Authorization", "Bearer nonsense")))
	require.Equal(t, 200, read(asAdmin("GET", "/pools/p", "")))
}

// TestOddsAreShownFromMemory: one reading serves all callers within a second, also if
// the pool publishes no odds.
func TestOddsAreShownFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, oddsAreShownFromMemory) // so that the time does not depend on the machine
}

func oddsAreShownFromMemory(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	first := do(s, request("GET", "/pools/spring/odds", ""))
	for range 20 {
		again := do(s, request("GET", "/pools/spring/odds", ""))
		require.Equal(t, first.Body.String(), again.Body.String())
	}
	require.Len(t, f.asked, 1, "the database was asked once")
	require.Equal(t, 304, do(s, request("GET", "/pools/spring/odds", "", "If-None-Match", first.Header().Get("ETag"))).Code)
	require.Equal(t, 200, do(s, asAdmin("PATCH", "/admin/pools/spring", `{"state":"paused"}`)).Code)
	do(s, request("GET", "/pools/spring/odds", ""))
	require.Len(t, f.asked, 3, "what this instance has changed is read at once")

	f = &fake{rules: &draw.Rules{}}
	s = newServer(t, f)
	for range 20 {
		require.Equal(t, "not-found", problemIn(t, do(s, request("GET", "/pools/none/odds", "")).Result()).Code)
	}
	require.Len(t, f.asked, 1)
}

// TestCallsOfAnyoneWriteNoLine: callers without a token cannot fill the disk with log
// lines.
func TestCallsOfAnyoneWriteNoLine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := newServer(t, &fake{}, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, call := range calls() {
		if call.need == roleNone {
			require.Equal(t, nethttp.StatusOK, do(s, call.request()).Code)
		}
	}
	require.Empty(t, log.String())
	do(s, asAdmin("GET", "/admin/pools", ""))
	require.NotEmpty(t, log.String(), "other calls write theirs")
}
