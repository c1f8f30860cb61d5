package http

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/http/gate"
)

// refusedCalls are calls that are refused before their body is read, by status.
func refusedCalls() map[int]string {
	const json, length = "Content-Type: application/json\r\n", "Content-Length: 100\r\n"
	auth := "Authorization: Bearer " + adminToken + "\r\n"
	return map[int]string{
		401: "POST /admin/pools HTTP/1.1\r\nHost: x\r\n" + json + length,
		403: "POST /admin/pools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer draw\r\n" + json + length,
		404: "POST /nothing HTTP/1.1\r\nHost: x\r\n" + json + length,
		405: "POST /livez HTTP/1.1\r\nHost: x\r\n" + json + length,
		413: "POST /admin/pools HTTP/1.1\r\nHost: x\r\n" + auth + json + fmt.Sprintf("Content-Length: %d\r\n", bodyMax+1),
		415: "POST /admin/pools HTTP/1.1\r\nHost: x\r\n" + auth + length,
		400: "POST /draw?x=1 HTTP/1.1\r\nHost: x\r\n" + auth + json + "Transfer-Encoding: chunked\r\n",
		429: "POST /admin/pools HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n" + json + length,
	}
}

// judgeRefusals returns an error if a refusal waits for a body that never arrives, or if
// its connection stays open.
func judgeRefusals(t *testing.T, addr string) error {
	t.Helper()
	for status, head := range refusedCalls() {
		c := dial(t, addr)
		if _, err := io.WriteString(c, head+"\r\n"); err != nil {
			return err
		}
		answer, err := nethttp.ReadResponse(c.answers, nil)
		if err != nil {
			return fmt.Errorf("%d: %w", status, err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		if answer.StatusCode != status || !answer.Close {
			return fmt.Errorf("%d: is answered %d, close %v", status, answer.StatusCode, answer.Close)
		}
	}
	return nil
}

// TestRefusalsDoNotWaitForTheBody: refusals are sent at once, and the connection is
// closed. The broken double answers as net/http does by default: after the body.
func TestRefusalsDoNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	s := undescribed(newServer(t, &fake{}, ofEveryRole))
	s.limits.read = time.Hour // with this timeout, an answer that waits for the body does not arrive in time
	for range gate.Burst {
		s.gate.Guesses.Wrong(netip.MustParseAddr("127.0.0.1"), time.Now())
	}
	s.limits.linger = time.Millisecond
	require.NoError(t, judgeRefusals(t, served(t, s)))
	require.Eventually(t, func() bool { return s.connections.Count() == 0 }, 30*time.Second, time.Millisecond, "nothing lingers")

	double := &nethttp.Server{ReadTimeout: time.Second, Handler: nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		handler := s.Handler()
		r.Body = io.NopCloser(r.Body)
		handler.ServeHTTP(withoutClose{w}, r)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = double.Serve(l) }()
	defer double.Close()
	c := dial(t, l.Addr().String())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
	_, err = io.WriteString(c, refusedCalls()[401]+"\r\n")
	require.NoError(t, err)
	_, err = nethttp.ReadResponse(c.answers, nil)
	require.Error(t, err, "it waits for the body")
}

// withoutClose is a writer whose answers keep their connection.
type withoutClose struct{ nethttp.ResponseWriter }

func (w withoutClose) WriteHeader(status int) {
	w.Header().Del("Connection")
	w.ResponseWriter.WriteHeader(status)
}

// TestSlowBodiesMakeRoom: connections whose bodies do not arrive, and those that
// linger, are closed to make room for new ones, also over TLS. So callers without a
// token cannot hold all connections.
func TestSlowBodiesMakeRoom(t *testing.T) {
	t.Parallel()
	serving, calling := certified(t)
	for name, head := range map[string]string{
		"refused": refusedCalls()[401],
		"draw":    "POST /draw HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n", // anybody may make this call
	} {
		for _, isTLS := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS %v", name, isTLS), func(t *testing.T) {
				t.Parallel()
				s := undescribed(newServer(t, &fake{}, func(c *Config) {
					if c.ConnectionsMax = 4; isTLS {
						c.TLS = serving
					}
				}))
				s.limits.read, s.limits.linger = time.Hour, time.Hour
				addr := served(t, s)
				call := func() *caller {
					c := dial(t, addr)
					if isTLS {
						c = &caller{Conn: tls.Client(c.Conn, calling)}
						c.answers = bufio.NewReader(c.Conn)
					}
					return c
				}
				for range 20 {
					_, err := io.WriteString(call(), head+"\r\n{")
					require.NoError(t, err)
				}
				require.NoError(t, call().get("/livez"))
			})
		}
	}
}

// TestRefusalKeepsAConnectionWithoutABody: the connection of a caller who sent
// everything stays open.
func TestRefusalKeepsAConnectionWithoutABody(t *testing.T) {
	t.Parallel()
	c := dial(t, served(t, newServer(t, &fake{}, withDrawToken)))
	for _, head := range []string{
		"GET /admin/pools HTTP/1.1\r\nHost: x\r\n\r\n",
		"POST /draw HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + drawToken + "\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		_, err := io.Copy(c, strings.NewReader(head))
		require.NoError(t, err)
		answer, err := nethttp.ReadResponse(c.answers, nil)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, err)
		require.False(t, answer.Close)
	}
}
