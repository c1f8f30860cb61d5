package http

import (
	"bufio"
	"io"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMalformedHTTPIsRefused: net/http itself answers bytes that are not a request, and
// closes the connection; no handler is called.
func TestMalformedHTTPIsRefused(t *testing.T) {
	t.Parallel()
	f := &fake{}
	address := served(t, newServer(t, f))
	for request, status := range map[string]int{
		"FOO\r\n\r\n": 400,
		"GET /pools/%zz HTTP/1.1\r\nHost: x\r\n\r\n":                           400,
		"GET /livez HTTP/1.1\r\n\r\n":                                          400,
		"GET /livez HTTP/1.1\r\nHost: x\r\nBad name: x\r\n\r\n":                400,
		"POST /draw HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n":         400,
		"POST /draw HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n":            417,
		"GET / HTTP/1.1\r\nX-Big: " + strings.Repeat("a", headerBytesMax+4096): 431,
		"POST /draw HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n":    501,
		"GET /livez HTTP/3.0\r\nHost: x\r\n\r\n":                               505,
	} {
		conn := dial(t, address)
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err := io.WriteString(conn, request)
		require.NoError(t, err)
		answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, status, answer.StatusCode, request[:min(len(request), 60)])
		require.True(t, answer.Close)
		require.NotContains(t, answer.Header.Get("Content-Type"), "json")
		require.NoError(t, answer.Body.Close())
	}
	require.Nil(t, f.last())
}

// TestOddRequestsAreProblems: a handler answers every request that net/http can read,
// including OPTIONS and CONNECT without a path.
func TestOddRequestsAreProblems(t *testing.T) {
	t.Parallel()
	address := served(t, newServer(t, &fake{}))
	for request, want := range map[string]string{
		"POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}": "invalid-request",
		"OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":                                                           "not-found",
		"CONNECT a:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n":                                                         "not-found",
	} {
		conn := dial(t, address)
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		_, err := io.WriteString(conn, request)
		require.NoError(t, err)
		answer, err := nethttp.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		require.Equal(t, want, problemIn(t, answer).Code, request)
	}
}
