package servertest

import (
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// dialMax is the maximum time for the proxy to connect to its server.
const dialMax = 5 * time.Second

// mode states what a proxy does with bytes.
type mode int

const (
	passing mode = iota
	holding
	holdingAnswers
	cut
)

// Proxy is a link between clients and one server. A test can cut and hold the link, and
// count its connections. Its methods may be called from any goroutine.
type Proxy struct {
	tb     testing.TB
	target string // as the caller gave it: host:port or a URL
	server string // host:port
	port   *port
	turns  atomic.Int64
	taken  atomic.Int64
	under  sync.WaitGroup // the running goroutines

	mu       sync.Mutex
	changed  *sync.Cond // of mode
	mode     mode
	listener net.Listener // nil while the link is cut
	links    map[*link]struct{}
}

// link is a connection from a client, and the corresponding one to the server.
type link struct {
	client, server net.Conn
	asking         atomic.Bool // the last bytes went from the client to the server
}

// StartProxy starts a link to target, a host:port or a server's URL. At first it passes
// everything. It is cut permanently when the test ends.
func StartProxy(tb testing.TB, target string) *Proxy {
	tb.Helper()
	port, err := claimPort()
	if err != nil {
		tb.Fatal(err)
	}
	p := &Proxy{tb: tb, target: target, server: target, port: port, links: make(map[*link]struct{})}
	if location, err := url.Parse(target); err == nil && location.Host != "" {
		p.server = location.Host
	}
	p.changed = sync.NewCond(&p.mu)
	tb.Cleanup(func() {
		p.Cut()
		p.under.Wait()
		port.release()
	})
	p.Pass()
	return p
}

// Addr returns the address to connect to, host:port.
func (p *Proxy) Addr() string { return p.port.addr() }

// URL returns the target's URL with the address of the proxy in it.
func (p *Proxy) URL() string { return strings.Replace(p.target, p.server, p.Addr(), 1) }

// Turns returns the number of round trips of all connections since the start, including
// those of connecting. A round trip begins when a client sends for the first time, or
// sends after the server has sent.
func (p *Proxy) Turns() int64 { return p.turns.Load() }

// Taken returns the number of connections that clients have made since the start.
func (p *Proxy) Taken() int64 { return p.taken.Load() }

// Pass lets bytes pass, beginning with those that were held. After Cut, it accepts
// connections again.
func (p *Proxy) Pass() { p.turn(passing) }

// Hold makes the link silent. Connections stay open, and new ones are accepted. But until
// Pass is called, no bytes pass, and neither side learns that the other has disconnected.
func (p *Proxy) Hold() { p.turn(holding) }

// HoldAnswers passes what clients send, so that the server acts on it. It holds the
// server's answers.
func (p *Proxy) HoldAnswers() { p.turn(holdingAnswers) }

// Cut resets every connection, drops the held bytes and refuses new connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = cut
	if p.listener != nil {
		hangUp(p.listener)
		p.listener = nil
	}
	for l := range p.links {
		l.reset()
	}
	p.changed.Broadcast()
}

// turn changes the mode and starts accepting connections if the link was cut.
func (p *Proxy) turn(to mode) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		listener, err := p.port.listen()
		if err != nil {
			p.tb.Errorf("the proxy cannot take connections: %v", err)
			return
		}
		p.listener = listener
		p.under.Go(func() { p.accept(listener) })
	}
	p.mode = to
	p.changed.Broadcast()
}

func (p *Proxy) accept(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return // closed by Cut
		}
		p.taken.Add(1)
		p.under.Go(func() { p.serve(listener, client) })
	}
}

// serve connects a client to the server, and passes bytes until one side disconnects.
func (p *Proxy) serve(listener net.Listener, client net.Conn) {
	server, err := net.DialTimeout("tcp", p.server, dialMax)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{client: client, server: server}
	defer l.close()
	if !p.add(l, listener) {
		l.reset()
		return
	}
	defer p.remove(l)
	p.under.Go(func() {
		defer l.close()
		p.pump(l, server, client, false)
	})
	p.pump(l, client, server, true)
}

// pump passes the bytes that from sends, chunk by chunk, as the mode allows.
func (p *Proxy) pump(l *link, from, to net.Conn, asks bool) {
	chunk := make([]byte, 32<<10)
	for {
		n, err := from.Read(chunk)
		// A held link also holds the end of a connection: the server does not learn that its
		// client has disconnected.
		if !p.admit(asks) || err != nil {
			return
		}
		if asks != l.asking.Swap(asks) && asks {
			p.turns.Add(1)
		}
		if _, err := to.Write(chunk[:n]); err != nil {
			return
		}
	}
}

// admit waits until bytes may pass. It returns false if they will never pass.
func (p *Proxy) admit(asks bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.mode == holding || p.mode == holdingAnswers && !asks {
		p.changed.Wait()
	}
	return p.mode != cut
}

// add registers a link, so that Cut can reset it. It returns false if Cut was called
// before.
func (p *Proxy) add(l *link, listener net.Listener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != listener {
		return false
	}
	p.links[l] = struct{}{}
	return true
}

func (p *Proxy) remove(l *link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// reset ends both connections with a reset, as the kernel of a dead peer does.
func (l *link) reset() {
	for _, conn := range []net.Conn{l.client, l.server} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
	}
	l.close()
}
