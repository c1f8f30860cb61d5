package conns

import (
	"io"
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

// signalling signals that a read begins.
type signalling struct {
	net.Conn
	reading chan struct{}
}

func (s signalling) Read(b []byte) (int, error) {
	s.reading <- struct{}{}
	return s.Conn.Read(b)
}

// TestDeadlinesSaveTimers: later deadlines cost no timer. The deadline that was set last
// holds for reads and writes that wait, and for those that begin afterwards.
func TestDeadlinesSaveTimers(t *testing.T) {
	t.Parallel()
	past := time.Now().Add(-time.Hour)
	for name, at := range map[string]struct {
		set    []time.Time
		timers int
		isOver bool
	}{
		"none":          {[]time.Time{{}}, 0, false},
		"later ones":    {[]time.Time{time.Now().Add(time.Hour), time.Now().Add(2 * time.Hour), time.Now().Add(3 * time.Hour), {}}, 1, false},
		"an early one":  {[]time.Time{time.Now().Add(time.Hour), past}, 2, true},
		"put off":       {[]time.Time{past, time.Now().Add(time.Hour)}, 2, false},
		"put off twice": {[]time.Time{past, past.Add(time.Minute), time.Now().Add(time.Hour)}, 2, false},
		"taken back":    {[]time.Time{past, {}}, 2, false},
		"over twice":    {[]time.Time{past, past.Add(time.Minute)}, 1, true},
	} {
		caller, accepted := net.Pipe()
		under := &counting{Conn: accepted}
		c := &Conn{Conn: under}
		for _, d := range at.set {
			require.NoError(t, c.SetDeadline(d), name)
		}
		go func() { _, _ = io.Copy(caller, caller) }() // an echo
		_, err := c.Write([]byte("a"))
		if !at.isOver {
			require.NoError(t, err, name)
			_, err = c.Read(make([]byte, 1))
			require.NoError(t, err, name)
		} else {
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, name)
			_, err = c.Read(make([]byte, 1))
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, name)
		}
		require.Equal(t, []int{at.timers, at.timers}, []int{under.reads, under.writes}, name)
		require.NoError(t, c.Close())
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err, "a closed connection has no deadline to wait for")
		require.NoError(t, caller.Close())
	}
}

// TestDeadlinesEndWhatWaits: an earlier deadline ends a read that waits. If the deadline
// is moved to a later time, a write continues to wait and loses no byte.
func TestDeadlinesEndWhatWaits(t *testing.T) {
	t.Parallel()
	caller, accepted := net.Pipe()
	defer caller.Close()
	reading := make(chan struct{})
	c := &Conn{Conn: signalling{accepted, reading}}
	ended := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		ended <- err
	}()
	<-reading
	require.NoError(t, c.SetReadDeadline(time.Now().Add(-time.Hour)))
	require.ErrorIs(t, <-ended, os.ErrDeadlineExceeded)

	require.NoError(t, c.SetWriteDeadline(time.Now().Add(20*time.Millisecond)))
	require.NoError(t, c.SetWriteDeadline(time.Now().Add(time.Hour)))
	go func() {
		n, err := c.Write([]byte("abc"))
		if n != 3 && err == nil {
			err = io.ErrShortWrite
		}
		ended <- err
	}()
	one := make([]byte, 1)
	_, err := caller.Read(one)
	require.NoError(t, err)
	time.Sleep(40 * time.Millisecond) // the first deadline passes within the write
	rest := make([]byte, 2)
	_, err = io.ReadFull(caller, rest)
	require.NoError(t, err)
	require.Equal(t, "abc", string(one)+string(rest))
	require.NoError(t, <-ended)
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
