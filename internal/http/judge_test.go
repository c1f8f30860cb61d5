package http

import (
	"bytes"
	"encoding/json"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/stretchr/testify/require"
)

// judge answers as a server does, and judges every exchange by a contract.
type judge struct {
	next     nethttp.Handler
	contract *contract
	report   func(error)

	mu sync.Mutex
	// seen are the members that answers had, as paths below operation and status.
	seen map[string]bool
}

// ownContract is the contract of the description that the service serves.
var ownContract = sync.OnceValues(func() (*contract, error) {
	for _, kind := range []string{typeNDJSON, typeEvents, "application/openmetrics-text", "text/html", "text/css", "text/javascript", "image/svg+xml"} {
		openapi3filter.RegisterBodyDecoder(kind, openapi3filter.PlainBodyDecoder)
	}
	return readContract(description)
})

// judged has the description judge all that a server answers in a test.
// Benchmarks measure, and fuzzing lives from its speed: they go without.
func judged(t testing.TB, s *Server) {
	switch t.(type) {
	case *testing.B, *testing.F:
		return
	}
	c, err := ownContract()
	require.NoError(t, err)
	var said sync.Map
	s.handler = newJudge(s.engine, c, func(err error) {
		if _, repeats := said.LoadOrStore(err.Error(), true); !repeats {
			t.Errorf("openapi.yaml: %v", err)
		}
	})
}

// undescribed excepts a server whose fakes answer what the service never does.
func undescribed(s *Server) *Server {
	s.handler = s.engine
	return s
}

func newJudge(next nethttp.Handler, c *contract, report func(error)) *judge {
	return &judge{next: next, contract: c, report: report, seen: map[string]bool{}}
}

func (j *judge) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	var sent bytes.Buffer
	asked := r.Clone(r.Context())
	asked.Body = struct {
		io.Reader
		io.Closer
	}{io.TeeReader(r.Body, &sent), r.Body}
	kept := &keptAnswer{ResponseWriter: w, status: nethttp.StatusOK}
	j.next.ServeHTTP(kept, asked) // an answer that is cut panics, and is no answer
	received := kept.body.Bytes()
	if w.Header().Get("Content-Encoding") == "gzip" {
		plain, err := gunzip(&kept.body)
		if err != nil {
			j.report(err)
		}
		received = plain
	}
	x := exchange{r, sent.Bytes(), kept.status, w.Header().Clone(), received}
	if err := j.contract.check(x); err != nil {
		j.report(err)
	}
	j.note(x)
}

// note keeps the members that an answer had.
func (j *judge) note(x exchange) {
	o, _ := j.contract.find(x.request.Method, x.request.URL.EscapedPath())
	var value any
	if o == nil || !strings.Contains(x.header.Get("Content-Type"), "json") || json.Unmarshal(x.received, &value) != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	present(value, o.String()+" "+strconv.Itoa(x.status), j.seen)
}

// keptAnswer passes an answer on and keeps it.
type keptAnswer struct {
	nethttp.ResponseWriter
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *keptAnswer) Write(b []byte) (int, error) {
	k.body.Write(b)
	return k.ResponseWriter.Write(b)
}

// Flush implements http.Flusher, which gin expects of every writer.
func (k *keptAnswer) Flush() { _ = nethttp.NewResponseController(k.ResponseWriter).Flush() }

// Unwrap is for http.ResponseController.
func (k *keptAnswer) Unwrap() nethttp.ResponseWriter { return k.ResponseWriter }

func bodyOf(t testing.TB, r *nethttp.Response) string {
	t.Helper()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}
