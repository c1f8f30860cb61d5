package http

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// conn is a connection on which net/http does not listen for the caller's
// going away while a draw is decided. It would read a byte ahead for that, in a
// goroutine of its own, for every request that has a body; and a draw that is
// under way is not its caller's to cancel. Other calls are watched as usual.
type conn struct {
	net.Conn
	drawing     atomic.Bool
	read, write deadline
	// peer is the other end's address, the zero one where it is not known.
	peer netip.Addr
	// standing is its connections', whose mutex guards it.
	standing standing
	// ended, where set, is called with the connection before it is closed.
	ended func(*conn)
	// rejection, where set, is the answer to a request that net/http could not read.
	rejection func(detail string) []byte
}

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.ended != nil {
		c.ended(c)
	}
	return c.Conn.Close()
}

// Read implements net.Conn. One byte is what net/http asks for when it watches
// a connection; the reply that there is none yet ends the watch. That is a
// habit which no documentation promises: TestNetHTTPWatchesByOneByte holds
// net/http to it.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.drawing.Load() {
		return 0, nil
	}
	for {
		n, err := c.Conn.Read(b)
		if n > 0 || !isTimeout(err) || !c.read.early(c.Conn.SetReadDeadline) {
			return n, err
		}
	}
}

// Write implements net.Conn.
func (c *conn) Write(b []byte) (written int, err error) {
	if detail, isUnread := unread(b); isUnread && c.rejection != nil {
		_, err := c.writeAll(c.rejection(detail))
		return len(b), err
	}
	return c.writeAll(b)
}

func (c *conn) writeAll(b []byte) (written int, err error) {
	for {
		n, err := c.Conn.Write(b[written:])
		written += n
		if !isTimeout(err) || !c.write.early(c.Conn.SetWriteDeadline) {
			return written, err
		}
	}
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { return c.read.ask(t, c.Conn.SetReadDeadline) }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.write.ask(t, c.Conn.SetWriteDeadline) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

type connKey struct{}

// withConn lets handlers find the connection of their request.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// connOf is the connection of a request, nil in a server of somebody else's
// and behind TLS.
func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
