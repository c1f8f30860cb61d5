package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	nethttp "net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/http/problem"
)

type problemDocument struct {
	Type, Title, Detail, Code, Outcome string
	Status                             int
}

// problemIn reads a problem document and checks the properties that every problem must
// have.
func problemIn(t testing.TB, r *nethttp.Response) problemDocument {
	t.Helper()
	body := bodyOf(t, r)
	var p problemDocument
	d := json.NewDecoder(strings.NewReader(body))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&p), body)
	require.Equal(t, "application/problem+json", r.Header.Get("Content-Type"))
	require.Equal(t, r.StatusCode, p.Status)
	require.Equal(t, "/problems/"+p.Code, p.Type)
	require.NotEmpty(t, p.Title)
	require.NotEmpty(t, p.Detail)
	require.Equal(t, r.StatusCode == nethttp.StatusServiceUnavailable || r.StatusCode == nethttp.StatusTooManyRequests,
		r.Header.Get("Retry-After") != "", "Retry-After on 429 and 503, and nowhere else")
	require.NotEmpty(t, r.Header.Get("X-Request-Id"))
	return p
}

// TestTableOfProblems pins the table: a code and its status are a promise.
func TestTableOfProblems(t *testing.T) {
	want := map[int]string{
		400: "invalid-request", 401: "unauthorized", 403: "forbidden ticket-expired ticket-invalid ticket-required",
		404: "award-not-found draw-not-found hook-not-found job-not-found not-found pool-not-found prize-not-found", 406: "not-acceptable", 405: "method-not-allowed", 408: "request-timeout",
		412: "changed-meanwhile rules-changed",
		409: "agenda-done pool-committed seeds-spent log-forked feed-forked already-issued job-running limit-reached user-blocked user-not-counted pool-closed pool-exists pool-not-open pool-open round-not-announced prize-exists sold-out stock-below-issued codes-missing prize-has-no-codes claim-expired nothing-to-claim award-ended award-not-fulfilled code-shown code-not-open",
		413: "body-too-large", 415: "unsupported-media-type", 422: "idempotency-key-reused", 429: "too-many-guesses", 500: "internal",
		503: "paused clock-leapt rules-unreadable seed-unavailable seal-key-missing contended draining lock-unavailable overloaded store-unavailable", 504: "outcome-unknown",
	}
	known := 0
	for status, codes := range want {
		for code := range strings.FieldsSeq(codes) {
			p, ok := problem.Table()[draw.Code(code)]
			require.True(t, ok, code)
			require.Equal(t, status, p.Status, code)
			require.Equal(t, status == 503 || status == 429, p.RetryAfter != "", code)
			require.Equal(t, status == 500 || status == 504, p.Unknown, code)
			known++
		}
	}
	require.Len(t, problem.Table(), known)
	for code, title := range map[draw.Code]string{
		draw.CodeNotFound: "Not found", problem.CodeMethodNotAllowed: "Method not allowed",
		draw.CodeStoreUnavailable: "Database unavailable", draw.CodeDraining: "Shutting down",
	} {
		require.Equal(t, title, problem.Table()[code].Title)
	}
}

// TestTableHoldsEveryCodeOfTheDomain: the table has every code of the domain's own
// list.
func TestTableHoldsEveryCodeOfTheDomain(t *testing.T) {
	source, err := os.ReadFile("../draw/errors.go")
	require.NoError(t, err)
	codes := regexp.MustCompile(`Code\w+ +Code = "([a-z-]+)"`).FindAllSubmatch(source, -1)
	require.GreaterOrEqual(t, len(codes), 17)
	for _, code := range codes {
		require.Contains(t, problem.Table(), draw.Code(code[1]))
	}
}

// TestEveryCodeOfADraw: a draw is answered correctly for each code that the service may
// return.
func TestEveryCodeOfADraw(t *testing.T) {
	for code, want := range problem.Table() {
		t.Run(string(code), func(t *testing.T) {
			f := &fake{err: fmt.Errorf("wrapped: %w", draw.Wrap(code, errors.New("db.internal:5432 SELECT"), "said %q", "<x>"))}
			r := do(undescribed(newServer(t, f)), request("POST", "/draw", `{"pool":"p","user":"u"}`)).Result()
			p := problemIn(t, r)
			require.Equal(t, want.Status, p.Status)
			require.Equal(t, string(code), p.Code)
			require.Equal(t, `said "<x>"`, p.Detail, "the detail and nothing of the cause")
			require.Equal(t, want.Title, p.Title)
			require.Equal(t, map[bool]string{false: "none", true: "unknown"}[want.Unknown], p.Outcome)
		})
	}
}

