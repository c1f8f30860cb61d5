package stage

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// TestBalancerLearnsLate: an instance that is no longer ready gets requests until the
// balancer's next request of /readyz. An instance that has exited counts as a refused
// connection.
func TestBalancerLearnsLate(t *testing.T) {
	t.Parallel()
	var ready atomic.Bool
	ready.Store(true)
	var served atomic.Int64
	one := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close") // a cut keep-alive connection would not count as a refused connection
		if r.URL.Path == "/readyz" && !ready.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		if r.URL.Path == "/draw" {
			served.Add(1)
		}
	}))
	t.Cleanup(one.Close)
	way := servertest.StartProxy(t, one.URL) // the proxy keeps its port while it is cut, so that no other program gets it
	require.NoError(t, harness.On("balancer", func(s *harness.Site) error {
		b := StartBalancer(s, time.Hour, way.URL())
		for !b.backends[0].in.Load() { // on a busy machine the first answer may come too late
			b.backends[0].ask(t.Context())
		}
		draw := func() int {
			response, err := http.Post(b.URL+"/draw", "application/json", nil)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			return response.StatusCode
		}
		ready.Store(false)
		require.Equal(t, http.StatusOK, draw(), "it has not been asked since")
		require.EqualValues(t, 1, served.Load())

		way.Cut()
		require.Equal(t, http.StatusBadGateway, draw())
		require.EqualValues(t, 1, b.Refused.Load())

		b.backends[0].ask(t.Context())
		require.Equal(t, http.StatusBadGateway, draw())
		require.EqualValues(t, 1, b.Refused.Load(), "nothing is sent to one that is not ready")
		return nil
	}))
}
