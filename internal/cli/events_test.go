package cli

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestManyPages: streams take at most half of the connections. Half of the listeners
// never read. Draws continue as without listeners, and the streams release everything
// when they end.
func TestManyPages(t *testing.T) {
	const most = 400
	p := on(t, stocktest.Migrated(t, "sqlite"))
	s := p.serve("--connections-max", fmt.Sprint(2*most))
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","prizes":[{"id":"gold","name":"Gold","stock":100000}]}`)
	before := runtime.NumGoroutine()

	var events atomic.Int64
	var all []net.Conn
	for i := range most {
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		require.NoError(t, err)
		all = append(all, conn)
		_, err = fmt.Fprintf(conn, "GET /admin/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", s.token)
		require.NoError(t, err)
		lines := bufio.NewScanner(conn)
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), " 200 ")
		if i%2 == 0 {
			continue // this listener never reads further
		}
		go func() {
			for lines.Scan() {
				if strings.HasPrefix(lines.Text(), "data: ") {
					events.Add(1)
				}
			}
		}()
	}
	status, body, err := s.ask("GET", "/admin/events", "", "Authorization", "Bearer "+s.token)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, `"code":"overloaded"`)

	for i := range 200 {
		s.won("spring", fmt.Sprintf("user-%d", i), "")
	}
	least := events.Load()
	require.Eventually(t, func() bool { return events.Load() >= least+most }, commandMax, 10*time.Millisecond, "those that read get events")

	for _, conn := range all {
		conn.Close()
	}
	require.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+20 }, commandMax, 10*time.Millisecond, "goroutines of the streams")
	status, _, err = s.ask("HEAD", "/admin/events", "", "Authorization", "Bearer "+s.token)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "there is room again")
	require.Zero(t, s.end().code, "a stream does not delay the end")
}

// TestEventsEndWithTheService: a page that listens does not delay the shutdown.
func TestEventsEndWithTheService(t *testing.T) {
	t.Parallel()
	s := on(t, stocktest.Migrated(t, "sqlite")).serve()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /admin/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", s.token)
	require.NoError(t, err)
	lines := bufio.NewScanner(conn)
	require.True(t, lines.Scan())
	require.Contains(t, lines.Text(), " 200 ")
	o := s.end()
	require.Zero(t, o.code)
	require.NotContains(t, o.stderr, "cut off")
}
