package http

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
)

// logged returns the lines of a log.
func logged(t *testing.T, log *bytes.Buffer) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(log.String()) {
		var parsed map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &parsed))
		lines = append(lines, parsed)
	}
	return lines
}

// TestRefusalsAreSummedUp: a flood is two log lines, one of them with the count, and
// each kind is summed up separately.
func TestRefusalsAreSummedUp(t *testing.T) {
	s, log := newLogged(t, &fake{}, slog.LevelInfo)
	const flood = 500
	for i := range flood {
		r := request("POST", "/draw", "", "Authorization", "Bearer wrong")
		r.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i % 7)}), 1).String()
		do(s, r)
		do(s, request("GET", "/nothing", ""))
	}
	lines := logged(t, log)
	require.Len(t, lines, 3, "wrong tokens, those unread, and unknown paths")
	first := lines[slices.IndexFunc(lines, func(l map[string]any) bool { return l["token"] == "wrong" })]
	require.Equal(t, []any{"WARN", "198.51.100.0", 401.0, "/draw"}, []any{first["level"], first["remote"], first["status"], first["route"]})
	log.Reset()
	s.refusals.sumUp()
	counts := map[any]any{}
	for _, l := range logged(t, log) {
		require.Equal(t, "requests refused", l["msg"])
		counts[l["code"]] = l["count"]
		if l["code"] == "unauthorized" {
			require.Len(t, l["remotes"], addressesMax)
			require.Equal(t, true, l["more_remotes"])
		}
	}
	require.Equal(t, flood-1.0, counts["not-found"])
	require.GreaterOrEqual(t, counts["unauthorized"], 7.0*gate.Burst-1, "a few more where the flood took seconds")
	require.Equal(t, flood-2.0, counts["unauthorized"].(float64)+counts["too-many-guesses"].(float64))
	require.Len(t, counts, 3)
	log.Reset()
	s.refusals.sumUp()
	s.refusals.sumUp()
	require.Empty(t, log.String())
	do(s, request("GET", "/nothing", ""))
	require.Len(t, logged(t, log), 1, "after a pause the first has its line again")
}

// TestLogNamesWhoDidWhat: the line of a call has the name of its token and the pool,
// after both were checked.
func TestLogNamesWhoDidWhat(t *testing.T) {
	s, log := newLogged(t, &fake{}, slog.LevelInfo)
	for _, c := range []struct {
		r           *nethttp.Request
		actor, pool any
	}{
		{asAdmin("PATCH", "/admin/pools/spring", `{"state":"paused"}`), "admin", "spring"},
		{asAdmin("POST", "/admin/pools/spring/prizes/gold/stock", `{"delta":1,"reason":"r"}`), "admin", "spring"},
		{asAdmin("GET", "/admin/jobs", ""), "admin", nil},
		{request("GET", "/pools/spring", "", "Authorization", "Bearer "+drawToken), "draw", "spring"},
		{request("PATCH", "/admin/pools/spring", `{"state":"paused"}`, "Authorization", "Bearer wrong"), nil, nil},
		{asAdmin("GET", "/admin/pools/No%20Pool", ""), nil, nil},
	} {
		log.Reset()
		do(s, c.r)
		line := logged(t, log)[0]
		require.Equal(t, []any{c.actor, c.pool}, []any{line["actor"], line["pool"]}, c.r.URL)
	}
}

// TestProbesAreForDebugging: probes are logged only for debugging, because machines
// make them every few seconds.
func TestProbesAreForDebugging(t *testing.T) {
	s, log := newLogged(t, &fake{}, slog.LevelInfo)
	for _, path := range []string{"/livez", "/readyz", "/metrics"} {
		require.Equal(t, 200, do(s, asAdmin("GET", path, "")).Code)
	}
	require.Empty(t, log.String())
	s, log = newLogged(t, &fake{}, slog.LevelInfo)
	s.readiness = newReadiness(func(context.Context) error { return draw.Errorf(draw.CodeLockUnavailable, "down") })
	do(s, request("GET", "/readyz", ""))
	require.Empty(t, log.String(), "the service logs each change of readiness, and not each probe")
}

// TestEveryAnswerHasAnID: an answer has the caller's own id, or a unique one.
func TestEveryAnswerHasAnID(t *testing.T) {
	s, seen := newServer(t, &fake{}), map[string]bool{}
	for _, e := range calls() {
		for _, body := range []string{e.body, "not JSON"} {
			id := do(s, asAdmin(e.method, e.target, body)).Header().Get("X-Request-Id")
			require.NotEmpty(t, id, e.target)
			require.True(t, isPlainID(id))
			require.False(t, seen[id])
			seen[id] = true
			require.Equal(t, "my-trace-1", do(s, asAdmin(e.method, e.target, body, "X-Request-Id", "my-trace-1")).Header().Get("X-Request-Id"))
		}
	}
}

// TestShutdownDelay: the service reports at once that it is not ready, and draws as
// usual until the delay ends.
func TestShutdownDelay(t *testing.T) { synctest.Test(t, shutdownDelay) }

func shutdownDelay(t *testing.T) {
	const delay = 3 * time.Second
	f, l := &fake{}, newPiped()
	s := newServer(t, f, func(c *Config) { c.ShutdownDelay = delay })
	server, caller := runOn(t, s, l), l.client(t)
	require.Equal(t, 200, get(caller, server.url+"/readyz").status)
	ended := time.Now()
	server.end()
	synctest.Wait()
	require.Equal(t, 503, get(caller, server.url+"/readyz").status)
	for range 10 {
		require.Equal(t, 200, postDraw(caller, server.url).status)
	}
	draining, _ := f.drained()
	require.False(t, draining)
	require.NoError(t, <-server.done)
	require.GreaterOrEqual(t, time.Since(ended), delay)
	draining, _ = f.drained()
	require.True(t, draining)
}