func TestEveryRowFromOutside(t *testing.T) {
	const good = `{"pool":"p","user":"u"}`
	fails := func(code draw.Code) *fake { return &fake{err: draw.Errorf(code, "because")} }
	cases := []struct {
		status int
		code   string
		fake   *fake
		r      *nethttp.Request
	}{
		{400, "invalid-request", &fake{}, asAdmin("POST", "/draw", `{}`)},
		{401, "unauthorized", &fake{}, request("GET", "/admin/pools", "")},
		{403, "forbidden", &fake{}, request("GET", "/admin/pools", "", "Authorization", "Bearer "+drawToken)},
		{404, "pool-not-found", fails(draw.CodePoolNotFound), asAdmin("GET", "/pools/p", "")},
		{404, "prize-not-found", fails(draw.CodePrizeNotFound), asAdmin("POST", "/admin/pools/p/prizes/a/stock", `{"delta":1,"reason":"r"}`)},
		{404, "draw-not-found", fails(draw.CodeDrawNotFound), asAdmin("GET", "/pools/p/draws/d", "")},
		{404, "not-found", &fake{}, request("GET", "/nothing", "")},
		{405, "method-not-allowed", &fake{}, request("DELETE", "/draw", "")},
		{409, "sold-out", fails(draw.CodeSoldOut), asAdmin("POST", "/draw", good)},
		{409, "pool-not-open", fails(draw.CodePoolNotOpen), asAdmin("POST", "/draw", good)},
		{409, "pool-exists", fails(draw.CodePoolExists), asAdmin("POST", "/admin/pools", `{"id":"p","name":"P","prizes":[]}`)},
		{409, "prize-exists", fails(draw.CodePrizeExists), asAdmin("POST", "/admin/pools/p/prizes", `{"id":"a","name":"A","stock":1}`)},
		{409, "stock-below-issued", fails(draw.CodeStockBelowIssued), asAdmin("POST", "/admin/pools/p/prizes/a/stock", `{"delta":-1,"reason":"r"}`)},
		{413, "body-too-large", &fake{}, asAdmin("POST", "/draw", strings.Repeat(" ", bodyMax+1))},
		{415, "unsupported-media-type", &fake{}, asAdmin("POST", "/draw", good, "Content-Type", "text/plain")},
		{422, "idempotency-key-reused", fails(draw.CodeKeyReused), asAdmin("POST", "/draw", good, "Idempotency-Key", "k")},
		{500, "internal", &fake{err: errors.New("secret")}, asAdmin("POST", "/draw", good)},
		{503, "contended", fails(draw.CodeContended), asAdmin("POST", "/draw", good)},
		{503, "overloaded", fails(draw.CodeOverloaded), asAdmin("POST", "/draw", good)},
		{503, "store-unavailable", fails(draw.CodeStoreUnavailable), asAdmin("POST", "/draw", good)},
		{503, "lock-unavailable", fails(draw.CodeLockUnavailable), asAdmin("POST", "/draw", good)},
		{503, "draining", fails(draw.CodeDraining), asAdmin("POST", "/draw", good)},
		{504, "outcome-unknown", fails(draw.CodeOutcomeUnknown), asAdmin("POST", "/draw", good)},
	}
	for _, tc := range cases {
		t.Run(tc.code, func(t *testing.T) {
			path, method := tc.r.URL.Path, tc.r.Method
			p := problemIn(t, do(newServer(t, tc.fake, withDrawToken), tc.r).Result())
			require.Equal(t, tc.status, p.Status)
			require.Equal(t, tc.code, p.Code)
			require.Equal(t, path == "/draw" && method == "POST", p.Outcome != "", "outcome on draws and nowhere else")
		})
	}
}

