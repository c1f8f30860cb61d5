package http

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// rankedRoles are the ranks and a role of each.
func rankedRoles() map[gate.Rank]role {
	return map[gate.Rank]role{gate.RankDraw: roleDraw, gate.RankAuditor: roleAuditor, gate.RankStock: roleStock, gate.RankAdmin: roleAdmin}
}

// ofEveryRole are tokens whose text is the name of their role.
func ofEveryRole(c *Config) {
	tokens := []access.Token{adminEntry()}
	for _, of := range []role{roleDraw, roleMetrics, roleAuditor, roleStock, roleAdmin} {
		tokens = append(tokens, access.Token{Name: string(of), Role: of, Digest: access.DigestOf(string(of))})
	}
	c.Tokens, c.PublicDraw = keep(tokens...), false
}

// useUp takes all that a rank can have of every bound.
func useUp(b *gate.Bounds, of gate.Rank) (giveBack func()) {
	var all []func()
	for _, s := range []*gate.Shares{b.Reads, b.Changes, b.Streams, b.Listeners, b.Simulations, b.Imports, b.Answers} {
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

// judgeFloods says which call of a higher role is refused while a lower one uses up
// all that it can.
func judgeFloods(t *testing.T, s *Server) error {
	allowed := gate.Allowed()
	for of := gate.RankDraw; of < gate.RankAdmin; of++ {
		giveBack := useUp(&s.bounds, of)
		for above := of + 1; above < gate.Ranks; above++ {
			for _, call := range calls() {
				higher := rankedRoles()[above]
				if call.target == eventsPath || call.need != roleNone && !slices.Contains(allowed[higher], call.need) {
					continue
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
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

// TestNoFloodOfALowerRole uses up what a call of a higher one needs. The double has
// bounds that all roles share, as they were.
func TestNoFloodOfALowerRole(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, ofEveryRole)
	require.NoError(t, judgeFloods(t, s))

	for name, spoil := range map[string]func(b *gate.Bounds){
		"imports": func(b *gate.Bounds) { b.Imports = gate.NewShares([gate.Ranks]int64{1, 1, 1, 1}) },
		"audits":  func(b *gate.Bounds) { b.Streams = gate.NewShares([gate.Ranks]int64{2, 2, 2, 2}) },
	} {
		double := newServer(t, &fake{}, ofEveryRole)
		spoil(&double.bounds)
		require.Error(t, judgeFloods(t, double), name)
	}
}

// TestReadsWaitForTheirTurn: who comes while all places of a rank are taken is
// answered when one is free, and refused when the time of the request is over.
func TestReadsWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{})
	for _, target := range []string{"/pools/p", "/pools/p/odds", "/pools/p/draws/d", "/pools/p/draws/d/receipt", "/pools/p/proof/log", "/pools/p/proof/key"} {
		giveBack := useUp(&s.bounds, gate.RankDraw)
		short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
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

// TestOddsAreShownFromMemory: one reading serves all callers of a second. That a pool
// publishes none is kept too.
func TestOddsAreShownFromMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, oddsAreShownFromMemory) // so that a busy machine does not take a second
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

// TestCallsOfAnyoneWriteNoLine: who needs no token can fill no disk.
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
