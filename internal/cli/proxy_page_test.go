package cli

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// proxyPage is the page about reverse proxies.
const proxyPage = "../../docs/reverse-proxy.md"

// proxyBlocks returns the page's configurations: that for one deployment, the location
// for operators, and that for two deployments.
func proxyBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(proxyPage)
	require.NoError(t, err)
	for _, found := range regexp.MustCompile("(?s)```nginx\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, found[1])
	}
	require.Len(t, blocks, 3)
	return blocks
}

// TestReverseProxyPage: with the page's nginx in front of the service, the service
// recognizes its requests, and only the public paths can be reached.
func TestReverseProxyPage(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--draw-token", "a-token-of-the-test", "--trusted-proxies", "127.0.0.1")
	listen := servertest.FreeAddr(t)
	servertest.StartNginx(t, listen, servertest.NginxOfPage(t, proxyPage, listen, strings.TrimPrefix(s.url, "http://")))
	direct := s.url
	s.url = "http://" + listen
	bearer := []string{"Authorization", "Bearer a-token-of-the-test"}
	for path, want := range map[string]int{"/pools/spring": 200, "/problems/sold-out": 200, "/admin/pools": 404, "/metrics": 404, "/livez": 404, "/drawx": 404} {
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

// TestReverseProxyPageForOperators: with the page's location the admin page and its calls
// pass nginx. Addresses that the location does not allow get 403.
func TestReverseProxyPageForOperators(t *testing.T) {
	t.Parallel()
	blocks := proxyBlocks(t)
	s := spring(t, stocktest.Migrated(t, "sqlite")).serve()
	direct := s.url
	for allowed, want := range map[string]int{"127.0.0.1": http.StatusOK, "203.0.113.9": http.StatusForbidden} {
		listen := servertest.FreeAddr(t)
		config := servertest.NginxOfPage(t, proxyPage, listen, strings.TrimPrefix(direct, "http://"))
		location := strings.Replace(blocks[1], "allow 127.0.0.1;", "allow "+allowed+";", 1)
		servertest.StartNginx(t, listen, strings.Replace(config, "    location / {", location+"    location / {", 1))
		s.url = "http://" + listen
		for _, path := range []string{"/ui", "/ui/app.js", "/admin/pools"} {
			status, body, err := s.ask("GET", path, "", "Authorization", "Bearer "+s.token)
			require.NoError(t, err)
			require.Equal(t, want, status, "%s: %s", path, body)
		}
	}
	s.url = direct
}

// TestPlainProxyOpensNothing: a proxy that sends no headers about itself, like nginx by
// default, gives no caller the rights of a program on the machine. The control is a
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
