package http

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/csv"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
)

// statusLine is the beginning of net/http's answer to an Expect header. The server must
// not mistake a caller's text for such an answer, at whatever position a write contains
// the text.
const statusLine = "HTTP/1.1 417 "

// answerHead is the complete head of an answer that net/http itself gives.
const answerHead = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// rotated returns n bytes of a repeated text, beginning at a byte of it.
func rotated(text string, begin, n int) string {
	begin %= len(text)
	return strings.Repeat(text, n/len(text)+2)[begin:][:n]
}

// hostile is a store whose texts look like HTTP answers. Rows have the same length, and
// each row's text begins one byte later than that of the previous row. So, if a write
// of the server begins within a text, then over all exports a write begins at every
// byte of the text.
type hostile struct {
	fakeStore
	rows []draw.Award
}

// firstAfter is the version after which exports begin: later versions have the same
// length.
const firstAfter = 1000

// hostileText is the length of a row's text: writes of the server begin at its end for
// some exports, and within it for others.
const hostileText = 120

func newHostile(rows int) hostile {
	h := hostile{fakeStore: fakeStore{&fake{}}, rows: make([]draw.Award, rows)}
	for i := range h.rows {
		text := rotated(statusLine, i, hostileText)
		h.rows[i] = award(text, text)
		h.rows[i].PrizeName = text
		h.rows[i].Version = int64(i + 1)
	}
	h.rows[0].PrizeName = answerHead
	return h
}

func (h hostile) server(t *testing.T) *Server {
	return undescribed(newServer(t, h.fake, func(c *Config) { c.Store = h }))
}

func (h hostile) Pool(_ context.Context, id string) (draw.Pool, error) {
	return draw.Pool{ID: id, Name: answerHead, Version: int64(len(h.rows))}, nil
}

// page returns the rows of a page. Versions begin at 1.
func (h hostile) page(after int64, limit int) []draw.Award {
	rest := h.rows[min(after, int64(len(h.rows))):]
	return rest[:min(limit, len(rest))]
}

func (h hostile) Awards(_ context.Context, _ string, after int64, limit int) ([]draw.Award, error) {
	return h.page(after, limit), nil
}

func (h hostile) UserAwards(_ context.Context, _, _ string, after int64, limit int) ([]draw.Award, error) {
	return h.page(after, limit), nil
}

func (h hostile) Moves(_ context.Context, _ string, after int64, limit int) ([]draw.Move, error) {
	return api.ShowEach(h.page(after, limit), func(a *draw.Award) draw.Move {
		return draw.Move{Version: a.Version, PrizeID: "gold", Delta: 1, Reason: a.PrizeName, Actor: a.UserID, At: a.At, Stocked: 1}
	}), nil
}

func (h hostile) Log(_ context.Context, _ string, after int64, limit int) ([]draw.Entry, error) {
	return api.ShowEach(h.page(after, limit), func(a *draw.Award) draw.Entry { return draw.Entry{Award: a} }), nil
}

// wire is how an export is requested.
type wire struct {
	name, version, headers string
	tls                    *tls.Config
}

func wires() []wire {
	return []wire{
		{name: "HTTP/1.0", version: "1.0"},
		{name: "HTTP/1.1", version: "1.1", headers: "Connection: close\r\n"},
		{name: "gzip", version: "1.1", headers: "Connection: close\r\nAccept-Encoding: gzip\r\n"},
	}
}

// asked is a call that is being answered.
type asked struct {
	conn   net.Conn
	answer *nethttp.Response
	body   io.Reader
}

// begin requests an export and reads the head of its answer. buffer is the buffer size
// of the caller's kernel, 0 for the usual one.
func (w wire) begin(t *testing.T, address, method, path, accept string, buffer int) asked {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(2*time.Minute)))
	if buffer > 0 {
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(buffer))
	}
	if w.tls != nil {
		conn = tls.Client(conn, w.tls)
	}
	_, err = fmt.Fprintf(conn, "%s %s HTTP/%s\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: %s\r\nX-Request-Id: a\r\n%s\r\n",
		method, path, w.version, adminToken, accept, w.headers)
	require.NoError(t, err)
	answer, err := nethttp.ReadResponse(bufio.NewReaderSize(conn, 512), nil)
	require.NoError(t, err)
	require.Equal(t, nethttp.StatusOK, answer.StatusCode)
	a := asked{conn, answer, answer.Body}
	if answer.Header.Get("Content-Encoding") == "gzip" {
		a.body, err = gzip.NewReader(answer.Body)
		require.NoError(t, err)
	}
	return a
}

