package http

import (
	"bufio"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUnreadRequestsAreProblems: what net/http answers by itself is a problem too,
// with the headers of every answer.
func TestUnreadRequestsAreProblems(t *testing.T) {
	address := served(t, newServer(t, &fake{}))
	for request, detail := range map[string]string{
		"FOO\r\n\r\n": "no HTTP",
		"GET /pools/%zz HTTP/1.1\r\nHost: x\r\n\r\n":                           "no HTTP",
		"GET /livez HTTP/1.1\r\n\r\n":                                          "missing required Host header",
		"GET /livez HTTP/1.1\r\nHost: x\r\nBad name: x\r\n\r\n":                "invalid header name",
		"GET /livez HTTP/3.0\r\nHost: x\r\n\r\n":                               "unsupported protocol version",
		"POST /draw HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":    "unsupported transfer encoding",
		"POST /draw HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":         "no HTTP",
		"POST /draw HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n":            "Expect",
		"GET / HTTP/1.1\r\nX-Big: " + strings.Repeat("a", headerBytesMax+4096): "too long",
	} {
		t.Run(request[:min(len(request), 40)], func(t *testing.T) {
			conn := dial(t, address)
			require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
			_, err := io.WriteString(conn, request)
			require.NoError(t, err)
			answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
			require.NoError(t, err)
			defer answer.Body.Close()
			p := problemIn(t, answer)
			require.Equal(t, []any{400, "invalid-request", "none"}, []any{answer.StatusCode, p.Code, p.Outcome})
			require.Contains(t, p.Detail, detail)
			require.True(t, answer.Close)
			require.NotEmpty(t, answer.Header.Get("Date"))
			require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
			require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
		})
	}
}

// TestOtherAnswersAreNotRewritten: a handler's answer of the same status, and
// OPTIONS of no path.
func TestOtherAnswersAreNotRewritten(t *testing.T) {
	address := served(t, newServer(t, &fake{}))
	for request, want := range map[string]string{
		"POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}": "invalid-request",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":                                                           "not-found",
		"CONNECT a:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":                                                         "not-found",
	} {
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		p := problemIn(t, answer)
		require.Equal(t, want, p.Code, request)
		require.NotContains(t, p.Detail, "cannot be read")
	}
}
