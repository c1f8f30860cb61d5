package conns

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
)

// Conn is a connection on which net/http does not watch for the caller's disconnection
// while a draw is decided. To watch, net/http would read a byte ahead, in a separate
// goroutine, for every request that has a body. That would be useless, because a caller
// cannot cancel a draw that is under way. Other calls are watched as usual.
type Conn struct {
	net.Conn
	drawing     atomic.Bool
	read, write deadline
	// bodies is incremented when the reading of a body begins and when it ends: it is
	// odd while a body is awaited.
	bodies atomic.Uint32
	// peer is the other end's address, or the zero address if it is not known.
	peer netip.Addr
	// standing belongs to the Set, whose mutex guards it.
	standing standing
	// ended, if set, is called with the connection before it is closed.
	ended func(*Conn)
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	if c.ended != nil {
		c.ended(c)
	}
	return c.Conn.Close()
}

// Read implements net.Conn. net/http watches a connection by a read of one byte. While a
// draw is decided, Read returns without a byte, which ends the watch. No documentation
// promises that behaviour: TestNetHTTPWatchesByOneByte checks it.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.drawing.Load() {
		return 0, nil
	}
	for {
		n, err := c.Conn.Read(b)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || !c.read.renew(c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *Conn) Write(b []byte) (written int, err error) {
	for {
		n, err := c.Conn.Write(b[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) || !c.write.renew(c.Conn.SetWriteDeadline) {
			return written, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.read.set(t, c.Conn.SetReadDeadline) }

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.write.set(t, c.Conn.SetWriteDeadline) }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetDrawing sets whether a draw is being decided for the connection's caller.
func (c *Conn) SetDrawing(is bool) {
	if c != nil {
		c.drawing.Store(is)
	}
}

// CountBody records the beginning of reading a body, and its end at the next call.
func (c *Conn) CountBody() {
	if c != nil {
		c.bodies.Add(1)
	}
}

// ResetOnClose chooses how the connection ends: as usual, or by a reset, which no caller
// mistakes for the end of an answer. The choice also holds if the process is killed,
// since the kernel then closes the connection.
func (c *Conn) ResetOnClose(reset bool) {
	tcp, ok := c.Conn.(interface{ SetLinger(sec int) error })
	if !ok { // a pipe of a test
		return
	}
	seconds := -1 // the system's default
	if reset {
		seconds = 0
	}
	_ = tcp.SetLinger(seconds) // fails if the connection has ended
}

// Cut ends the connection without the closing message of TLS, which would look like the
// end of an answer.
func (c *Conn) Cut() { _ = c.Conn.Close() }

// connUnder returns the Conn within a connection, which TLS may wrap. It returns nil if
// another server accepted the connection.
func connUnder(c net.Conn) *Conn {
	if secured, ok := c.(*tls.Conn); ok {
		c = secured.NetConn()
	}
	under, _ := c.(*Conn)
	return under
}

type connKey struct{}

// With stores the connection of a request for its handlers.
func With(ctx context.Context, c net.Conn) context.Context {
	//double:blind-to-tls connUnder(c) => c
	return context.WithValue(ctx, connKey{}, connUnder(c))
}

// Of returns the connection of a request, nil in another server.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(connKey{}).(*Conn)
	return c
}
