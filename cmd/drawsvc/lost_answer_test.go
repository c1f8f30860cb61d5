package main

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

// TestLostAnswer: where the answer to a change is lost, a move and an import
// happen once and say what they did; any other change says that it may have
// been made, and is not sent again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	w := newTwin(t, "sqlite")
	service, err := url.Parse(w.server.url)
	require.NoError(t, err)
	var lost atomic.Bool
	between := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		httputil.NewSingleHostReverseProxy(service).ServeHTTP(answer, r)
		if r.Method != http.MethodGet && lost.CompareAndSwap(false, true) {
			panic(http.ErrAbortHandler)
		}
		for name, values := range answer.Header() {
			out.Header()[name] = values
		}
		out.WriteHeader(answer.Code)
		_, _ = out.Write(answer.Body.Bytes()) // the program notices
	}))
	t.Cleanup(between.Close)
	p := w.as("ci")
	p.vars["DRAWSVC_SERVER"] = between.URL

	add := []string{"stock", "add", "--pool", "mono", "--prize", "gold", "--delta", "5", "--reason", "more"}
	require.Equal(t, "pool mono, prize gold: +5 units made 8 stocked, 2 issued, 6 remaining (version 6)\n", p.ok(add...))
	require.True(t, lost.Load())
	lost.Store(false)
	p.ok("stock", "import", "--pool", "mono", w.write("five", "prize,name,value,stock\ngold,,,5\n"))
	require.True(t, lost.Load())
	require.Contains(t, w.far.ok("pool", "show", "mono"), " 13 ")

	lost.Store(false)
	p.refused(exitFailure, "the change may have been made although no answer says so", "pool", "pause", "mono")
	require.Contains(t, w.far.ok("pool", "show", "mono"), "paused")
	require.Equal(t, 1, strings.Count(w.far.ok("log", "--pool", "mono"), `"what":"state"`))
}
