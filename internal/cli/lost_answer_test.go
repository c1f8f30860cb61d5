package cli

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// between returns a server that passes requests on to the server at address, and changes
// the answers.
func between(t *testing.T, address string, change func(*http.Request, *httptest.ResponseRecorder)) string {
	t.Helper()
	service, err := url.Parse(address)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(service)
	s := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		change(r, answer)
		for name, values := range answer.Header() {
			if name != "Content-Length" { // the length may have changed
				out.Header()[name] = values
			}
		}
		out.WriteHeader(answer.Code)
		_, _ = out.Write(answer.Body.Bytes()) // the program notices if the answer does not arrive
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestLostAnswer: if their answer is lost, a move and an import still happen once, and
// report what they did. Any other change is not sent again: the command reports that it
// may have been made.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	var lost atomic.Bool
	p := w.as("ci")
	p.vars["DRAWSVC_SERVER"] = between(t, w.server.url, func(r *http.Request, _ *httptest.ResponseRecorder) {
		if r.Method != http.MethodGet && lost.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
	})

	add := []string{"stock", "add", "--pool", "mono", "--prize", "gold", "--delta", "5", "--reason", "more"}
	require.Equal(t, "pool mono, prize gold: +5 units; now 8 stocked, 2 issued, 6 remaining (version 6)\n", p.ok(add...))
	require.True(t, lost.Load())
	lost.Store(false)
	p.ok("stock", "import", "--pool", "mono", w.write("five", "prize,name,value,stock\ngold,,,5\n"))
	require.True(t, lost.Load())
	require.Contains(t, w.far.ok("pool", "show", "mono"), " 13 ")

	lost.Store(false)
	moments := w.write("moments", "at,prize,delta,reason\n2999-01-05T09:00:00Z,gold,2,a\n")
	planned := p.ok("agenda", "import", "--pool", "mono", moments)
	require.True(t, lost.Load())
	require.NotContains(t, planned, "already")
	require.Regexp(t, "keep the salt, .*: [A-Z2-7]{26}\n$", planned)
	lost.Store(false)
	p.ok("agenda", "spread", "--pool", "mono", "--prize", "gold", "--units", "3", "--from", "2999-01-05T09:00:00Z", "--to", "2999-01-06T09:00:00Z", "--random")
	require.True(t, lost.Load())
	require.Len(t, strings.Split(strings.TrimSpace(w.far.ok("agenda", "list", "--pool", "mono")), "\n"), 1+1+1, "each was planned once")

	lost.Store(false)
	require.NotContains(t, p.ok("agenda", "add", "--pool", "mono", "--at", "2999-01-07T09:00:00Z", "--prize", "gold", "--delta", "1", "--reason", "a"), "already")
	require.True(t, lost.Load())
	require.Len(t, strings.Split(strings.TrimSpace(w.far.ok("agenda", "list", "--pool", "mono")), "\n"), 1+1+1+1, "it was planned once")

	lost.Store(false)
	p.refused(exitFailure, "the change may have been made although no answer says so", "pool", "pause", "mono")
	require.Contains(t, w.far.ok("pool", "show", "mono"), "paused")
	require.Equal(t, 1, strings.Count(w.far.ok("log", "--pool", "mono"), `"what":"state"`))
}
