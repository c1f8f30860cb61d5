package conns

import (
	"log/slog"
	"net"
	nethttp "net/http"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// isShared reports true for this machine, unknown addresses, and the proxies of
// 10.0.0.0/8.
func isShared(a netip.Addr) bool {
	return !a.IsValid() || a.IsLoopback() || netip.MustParsePrefix("10.0.0.0/8").Contains(a)
}

// someSet returns a set with a maximum number of connections.
func someSet(most int) *Set {
	return New(most, isShared, slog.New(slog.DiscardHandler), prometheus.NewCounter(prometheus.CounterOpts{Name: "reclaimed"}))
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// TestDrawsAreNotWatched: a connection is unwatched only while a draw is decided, and
// nothing that was sent meanwhile is lost.
func TestDrawsAreNotWatched(t *testing.T) {
	caller, accepted := net.Pipe()
	defer caller.Close()
	c := &Conn{Conn: accepted}
	sent := make(chan error, 1)
	go func() {
		_, err := caller.Write([]byte("next"))
		sent <- err
	}()
	Of(With(t.Context(), c)).SetDrawing(true)
	one := make([]byte, 1)
	n, err := c.Read(one)
	require.NoError(t, err)
	require.Zero(t, n, "the watch reads that there is nothing")
	more := make([]byte, 2)
	n, err = c.Read(more)
	require.NoError(t, err)
	require.Equal(t, "ne", string(more[:n]), "what is no watch is read")
	c.SetDrawing(false)
	n, err = c.Read(one)
	require.NoError(t, err)
	require.Equal(t, "x", string(one[:n]))
	_, err = c.Read(one)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	require.Nil(t, Of(t.Context()), "a connection of somebody else's server")
}

// counting counts the deadlines that a connection is given.
type counting struct {
	net.Conn
	reads, writes int
}

func (c *counting) SetReadDeadline(t time.Time) error {
	c.reads++
	return c.Conn.SetReadDeadline(t)
}

func (c *counting) SetWriteDeadline(t time.Time) error {
	c.writes++
	return c.Conn.SetWriteDeadline(t)
}

// TestDeadlinesArePassedWhenNeeded: the last deadline holds for the next read or write,
// a new one for those that are waiting, and none costs more than one timer.
func TestDeadlinesArePassedWhenNeeded(t *testing.T) {
	t.Parallel()
	caller, accepted := net.Pipe()
	defer caller.Close()
	under := &counting{Conn: accepted}
	c := &Conn{Conn: under}
	for range 3 {
		require.NoError(t, c.SetDeadline(time.Now().Add(-time.Hour)))
		require.NoError(t, c.SetDeadline(time.Time{}))
	}
	require.Zero(t, under.reads+under.writes, "nothing reads or writes")

	sent := make(chan error, 1)
	go func() {
		_, err := caller.Write([]byte("a"))
		sent <- err
	}()
	_, err := c.Read(make([]byte, 1))
	require.NoError(t, err, "the last deadline has none")
	require.NoError(t, <-sent)
	require.Equal(t, 1, under.reads)

	require.NoError(t, c.SetDeadline(time.Now().Add(-time.Hour)))
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	_, err = c.Write([]byte("b"))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	require.NoError(t, c.SetReadDeadline(time.Time{}))
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	require.Eventually(t, func() bool {
		c.read.mu.Lock()
		defer c.read.mu.Unlock()
		return c.read.waiting == 1
	}, time.Minute, time.Millisecond)
	require.NoError(t, c.SetReadDeadline(time.Now().Add(-time.Hour)))
	require.ErrorIs(t, <-read, os.ErrDeadlineExceeded, "a deadline ends the read that waits")

	require.NoError(t, c.Close())
	require.NoError(t, c.SetDeadline(time.Now()), "as net/http sets it")
	_, err = c.Read(make([]byte, 1))
	require.Error(t, err)
}

// TestOneAddressHasHalfOfTheConnections: unless many callers have the address,
// connections beyond half are refused, and other addresses find room.
func TestOneAddressHasHalfOfTheConnections(t *testing.T) {
	t.Parallel()
	one, other, proxy := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("192.0.2.2"), netip.MustParseAddr("10.0.0.1")
	s := someSet(8)
	closed := make(chan struct{})
	admit := func(from netip.Addr) (*Conn, admission) {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		c := &Conn{Conn: near, ended: s.ended, peer: from}
		became := s.admit(c, closed)
		if became == admissionGiven {
			s.Changed(c, nethttp.StateActive)
		}
		return c, became
	}
	var all []*Conn
	for range 4 {
		c, became := admit(one)
		require.Equal(t, admissionGiven, became)
		all = append(all, c)
	}
	_, became := admit(netip.MustParseAddr("2001:db8::2"))
	require.Equal(t, admissionRefused, became, "the same /64")
	_, became = admit(other)
	require.Equal(t, admissionGiven, became)
	s.Changed(all[2], nethttp.StateIdle)
	_, became = admit(one)
	require.Equal(t, admissionGiven, became, "for its idle one")
	_, became = admit(one)
	require.Equal(t, admissionRefused, became)
	require.NoError(t, all[0].Close())
	require.NoError(t, all[2].Close(), "it was counted out before")
	_, became = admit(one)
	require.Equal(t, admissionGiven, became)
	_, became = admit(one)
	require.Equal(t, admissionRefused, became)

	s = someSet(8)
	for _, from := range []netip.Addr{proxy, netip.MustParseAddr("127.0.0.1"), {}} {
		for range 2 { // with the others, more than half
			_, became = admit(from)
			require.Equal(t, admissionGiven, became)
		}
	}
	for range 2 {
		_, became = admit(proxy)
		require.Equal(t, admissionGiven, became)
	}
	close(closed)
	_, became = admit(proxy)
	require.Equal(t, admissionEnded, became)
}

// TestListenerEndsWhileItIsFull: a connection that waits for room is notified.
func TestListenerEndsWhileItIsFull(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := someSet(1)
	l := Listen(inner, s)
	first, second := dial(t, inner.Addr().String()), make(chan error, 1)
	accepted, err := l.Accept()
	require.NoError(t, err)
	defer accepted.Close()
	require.Equal(t, first.LocalAddr().(*net.TCPAddr).AddrPort().Addr(), accepted.(*Conn).peer)
	s.Changed(accepted, nethttp.StateActive)
	dial(t, inner.Addr().String())
	go func() { _, err := l.Accept(); second <- err }()
	time.Sleep(roomEvery / 2)
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-second, net.ErrClosed)
}
