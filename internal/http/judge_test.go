package http

import (
	"encoding/json"
	"io"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/contract"
)

// ownContract is the contract of the description that the service serves.
var ownContract = sync.OnceValues(func() (*contract.Contract, error) { return contract.Read(description) })

// judged checks all answers of a server in a test against the description, except in
// benchmarks and fuzzing, which would become too slow.
func judged(t testing.TB, s *Server) {
	switch t.(type) {
	case *testing.B, *testing.F:
		return
	}
	c, err := ownContract()
	require.NoError(t, err)
	var said sync.Map
	s.handler = contract.NewJudge(s.engine, c.Check, func(err error) {
		if _, repeats := said.LoadOrStore(err.Error(), true); !repeats {
			t.Errorf("openapi.yaml: %v", err)
		}
	})
}

// undescribed exempts a server whose fakes give answers that the service never gives.
func undescribed(s *Server) *Server {
	s.handler = s.engine
	return s
}

// noted is the check of a contract, which also records the members of answers, as paths
// below operation and status.
func noted(c *contract.Contract, seen map[string]bool) func(contract.Exchange) error {
	return func(x contract.Exchange) error {
		o, _ := c.Find(x.Request.Method, x.Request.URL.EscapedPath())
		var value any
		if o != nil && strings.Contains(x.Header.Get("Content-Type"), "json") && json.Unmarshal(x.Received, &value) == nil {
			contract.Present(value, o.String()+" "+strconv.Itoa(x.Status), seen)
		}
		return c.Check(x)
	}
}

func bodyOf(t testing.TB, r *nethttp.Response) string {
	t.Helper()
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	return string(b)
}