func TestTimeoutOfAChangeIsUnknown(t *testing.T) {
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		s := newServer(t, &fake{err: fmt.Errorf("query: %w", cause)})
		p := problemIn(t, do(s, request("POST", "/draw", `{"pool":"p","user":"u"}`)).Result())
		require.Equal(t, "outcome-unknown", p.Code)
		require.Equal(t, "unknown", p.Outcome)
		p = problemIn(t, do(s, asAdmin("PATCH", "/admin/pools/p", `{"state":"open"}`)).Result())
		require.Equal(t, "outcome-unknown", p.Code, "a change may have happened")
		p = problemIn(t, do(s, request("GET", "/pools/p", "")).Result())
		require.Equal(t, "store-unavailable", p.Code, "reading changes nothing")
	}
}

func TestUnknownAddressesAndMethods(t *testing.T) {
	s := newServer(t, &fake{})
	for _, target := range []string{"/", "/draw/", "//draw", "/Draw", "/pools", "/pools/", "/pools/p/", "/pools/p/draws/", "/admin", "/x/%2F", "/problems", "/problems/frob"} {
		require.Equal(t, "not-found", problemIn(t, do(s, request("GET", target, "")).Result()).Code, target)
	}
	for target, allow := range map[string]string{
		"/draw": "POST", "/pools/p": "GET, HEAD", "/admin/pools": "POST, GET, HEAD", "/admin/pools/p/moves": "GET, HEAD", "/livez": "GET, HEAD",
	} {
		r := do(s, request("DELETE", target, "")).Result()
		require.Equal(t, "method-not-allowed", problemIn(t, r).Code, target)
		require.ElementsMatch(t, strings.Split(allow, ", "), strings.Split(r.Header.Get("Allow"), ", "), target)
	}
	require.Equal(t, 405, do(s, request("BREW", "/draw", "")).Code)
	p := problemIn(t, do(s, request("GET", "/draw", "")).Result())
	require.Empty(t, p.Outcome, "asking with GET is not a draw")
}

func TestPanicIsOneProblemAndOneLogLine(t *testing.T) {
	var log bytes.Buffer
	f := &fake{drawn: func(context.Context, draw.Request) (draw.Draw, error) { panic("boom in " + adminToken[:5]) }}
	s := newServer(t, f, func(c *Config) { c.Log = slog.New(slog.NewJSONHandler(&log, nil)) })
	r := do(s, request("POST", "/draw", `{"pool":"p","user":"u"}`, "X-Request-Id", "abc-1")).Result()
	p := problemIn(t, r)
	require.Equal(t, "internal", p.Code)
	require.Equal(t, "unknown", p.Outcome)
	require.NotContains(t, p.Detail, "boom")
	require.Equal(t, "abc-1", r.Header.Get("X-Request-Id"))
	require.Contains(t, log.String(), "boom")
	require.Contains(t, log.String(), "problem_test.go", "the stack")
	require.Contains(t, log.String(), `"request_id":"abc-1"`)
	require.Equal(t, 200, do(s, request("GET", "/livez", "")).Code, "the service goes on")
}

func TestPanicWithinAnAnswerCutsIt(t *testing.T) {
	s := newServer(t, &fake{})
	s.engine.GET("/half", s.observe(route{method: "GET", path: "/half"}, func(c call) error {
		_, _ = c.gin.Writer.WriteString("half")
		panic("boom")
	}))
	require.PanicsWithValue(t, nethttp.ErrAbortHandler, func() { do(s, request("GET", "/half", "")) })
}

// TestOutcomeIsOfTheLog: if the key of a refused draw was not looked up in the log, the
// answer does not state that nothing happened. The header Retry-After has the value that
// the error states.
func TestOutcomeIsOfTheLog(t *testing.T) {
	for _, c := range []struct {
		refused       draw.Error
		outcome, wait string
	}{
		{draw.Error{Code: draw.CodeOverloaded}, "none", "1"},
		{draw.Error{Code: draw.CodeOverloaded, KeyUnasked: true, RetryAfter: 2100 * time.Millisecond}, "unknown", "3"},
		{draw.Error{Code: draw.CodeContended, KeyUnasked: true, RetryAfter: time.Millisecond}, "unknown", "1"},
		{draw.Error{Code: draw.CodeSoldOut}, "none", ""},
	} {
		c.refused.Detail = "because"
		w := do(newServer(t, &fake{err: &c.refused}), asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`, "Idempotency-Key", "k"))
		require.Equal(t, c.outcome, problemIn(t, w.Result()).Outcome)
		require.Equal(t, c.wait, w.Header().Get("Retry-After"))
	}
}
