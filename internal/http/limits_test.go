package http

import (
	"bufio"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
)

// served starts the server as Serve would, on loopback.
func served(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveUntilEnd(t, s, l)
	return l.Addr().String()
}

func TestEndlessBodyIsCutOff(t *testing.T) {
	addr := served(t, newServer(t, &fake{}))
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	require.NoError(t, err)
	chunk := []byte("1000\r\n" + strings.Repeat(" ", 0x1000) + "\r\n")
	sent := 0
	for ; sent < 100<<20; sent += len(chunk) {
		if _, err = conn.Write(chunk); err != nil {
			break
		}
	}
	require.Error(t, err, "the server closes")
	require.Less(t, sent, 20<<20, "what the kernel's buffers held, at most")
}

func TestHugeBodyIsRefusedBeforeItIsRead(t *testing.T) {
	addr := served(t, newServer(t, &fake{}))
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 9999999999\r\n\r\n")
	require.NoError(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.True(t, answer.Close)
	require.Equal(t, "body-too-large", problemIn(t, answer).Code)
}

// TestRefusalOfALargeBodyIsRead: a caller that sends a whole file before it reads any
// byte of the answer still gets the refusal.
func TestRefusalOfALargeBodyIsRead(t *testing.T) {
	addr := served(t, newServer(t, &fake{}))
	for _, tc := range []struct {
		token, contentType string
		size               int
		code               string
	}{
		{adminToken, "text/csv", api.FileMax + 1, "body-too-large"},
		{adminToken, "text/plain", api.FileMax, "unsupported-media-type"},
		{"wrong-token", "text/csv", api.FileMax, "unauthorized"},
	} {
		conn, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = fmt.Fprintf(conn, "POST /admin/pools/p/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
			tc.token, tc.contentType, tc.size)
		require.NoError(t, err)
		_, err = io.WriteString(conn, strings.Repeat("\n", tc.size))
		require.NoError(t, err, tc.code)
		answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, tc.code)
		defer answer.Body.Close()
		require.Equal(t, tc.code, problemIn(t, answer).Code)
	}
}

// TestDrainIsNoLatency: no histogram contains the time for which a refused caller
// sends. Otherwise a caller without a token could raise the alert for slow draws.
func TestDrainIsNoLatency(t *testing.T) {
	s := newServer(t, &fake{})
	s.limits.read = time.Minute
	conn, err := net.Dial("tcp", served(t, s))
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", drainMin)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(do(s, asAdmin("GET", "/metrics", "")).Body.String(), `drawsvc_http_request_duration_seconds_count{method="POST",route="/draw"} 1`)
	}, s.limits.read/2, 10*time.Millisecond, "the request is measured before its body has come")
	_, err = io.WriteString(conn, strings.Repeat(" ", drainMin))
	require.NoError(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, "body-too-large", problemIn(t, answer).Code)
}

func TestSlowBodyIsNotWaitedFor(t *testing.T) {
	s := newServer(t, &fake{})
	s.limits.read = 200 * time.Millisecond
	conn, err := net.Dial("tcp", served(t, s))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	_, err = io.WriteString(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
	require.NoError(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	defer answer.Body.Close()
	p := problemIn(t, answer)
	require.Equal(t, "request-timeout", p.Code)
	require.Equal(t, "none", p.Outcome)
	require.True(t, answer.Close)
}

func TestSlowHeadersAreNotWaitedFor(t *testing.T) {
	s := newServer(t, &fake{})
	s.limits.header, s.limits.read = 200*time.Millisecond, time.Minute
	conn := dial(t, served(t, s))
	_, _ = io.WriteString(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nX-Slow: ") // it may already be closed
	rest, err := io.ReadAll(conn)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "closed, with what was not read or without")
	require.NotContains(t, string(rest), "200 OK")
}

// TestEmptyChunksAreNoBody: for a call without a body, a chunked body without content
// counts as no body, with or without a Content-Type, and the next request on the
// connection is answered. The controls are bodies with content but without a
// Content-Type.
func TestEmptyChunksAreNoBody(t *testing.T) {
	address := served(t, newServer(t, &fake{}, func(c *Config) { c.WakeJobs = func() {} }))
	for _, c := range []struct {
		header, body string
		status       int
	}{
		{"", "0\r\n\r\n", 202}, {"Content-Type: application/json\r\n", "0\r\n\r\n", 202},
		{"Content-Type: application/json\r\n", "2\r\n{}\r\n0\r\n\r\n", 202},
		{"", "2\r\n{}\r\n0\r\n\r\n", 415}, {"", "1\r\nx\r\n0\r\n\r\n", 415},
	} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = fmt.Fprintf(conn, "POST /admin/jobs/audit/run HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n%sTransfer-Encoding: chunked\r\n\r\n%sGET /livez HTTP/1.1\r\nHost: x\r\n\r\n", adminToken, c.header, c.body)
		require.NoError(t, err)
		answers := bufio.NewReader(conn)
		answer, err := nethttp.ReadResponse(answers, nil)
		require.NoError(t, err)
		require.Equal(t, c.status, answer.StatusCode, "%q %q", c.header, c.body)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		if c.status == 202 {
			answer, err = nethttp.ReadResponse(answers, nil)
			require.NoError(t, err)
			require.Equal(t, nethttp.StatusOK, answer.StatusCode)
			require.NoError(t, answer.Body.Close())
		}
		require.NoError(t, conn.Close())
	}
}

// TestChunksBeatTheLength: for a request with both a length and chunks, net/http uses
// the chunks, and the next request begins after them. docs/reverse-proxy.md states
// this, because a proxy that uses the other length would mix two callers' requests.
func TestChunksBeatTheLength(t *testing.T) {
	conn, err := net.Dial("tcp", served(t, newServer(t, &fake{})))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
	body := `{"pool":"p","user":"u"}`
	_, err = fmt.Fprintf(conn, "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 3\r\n"+
		"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: x\r\n\r\n", len(body), body)
	require.NoError(t, err)
	answers := bufio.NewReader(conn)
	for _, what := range []string{`"pool":"p"`, `"live"`} {
		answer, err := nethttp.ReadResponse(answers, nil)
		require.NoError(t, err)
		got, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, nethttp.StatusOK, answer.StatusCode)
		require.Contains(t, string(got), what)
	}
}
