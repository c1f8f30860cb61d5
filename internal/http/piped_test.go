package http

import (
	"context"
	"net"
	nethttp "net/http"
	"sync"
	"testing"
)

// piped is a listener whose connections stay within the process, for tests in a bubble
// of synctest: there time passes only while every goroutine waits, so that a limit does
// not depend on the machine.
type piped struct {
	accepted chan net.Conn
	closed   chan struct{}
	close    sync.Once
}

// pipedTo serves until the test ends.
func pipedTo(t *testing.T, s *Server) *piped {
	t.Helper()
	l := newPiped()
	serveUntilEnd(t, s, l)
	return l
}

func newPiped() *piped { return &piped{accepted: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (l *piped) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *piped) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *piped) Addr() net.Addr { return &net.UnixAddr{Name: "piped", Net: "pipe"} }

// dial opens a connection, which is closed when the test ends.
func (l *piped) dial(t *testing.T) (net.Conn, error) {
	caller, accepted := net.Pipe()
	t.Cleanup(func() { _ = caller.Close() })
	select {
	case l.accepted <- accepted:
		return caller, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// client returns a client that connects through the listener for every address.
func (l *piped) client(t *testing.T) *nethttp.Client {
	t.Helper()
	transport := &nethttp.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return l.dial(t) }}
	t.Cleanup(transport.CloseIdleConnections)
	return &nethttp.Client{Transport: transport}
}
