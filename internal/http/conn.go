package http

import (
	"context"
	"net"
	"sync/atomic"
)

// conn is a connection on which net/http does not listen for the caller's
// going away while a draw is decided. It would read a byte ahead for that, in a
// goroutine of its own, for every request that has a body; and a draw that is
// under way is not its caller's to cancel. Other calls are watched as usual.
type conn struct {
	net.Conn
	drawing atomic.Bool
}

// Read implements net.Conn. One byte is what net/http asks for when it watches
// a connection; to be told that there is none yet ends the watch.
func (c *conn) Read(b []byte) (int, error) {
	if len(b) == 1 && c.drawing.Load() {
		return 0, nil
	}
	return c.Conn.Read(b)
}

// listener makes conns.
type listener struct{ net.Listener }

// Accept implements net.Listener.
func (l listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: accepted}, nil
}

type connKey struct{}

// withConn lets handlers find the connection of their request.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// unwatched ends the watch over a request's connection until the function that
// it returns is called.
func unwatched(ctx context.Context) func() {
	c, ok := ctx.Value(connKey{}).(*conn)
	if !ok { // a server of somebody else's
		return func() {}
	}
	c.drawing.Store(true)
	return func() { c.drawing.Store(false) }
}
