package http

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	nethttp "net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// caller is a connection to which a test writes raw requests.
type caller struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, addr string) *caller {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.SetDeadline(time.Now().Add(30*time.Second)))
	return &caller{c, bufio.NewReader(c)}
}

// get requests a path and keeps the connection.
func (c *caller) get(path string) error {
	if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path); err != nil {
		return err
	}
	answer, err := nethttp.ReadResponse(c.answers, nil)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

// idleCallers returns connections with one request each. dead returns how many of them
// the server has closed.
func idleCallers(t *testing.T, addr string, n int) (all []*caller, dead func() int) {
	t.Helper()
	for range n {
		c := dial(t, addr)
		require.NoError(t, c.get("/livez"))
		all = append(all, c)
	}
	return all, func() (dead int) {
		for _, c := range all {
			if c.get("/livez") != nil {
				dead++
			}
		}
		return dead
	}
}

// TestConnectionsAreBounded: idle connections are closed to make room for new ones, the
// longest idle ones first. The broken double has no bound, and keeps all connections.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const most, many = 8, 40
	var log bytes.Buffer
	s := newServer(t, &fake{}, func(c *Config) {
		c.ConnectionsMax, c.Log = most, slog.New(slog.NewJSONHandler(&log, nil))
	})
	addr := served(t, s)
	all, dead := idleCallers(t, addr, many)
	require.LessOrEqual(t, s.connections.Count(), most)
	require.NoError(t, all[many-1].get("/livez"), "the newest is there")
	require.Error(t, all[0].get("/livez"), "the oldest is not")
	require.GreaterOrEqual(t, dead(), many-most)
	metrics := do(s, asAdmin("GET", "/metrics", "")).Body.String()
	require.Contains(t, metrics, "drawsvc_http_connections_max 8\n")
	require.Contains(t, metrics, fmt.Sprintf("drawsvc_http_connections_reclaimed_total %d\n", many-most))
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("the most connections are open")), "one line a minute")

	unbounded := newServer(t, &fake{})
	_, dead = idleCallers(t, served(t, unbounded), many)
	require.Zero(t, dead())
}

// TestSilentConnectionsMakeRoom: connections without any request are closed like idle
// ones.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, func(c *Config) { c.ConnectionsMax = 4 })
	addr := served(t, s)
	for range 4 {
		dial(t, addr)
	}
	require.NoError(t, dial(t, addr).get("/livez"))
}

// TestConnectionsAtWorkAreKept: while all connections are busy, a new connection waits.
// It is served after one of them has its answer. A shutdown does not wait for the
// connections, which are then idle.
func TestConnectionsAtWorkAreKept(t *testing.T) {
	t.Parallel()
	f, started, letGo := held()
	s := newServer(t, f, func(c *Config) { c.ConnectionsMax = 2 })
	server := run(t, s)
	addr := server.url[len("http://"):]
	answers := make(chan answered, 2)
	for range 2 {
		go func() { answers <- postDraw(ownClient(t), server.url) }()
		<-started
	}
	late := make(chan error, 1)
	waits := dial(t, addr)
	go func() { late <- waits.get("/livez") }()
	select {
	case err := <-late:
		require.Fail(t, "it must wait", "%v", err)
	case <-time.After(300 * time.Millisecond):
	}
	close(letGo)
	require.NoError(t, <-late)
	for range 2 {
		require.Equal(t, 200, (<-answers).status)
	}
	server.end()
	require.NoError(t, <-server.done)
	require.Zero(t, s.connections.Count(), "every connection is counted out again")
}
