package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestHealth(t *testing.T) {
	f := &fake{}
	var err error
	s := newServer(t, f, func(c *Config) {
		c.Ready = func(ctx context.Context) error {
			_, bounded := ctx.Deadline()
			require.True(t, bounded)
			return err
		}
	})
	require.Equal(t, `{"status":"live"}`+"\n", do(s, request("GET", "/livez", "")).Body.String())
	require.Equal(t, `{"status":"ready"}`+"\n", do(s, request("GET", "/readyz", "")).Body.String())
	for code, cause := range map[string]error{
		"store-unavailable": errors.New("dial tcp db.internal:5432"),
		"lock-unavailable":  draw.Errorf(draw.CodeLockUnavailable, "the lock service does not answer"),
	} {
		err, s.readiness.at = cause, time.Time{}
		r := do(s, request("GET", "/readyz", "")).Result()
		p := problemIn(t, r)
		require.Equal(t, code, p.Code)
		require.NotContains(t, p.Detail, "internal")
		require.Equal(t, 200, do(s, request("GET", "/livez", "")).Code, "alive all the same")
	}
}

// newLogged returns a server and its log at the given level.
func newLogged(t *testing.T, f *fake, level slog.Level) (*Server, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	handler := slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level})
	return newServer(t, f, withDrawToken, func(c *Config) { c.Log = slog.New(handler) }), &log
}

func TestRequestLog(t *testing.T) {
	s, log := newLogged(t, &fake{}, slog.LevelInfo)
	do(s, asAdmin("GET", "/admin/pools/spring/awards?after=3", "", "X-Request-Id", "req-1"))
	var line map[string]any
	require.NoError(t, json.Unmarshal(log.Bytes(), &line), log)
	require.Equal(t, "INFO", line["level"])
	require.Equal(t, "GET", line["method"])
	require.Equal(t, "/admin/pools/:pool/awards", line["route"])
	require.Equal(t, 200.0, line["status"])
	require.Equal(t, "req-1", line["request_id"])
	require.Positive(t, line["bytes"])
	require.Positive(t, line["duration_ms"])
	require.NotContains(t, line, "error")
}

func TestDrawsAreLoggedAtDebugOnly(t *testing.T) {
	s, log := newLogged(t, &fake{}, slog.LevelInfo)
	do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`))
	do(s, asAdmin("POST", "/draw", `{"pool":"p"}`))
	require.Empty(t, log.String())
	s, log = newLogged(t, &fake{}, slog.LevelDebug)
	do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`))
	require.Contains(t, log.String(), `"route":"/draw"`)
}

func TestCausesGoToTheLogAndNowhereElse(t *testing.T) {
	f := &fake{err: draw.Wrap(draw.CodeStoreUnavailable, errors.New("dial db.internal"), "the store does not answer")}
	s, log := newLogged(t, f, slog.LevelInfo)
	do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`))
	require.Empty(t, log.String(), "a draw's cause is logged once for its batch, elsewhere")
	r := do(s, asAdmin("GET", "/admin/pools", "")).Result()
	require.NotContains(t, bodyOf(t, r), "db.internal")
	require.Contains(t, log.String(), "db.internal")
	require.Contains(t, log.String(), `"level":"WARN"`)
	require.Contains(t, log.String(), `"request_id":"`+r.Header.Get("X-Request-Id")+`"`, "the id of the answer")
	f.err = errors.New("surprise")
	log.Reset()
	do(s, asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`))
	require.Contains(t, log.String(), `"level":"ERROR"`)
	require.Contains(t, log.String(), `"code":"internal"`)
}

func TestNoSecretsInTheLog(t *testing.T) {
	s, log := newLogged(t, &fake{err: errors.New("no")}, slog.LevelDebug)
	for _, call := range calls() {
		for _, token := range []string{adminToken, drawToken, "wrong-token"} {
			for _, query := range []string{"", "?token=in-the-query"} {
				do(s, request(call.method, call.target+query, call.body,
					"Authorization", "Bearer "+token, "Idempotency-Key", "key-of-the-caller", "X-Request-Id", "bad id\n"+token))
			}
		}
	}
	do(s, request("GET", "/pools/p/draws/key-of-the-caller", ""))
	do(s, request("GET", "/no/secret-path", ""))
	require.NotEmpty(t, log.String())
	for _, secret := range []string{adminToken, drawToken, "wrong-token", "in-the-query", "key-of-the-caller", "secret-path"} {
		require.NotContains(t, log.String(), secret)
	}
}

