package cli

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// deployment starts a process with a separate database, which has the pools.
func deployment(t *testing.T, pools ...string) *process {
	t.Helper()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	for _, pool := range pools {
		p.ok("pool", "create", pool, "--prize", "id=gold,stock=1000")
	}
	return p.start("--public-draw", "--trusted-proxies", "127.0.0.1")
}

// routed starts nginx for two deployments, with the page's configuration as changed by
// edit, and returns nginx as a service.
func routed(t *testing.T, edit func(string) string, first, second *process) *service {
	t.Helper()
	listen := servertest.FreeAddr(t)
	config := edit(servertest.WithoutCallerBounds(proxyBlocks(t)[2]))
	for page, here := range map[string]string{"8080": first.url, "8090": second.url, "8081": "http://" + listen} {
		require.Contains(t, config, "127.0.0.1:"+page)
		config = strings.ReplaceAll(config, "127.0.0.1:"+page, strings.TrimPrefix(here, "http://"))
	}
	servertest.StartNginx(t, listen, config)
	return &service{tb: t, url: "http://" + listen, client: first.client}
}

// drawOf draws from the pool in the path, and returns status and code.
func (s *service) drawOf(pool, key string) string {
	s.tb.Helper()
	status, body, err := s.ask("POST", "/pools/"+pool+"/draws", `{"user":"u"}`, "Idempotency-Key", key)
	require.NoError(s.tb, err)
	return answerOf(status, body)
}

// statusOf returns the status of a GET.
func (s *service) statusOf(path string) int {
	s.tb.Helper()
	status, _, err := s.ask("GET", path, "")
	require.NoError(s.tb, err)
	return status
}

// TestPoolsAreRoutedToDeployments: the page's nginx sends each pool's calls to the
// deployment that has the pool, and a stopped deployment stops only its own pools. The
// broken doubles are maps that lack a pool, or map it to the wrong deployment.
func TestPoolsAreRoutedToDeployments(t *testing.T) {
	t.Parallel()
	a, b := deployment(t, "summer", "springtime"), deployment(t, "spring", "show-1")
	const won, missing = "200 []", "404 [pool-not-found]"
	through := routed(t, asPage, a, b)
	for pool, has := range map[string]*process{"summer": a, "springtime": a, "spring": b, "show-1": b, "%73pring": b} {
		require.Equal(t, won, through.drawOf(pool, "k-"+pool), pool)
		draw := "/pools/" + pool + "/draws/k-" + strings.ReplaceAll(pool, "%", "%25")
		for _, s := range []*process{a, b} {
			want := http.StatusNotFound
			if s == has {
				want = http.StatusOK
			}
			require.Equal(t, want, s.statusOf(draw), pool)
		}
		require.Equal(t, http.StatusOK, through.statusOf(draw), pool)
		require.Equal(t, http.StatusOK, through.statusOf("/pools/"+pool), pool)
	}
	require.Equal(t, missing, through.drawOf("winter", "k"))
	require.Equal(t, http.StatusOK, through.statusOf("/problems/pool-not-found"))
	for _, path := range []string{"/draw", "/admin/pools", "/metrics", "/pools", "/readyz"} {
		require.Equal(t, http.StatusNotFound, through.statusOf(path), path)
	}
	status, body, err := through.draw("summer", "u", "in-body")
	require.NoError(t, err)
	require.Equal(t, "404 []", answerOf(status, body))
	for pool, words := range map[string][2]string{
		"spring":     {"~^/pools/spring(?:/|$)", "~^/pools/autumn(?:/|$)"},
		"springtime": {"(?:/|$)", ""},
		"%73pring":   {"map $uri", "map $request_uri"},
	} {
		double := routed(t, func(config string) string {
			require.Contains(t, config, words[0])
			return strings.Replace(config, words[0], words[1], 1)
		}, a, b)
		require.Equal(t, missing, double.drawOf(pool, "double"), pool)
	}
	code, _ := b.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code, b.stderr.String())
	require.Equal(t, won, through.drawOf("summer", "later"))
	require.Equal(t, fmt.Sprint(http.StatusBadGateway, " []"), through.drawOf("spring", "later"))
}
