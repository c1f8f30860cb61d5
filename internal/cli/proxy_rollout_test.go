package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// balancer starts nginx in front of several instances, with the page's configuration as
// changed by edit, and returns nginx's address.
func balancer(t *testing.T, edit func(string) string, upstreams ...string) string {
	t.Helper()
	listen := servertest.FreeAddr(t)
	config := servertest.NginxOfPage(t, proxyPage, listen, upstreams...)
	servertest.StartNginx(t, listen, edit(servertest.WithoutCallerBounds(config)))
	return listen
}

func asPage(config string) string { return config }

// answers counts draws through a proxy by status and code.
func answers(t *testing.T, s *service, listen, name string, n int) map[string]int {
	t.Helper()
	through := &service{tb: t, url: "http://" + listen, client: s.client}
	counts := map[string]int{}
	for i := range n {
		status, body, err := through.draw("spring", "u", fmt.Sprintf("%s-%d", name, i))
		require.NoError(t, err)
		counts[answerOf(status, body)]++
	}
	return counts
}

// answerOf returns the status and the code of an answer.
func answerOf(status int, body string) string {
	code := regexp.MustCompile(`"code":"([^"]*)"`).FindStringSubmatch(body)
	return fmt.Sprint(status, code[min(1, len(code)):])
}

// TestProxyAsksAnotherInstance: if one instance answers 503, the proxy asks another
// one; if all do, it passes the answer on unchanged.
func TestProxyAsksAnotherInstance(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--public-draw", "--trusted-proxies", "127.0.0.1")
	draining := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte(`{"code":"draining"}`))
	}))
	t.Cleanup(draining.Close)
	away, here := strings.TrimPrefix(draining.URL, "http://"), strings.TrimPrefix(s.url, "http://")
	const won, drains = "200 []", "503 [draining]"
	require.Equal(t, map[string]int{won: 20}, answers(t, s, balancer(t, asPage, here, away), "one", 20))
	require.Equal(t, map[string]int{drains: 20}, answers(t, s, balancer(t, asPage, away, away), "all", 20))
	// The broken doubles are the page's configuration without one of the two words that
	// these cases need.
	without := func(word string) func(string) string {
		return func(config string) string {
			require.Contains(t, config, word)
			return strings.ReplaceAll(config, word, "")
		}
	}
	require.Positive(t, answers(t, s, balancer(t, without(" http_503"), here, away), "lost", 20)[drains])
	require.NotEqual(t, map[string]int{drains: 20}, answers(t, s, balancer(t, without(" max_fails=0"), away, away), "bare", 20))
}

// TestRolloutBehindProxy: three instances are restarted in sequence under load, and no
// caller notices.
func TestRolloutBehindProxy(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "postgres"))
	p.ok("stock", "add", "--pool", "spring", "--prize", "silver", "--delta", "1000000", "--reason", "more")
	var addresses []string
	var instances []*process
	begin := func(address string) *process {
		return p.start("--listen", address, "--public-draw", "--trusted-proxies", "127.0.0.1", "--shutdown-delay", "500ms")
	}
	for range 3 {
		address := servertest.FreeAddr(t)
		addresses, instances = append(addresses, address), append(instances, begin(address))
	}
	listen := balancer(t, asPage, addresses...)
	caller := &service{tb: t, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: answerMax}}
	t.Cleanup(caller.client.CloseIdleConnections)
	stop := make(chan struct{})
	var under sync.WaitGroup
	var mu sync.Mutex
	all := map[string]int{}
	for worker := range 6 {
		under.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				for answer, count := range answers(t, caller, listen, fmt.Sprintf("w%d-%d", worker, n), 1) {
					mu.Lock()
					all[answer] += count
					mu.Unlock()
				}
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	for i, address := range addresses {
		code, _ := instances[i].signal(syscall.SIGTERM)
		require.Equal(t, exitOK, code, instances[i].stderr.String())
		begin(address)
	}
	close(stop)
	under.Wait()
	t.Log(all)
	require.Len(t, all, 1)
	require.Positive(t, all["200 []"])
}