func TestRequestIDs(t *testing.T) {
	s := newServer(t, &fake{})
	for sent, kept := range map[string]bool{
		"a-1_b.C": true, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false, "a b": false, "": false, "ü": false, "a\"": false,
	} {
		got := do(s, request("GET", "/nothing", "", "X-Request-Id", sent)).Header().Get("X-Request-Id")
		require.Equal(t, kept, got == sent, sent)
		require.NotEmpty(t, got)
	}
}

// TestSlowScrapeIsAnsweredAsDescribed: a scrape that times out gets the described
// answer, with its own media type.
func TestSlowScrapeIsAnsweredAsDescribed(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	s := newServer(t, &fake{}, func(c *Config) {
		c.RequestTimeout = time.Millisecond
		c.Registerer.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "slow"}, func() float64 { <-end; return 0 }))
	})
	w := do(s, asAdmin("GET", "/metrics", ""))
	require.Equal(t, 503, w.Code)
	require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
}

func TestMetricsAreBounded(t *testing.T) {
	s := newServer(t, &fake{})
	for _, target := range []string{"/pools/a", "/pools/b", "/x", "/y", "/pools/a/draws/1", "/pools/a/draws/2"} {
		do(s, request("GET", target, ""))
	}
	for _, method := range []string{"BREW", "STEEP", "POUR", "DELETE"} {
		do(s, request(method, "/draw", ""))
		do(s, request(method, "/z", ""))
	}
	w := do(s, asAdmin("GET", "/metrics", ""))
	require.Equal(t, 200, w.Code)
	for _, line := range []string{
		`drawsvc_http_requests_total{method="GET",route="/pools/:pool",status="200"} 2`,
		`drawsvc_http_requests_total{method="GET",route="/pools/:pool/draws/:draw",status="200"} 2`,
		`drawsvc_http_requests_total{method="GET",route="unmatched",status="404"} 2`,
		`drawsvc_http_requests_total{method="other",route="unmatched",status="405"} 3`,
		`drawsvc_http_requests_total{method="other",route="unmatched",status="404"} 3`,
		`drawsvc_http_requests_total{method="DELETE",route="unmatched",status="405"} 1`,
		`drawsvc_http_refusals_total{code="method-not-allowed"} 4`,
		`drawsvc_http_refusals_total{code="not-found"} 6`,
		`drawsvc_http_refusals_total{code="sold-out"} 0`,
		`drawsvc_http_request_duration_seconds_count{method="GET",route="/pools/:pool"} 2`,
	} {
		require.Contains(t, w.Body.String(), line+"\n")
	}
	problems, err := testutil.GatherAndLint(s.Gatherer)
	require.NoError(t, err)
	require.Empty(t, problems)
}

// TestPlannedPausesAreNoFailures: alerts count the answers 5xx to draws. So the metrics
// have a separate status for draws that a planned pause refuses; every other 503 is
// counted as 503.
func TestPlannedPausesAreNoFailures(t *testing.T) {
	f := &fake{err: draw.Errorf(draw.CodePaused, "the pool is paused")}
	s := newServer(t, f)
	ask := func() int { return do(s, request("POST", "/draw", `{"pool":"p","user":"u"}`)).Code }
	require.Equal(t, 503, ask())
	f.err = draw.Errorf(draw.CodeStoreUnavailable, "the database does not answer")
	require.Equal(t, 503, ask())
	shown := do(s, asAdmin("GET", "/metrics", "")).Body.String()
	for _, line := range []string{
		`drawsvc_http_requests_total{method="POST",route="/draw",status="paused"} 1`,
		`drawsvc_http_requests_total{method="POST",route="/draw",status="503"} 1`,
		`drawsvc_http_requests_total{method="POST",route="/pools/:pool/draws",status="paused"} 0`,
		`drawsvc_http_refusals_total{code="paused"} 1`,
	} {
		require.Contains(t, shown, line+"\n")
	}
}
