package http

import (
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// linked is a conn and the other end of its link, which says nothing.
func linked(t *testing.T) (c *conn, other net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	other, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	accepted, err := l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = accepted.Close(); _ = other.Close() })
	return &conn{Conn: accepted}, other
}

// TestDeadlines: whatever deadlines come after one another, the one that was
// set last holds, for reading and for writing.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	const short, long = 60 * time.Millisecond, 300 * time.Millisecond
	filling := make([]byte, 16<<20) // more than the link takes
	for name, deadlines := range map[string][]time.Duration{
		"one": {long}, "put off": {short, long}, "put off twice": {short, 2 * short, long}, "drawn near": {time.Hour, long}, "taken back": {short, 0, long},
	} {
		for kind, do := range map[string]func(c *conn, deadline time.Time) error{
			"read":  func(c *conn, at time.Time) error { return c.SetReadDeadline(at) },
			"write": func(c *conn, at time.Time) error { return c.SetWriteDeadline(at) },
			"both":  func(c *conn, at time.Time) error { return c.SetDeadline(at) },
		} {
			c, _ := linked(t)
			begun := time.Now()
			for _, d := range deadlines {
				at := begun.Add(d)
				if d == 0 {
					at = time.Time{}
				}
				require.NoError(t, do(c, at))
			}
			var err error
			if kind == "write" {
				_, err = c.Write(filling)
			} else {
				_, err = c.Read(make([]byte, 10))
			}
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "%s, %s", kind, name)
			require.GreaterOrEqual(t, time.Since(begun), long, "%s, %s", kind, name)
			require.Less(t, time.Since(begun), time.Minute, "%s, %s", kind, name)
		}
	}
}

// TestDeadlineOverIsOver: a reader notices a deadline that somebody else
// sets into the past, and what was written before a deadline counts.
func TestDeadlineOverIsOver(t *testing.T) {
	t.Parallel()
	c, other := linked(t)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Hour)))
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 10))
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	require.NoError(t, c.SetReadDeadline(time.Unix(1, 0)))
	select {
	case err := <-ended:
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	case <-time.After(10 * time.Second):
		t.Fatal("the reader did not notice")
	}
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Millisecond)))
	require.NoError(t, c.SetReadDeadline(time.Time{}))
	go func() {
		time.Sleep(100 * time.Millisecond)
		_, _ = other.Write([]byte("late"))
	}()
	n, err := c.Read(make([]byte, 10))
	require.NoError(t, err, "there is no deadline any more")
	require.Equal(t, 4, n)

	// A write that goes on over a deadline that was put off loses nothing.
	const size = 16 << 20
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(30*time.Millisecond)))
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Minute)))
	read := make(chan int, 1)
	go func() {
		time.Sleep(100 * time.Millisecond)
		total, buf := 0, make([]byte, 1<<20)
		for total < size {
			n, err := other.Read(buf)
			if total += n; err != nil {
				break
			}
		}
		read <- total
	}()
	n, err = c.Write(make([]byte, size))
	require.NoError(t, err)
	require.Equal(t, size, n)
	require.Equal(t, size, <-read)
}
