package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// proxyPage is the page about reverse proxies.
const proxyPage = "../../docs/reverse-proxy.md"

// TestReverseProxyPage: the page's nginx in front of the service. What it sends
// is recognized, and only what is to be public can be reached.
func TestReverseProxyPage(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--draw-token", "a-token-of-the-test", "--trusted-proxies", "127.0.0.1")
	listen := servertest.FreeAddr(t)
	servertest.StartNginx(t, listen, servertest.NginxOfPage(t, proxyPage, listen, strings.TrimPrefix(s.url, "http://")))
	direct := s.url
	s.url = "http://" + listen
	bearer := []string{"Authorization", "Bearer a-token-of-the-test"}
	for path, want := range map[string]int{"/pools/spring": 200, "/admin/pools": 404, "/metrics": 404, "/livez": 404, "/drawx": 404} {
		status, _, err := s.ask("GET", path, "", bearer...)
		require.NoError(t, err)
		require.Equal(t, want, status, path)
	}
	status, body, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, append(bearer, "Idempotency-Key", "k1")...)
	require.NoError(t, err)
	require.Equal(t, 200, status, body)
	status, _, err = s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer wrong", "X-Forwarded-For", "203.0.113.9")
	require.NoError(t, err)
	require.Equal(t, 401, status)
	require.Contains(t, s.stderr.String(), `"remote":"127.0.0.1"`, "what the caller invented is replaced")
	require.NotContains(t, s.stderr.String(), "203.0.113.9")
	s.url = direct
}

// TestPlainProxyOpensNothing: a proxy that says nothing of itself, as nginx does by
// default, gives nobody the rights of a program on the machine. The control is a
// service that is open to everybody.
func TestPlainProxyOpensNothing(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]int{"--public-draw=false": 401, "--public-draw": 200} {
		s := spring(t, stocktest.Migrated(t, "sqlite")).serve(flag)
		listen := servertest.FreeAddr(t)
		servertest.StartNginx(t, listen, "server { listen "+listen+"; location / { proxy_pass "+s.url+"; } }")
		s.url = "http://" + listen
		status, body, err := s.draw("spring", "u", "")
		require.NoError(t, err)
		require.Equal(t, want, status, body)
		status, _, err = s.ask("GET", "/metrics", "")
		require.NoError(t, err)
		require.Equal(t, 401, status)
		if want == 401 {
			status, body, err = s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer "+s.printedToken("draw"))
			require.NoError(t, err)
			require.Equal(t, 200, status, body)
		}
	}
}
