package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
	"drawsvc/loadtest/faults/history"
)

const drawn = `{"draw":"k","pool":"p","user":"u","replayed":false,"awards":[` +
	`{"prize":"gold","name":"Gold","value":"1.50","win":true,"unit":1,"version":2,"at":"2026-11-11T11:11:11Z"}]}`

func respond(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	if status >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}
	if status == 503 {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, body)
}

func refusal(status int, code, outcome string) string {
	return fmt.Sprintf(`{"type":"/problems/%s","title":"T","status":%d,"detail":"D","code":%q,"outcome":%q}`, code, status, code, outcome)
}

var aDraw = history.Op{Kind: history.Draw, Pool: "p", Key: "k", User: "u", Count: 1}

// TestAnswersAreJudgedByTheDescription: a service whose answers differ from
// openapi.yaml fails, and the difference is named.
func TestAnswersAreJudgedByTheDescription(t *testing.T) {
	t.Parallel()
	c, err := contract.Own()
	require.NoError(t, err)
	for name, d := range map[string]struct {
		status     int
		body, want string // want is "" for an answer that is described
	}{
		"as described":       {200, drawn, ""},
		"a refusal":          {503, refusal(503, "contended", "none"), ""},
		"a member too many":  {200, strings.Replace(drawn, `"unit":1`, `"unit":1,"lucky":true`, 1), "lucky"},
		"a member too few":   {200, strings.Replace(drawn, `"win":true,`, ``, 1), "win"},
		"another status":     {202, drawn, "status 202 is not described"},
		"a code that is not": {409, refusal(409, "unlucky", "none"), "unlucky"},
	} {
		for _, through := range []string{"operation", "call"} {
			tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) { respond(w, d.status, d.body) })
			tr.kinds = contract.NewKinds(c)
			if through == "operation" {
				tr.Send(t.Context(), aDraw)
			} else { // other calls than the operations
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, tr.Instances[0].URL()+"/draw", strings.NewReader(`{"pool":"p","user":"u"}`))
				require.NoError(t, err)
				request.Header.Set("Content-Type", "application/json")
				response, err := tr.Client.Do(request)
				require.NoError(t, err)
				require.NotEmpty(t, readAll(t, response))
			}
			said := fmt.Sprint(tr.Verdict.Violations)
			require.Equal(t, d.want != "", tr.Verdict.Count(history.Undocumented) > 0, name+": "+said)
			require.Contains(t, said, d.want, name)
		}
	}
}

// TestProxiesNameThemselves: a header that a proxy adds to each answer is not judged.
// The controls are an instance that adds it, and a proxy that answers by itself.
func TestProxiesNameThemselves(t *testing.T) {
	t.Parallel()
	c, err := contract.Own()
	require.NoError(t, err)
	for _, d := range []struct {
		status  int
		isFront bool
		broken  bool
	}{{200, true, false}, {200, false, true}, {502, true, true}} {
		tr := trialOn(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Server", "nginx")
			respond(w, d.status, drawn)
		})
		tr.kinds = contract.NewKinds(c)
		if d.isFront {
			tr.Front, tr.Instances[0].Address = tr.Instances[0].URL(), "127.0.0.1:1"
		}
		tr.Send(t.Context(), aDraw)
		require.Equal(t, d.broken, tr.Verdict.Count(history.Undocumented) > 0, "%+v %v", d, tr.Verdict.Violations)
	}
}

// TestEachRequestIsWrittenDown: package drawsvc/client retries, and the history has
// each of its requests; a caller that gives up makes one request.
func TestEachRequestIsWrittenDown(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	handler := func(w http.ResponseWriter, _ *http.Request) {
		switch asked.Add(1) {
		case 1:
			respond(w, 504, refusal(504, "outcome-unknown", "unknown"))
		case 2:
			panic(http.ErrAbortHandler)
		default:
			respond(w, 200, drawn)
		}
	}
	tr := trialOn(t, handler)
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	last, requests := tr.Insist(ctx, aDraw)
	require.True(t, last.Won(), last.String())
	require.Equal(t, 3, requests)
	var answers []string
	for _, o := range tr.History.Ops() {
		require.LessOrEqual(t, o.Call, o.Return)
		answers = append(answers, o.Answer())
	}
	require.Equal(t, []string{"outcome-unknown", "no-answer", "won"}, answers)

	asked.Store(0)
	tr = trialOn(t, handler)
	once := tr.Send(t.Context(), aDraw)
	require.True(t, once.Unknown(), once.String())
	require.Equal(t, 1, tr.History.Len())
	require.EqualValues(t, 1, asked.Load())
}

// TestAMoveThatCannotArriveIsTriedAgain: if a service cannot be reached, package
// drawsvc/client gives up; a client of the load, which must settle its move, retries.
func TestAMoveThatCannotArriveIsTriedAgain(t *testing.T) {
	t.Parallel()
	tr := trialOn(t, func(http.ResponseWriter, *http.Request) {})
	tr.Instances[0].Address = "127.0.0.1:1"
	ctx, end := context.WithCancel(t.Context())
	defer end()
	go func() {
		defer end()
		for tr.History.Len() < 3 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
	}()
	last, requests := tr.Insist(ctx, history.Op{Kind: history.Stock, Pool: "p", Key: "k", Prize: "gold", Delta: 1})
	require.True(t, last.Busy(), last.String())
	require.Greater(t, requests, 1)
}

func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
