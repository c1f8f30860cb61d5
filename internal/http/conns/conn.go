package conns

import (
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"sync/atomic"
)

// Conn is a connection on which net/http does not listen for the caller's
// going away while a draw is decided. It would read a byte ahead for that, in a
// goroutine of its own, for every request that has a body; and a draw that is
// under way is not its caller's to cancel. Other calls are watched as usual.
type Conn struct {
	net.Conn
	drawing atomic.Bool
	// bodies counts the bodies that were begun to be read, and again when they were
	// read: it is odd while one is awaited.
	bodies atomic.Uint32
	// peer is the other end's address, the zero one where it is not known.
	peer netip.Addr
	// standing is its connections', whose mutex guards it.
	standing standing
	// ended, where set, is called with the connection before it is closed.
	ended func(*Conn)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.ended != nil {
		c.ended(c)
	}
	return c.Conn.Close()
}

// Read implements net.Conn. One byte is what net/http asks for when it watches
// a connection; the reply that there is none yet ends the watch. That is a
// habit which no documentation promises: TestNetHTTPWatchesByOneByte holds
// net/http to it.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.drawing.Load() {
		return 0, nil
	}
	return c.Conn.Read(b)
}

// SetDrawing notes whether a draw is decided for the connection's caller.
func (c *Conn) SetDrawing(is bool) {
	if c != nil {
		c.drawing.Store(is)
	}
}

// CountBody notes that a body is read from now on, and again that it was read.
func (c *Conn) CountBody() {
	if c != nil {
		c.bodies.Add(1)
	}
}

// ResetOnClose chooses how the connection ends: by a reset, which no caller takes for
// the end of an answer, or as usual. The kernel does so too where the process is killed.
func (c *Conn) ResetOnClose(reset bool) {
	tcp, ok := c.Conn.(interface{ SetLinger(sec int) error })
	if !ok { // a pipe of a test
		return
	}
	seconds := -1 // the system's default
	if reset {
		seconds = 0
	}
	_ = tcp.SetLinger(seconds) // fails where the connection has ended
}

// Cut ends the connection without the farewell of TLS, which would pass for the end of
// an answer.
func (c *Conn) Cut() { _ = c.Conn.Close() }

// connUnder returns the conn of a connection, which TLS may hide, nil for one of
// somebody else's.
func connUnder(c net.Conn) *Conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	under, _ := c.(*Conn)
	return under
}

type connKey struct{}

// With lets handlers find the connection of their request.
func With(ctx context.Context, c net.Conn) context.Context {
	//double:blind-to-tls connUnder(c) => c
	return context.WithValue(ctx, connKey{}, connUnder(c))
}

// Of is the connection of a request, nil in a server of somebody else's.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