// read returns the bytes of an answer that could be read, and the error at its end, nil
// for a complete answer.
func (a asked) read() ([]byte, error) {
	defer a.conn.Close()
	return io.ReadAll(a.body)
}

// exports returns the exports of a pool: the path of each, and its Accept header. Those
// of JSON are pages.
func exports() map[string]string {
	return map[string]string{
		"/admin/pools/p/awards?after=":              typeCSV,
		"/admin/pools/p/moves?after=":               typeCSV,
		"/admin/pools/p/log?after=":                 typeNDJSON,
		"/admin/pools/p/awards?limit=1000&after=":   typeJSON,
		"/admin/pools/p/moves?limit=1000&after=":    typeJSON,
		"/admin/pools/p/log?limit=1000&after=":      typeJSON,
		"/pools/p/users/u/awards?limit=1000&after=": typeJSON,
	}
}

// writtenBodies returns the output of the handler for each export, by path. There is one
// output for each byte of the text: each export begins after a different version.
func writtenBodies(t *testing.T, s *Server) map[string][][]byte {
	t.Helper()
	bodies := map[string][][]byte{}
	for path, accept := range exports() {
		for after := range len(statusLine) {
			w := do(s, asAdmin("GET", fmt.Sprint(path, firstAfter+after), "", "Accept", accept))
			require.Equal(t, nethttp.StatusOK, w.Code, w.Body)
			bodies[path] = append(bodies[path], w.Body.Bytes())
		}
	}
	return bodies
}

// judgeWhole returns the exports whose bytes over the wire differ from the output of
// the handler.
func judgeWhole(t *testing.T, written map[string][][]byte, address string, w wire) (differing map[string]int) {
	t.Helper()
	differing = map[string]int{}
	for path, accept := range exports() {
		for after, want := range written[path] {
			got, err := w.begin(t, address, "GET", fmt.Sprint(path, firstAfter+after), accept, 0).read()
			if err != nil || !bytes.Equal(want, got) {
				differing[path]++
			}
		}
	}
	return differing
}

// TestExportsAreWhole: each export equals the bytes that the handler wrote, over each
// version of HTTP. That holds for hostile texts, wherever the server's writes begin.
func TestExportsAreWhole(t *testing.T) {
	t.Parallel()
	const rows = firstAfter + len(statusLine) + 2001 // three pages; TestExportsEqualTheAudit has more
	s := newHostile(rows).server(t)
	moves, err := csv.NewReader(do(s, asAdmin("GET", "/admin/pools/p/moves", "", "Accept", typeCSV)).Body).ReadAll()
	require.NoError(t, err)
	require.Len(t, moves, rows+1)
	written, address := writtenBodies(t, s), served(t, s)
	for _, w := range wires() {
		require.Empty(t, judgeWhole(t, written, address, w), w.name)
	}
	require.Empty(t, judgeWhole(t, written, behindNginx(t, address), wires()[1]), "through nginx")
}

// rewriting is a broken double: its connections search each write for an answer that
// net/http itself gave, and replace it. An export is written in many pieces, and a
// piece may begin with a text of a caller.
type rewriting struct{ net.Listener }

// Accept implements net.Listener.
func (l rewriting) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return rewriter{c}, err
}

type rewriter struct{ net.Conn }

// Write implements io.Writer.
func (r rewriter) Write(b []byte) (int, error) {
	if !bytes.HasPrefix(b, []byte(statusLine)) {
		return r.Conn.Write(b)
	}
	_, err := io.WriteString(r.Conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
	return len(b), err
}

// TestExportsAreWholeCatches: the test fails for a server whose connections rewrite
// bytes.
func TestExportsAreWholeCatches(t *testing.T) {
	t.Parallel()
	s := newHostile(firstAfter + len(statusLine) + 1001).server(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serveUntilEnd(t, s, rewriting{l})
	written := writtenBodies(t, s)
	for _, w := range wires()[:2] { // gzip shows no text
		require.NotEmpty(t, judgeWhole(t, written, l.Addr().String(), w), w.name)
	}
}
