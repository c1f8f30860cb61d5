package http

import (
	"log/slog"
	"net"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// ConnectionsUsual is the most connections where the Config names none.
	ConnectionsUsual = 4096
	// probeConnectionsMax is the most of the listener for probes.
	probeConnectionsMax = 32
	// silentMax is how long a new connection may say nothing before it counts as
	// an idle one.
	silentMax = time.Second
	// roomEvery is how often whoever waits for room looks for silent ones.
	roomEvery = 100 * time.Millisecond
	// fullEvery is the time between two lines of the log.
	fullEvery = time.Minute
)

// connections bounds those of a listener. For a new one beyond the bound, the
// one that has been idle longest is closed; while none is idle, it waits. Idle
// ones cost a descriptor and some 20 kB each, and cost their callers nothing to
// make again.
type connections struct {
	most      int
	log       *slog.Logger
	reclaimed prometheus.Counter
	// room has a token after a connection has ended, or has become idle.
	room chan struct{}

	mu    sync.Mutex // guards open, what stands in its conns, idled, and full
	open  map[*conn]struct{}
	idled uint64    // counts how often a connection has become idle
	full  time.Time // of the last line of the log
}

// standing is the state of a connection. Each draw changes it twice: it stands in
// the conn, so that no map is searched for that, and no clock is read.
type standing struct {
	state nethttp.ConnState
	// made is when the connection was made, turn the count at which it became idle
	// last.
	made time.Time
	turn uint64
}

func newConnections(most int, log *slog.Logger, reclaimed prometheus.Counter) *connections {
	return &connections{most: most, log: log, reclaimed: reclaimed, room: make(chan struct{}, 1), open: map[*conn]struct{}{}}
}

// count is the number of connections.
func (c *connections) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// changed is a nethttp.Server's ConnState.
func (c *connections) changed(nc net.Conn, state nethttp.ConnState) {
	of := connUnder(nc)
	if of == nil || state == nethttp.StateClosed { // ended is called for that
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	of.standing.state = state
	if state != nethttp.StateIdle {
		return
	}
	c.idled++
	of.standing.turn = c.idled
	c.wake()
}

// ended drops a connection.
func (c *connections) ended(of *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, of)
	c.wake()
}

// cut ends all connections.
func (c *connections) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of := range c.open {
		of.cut()
	}
}

func (c *connections) wake() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// admit takes a connection in, once there is room for it. It returns false when
// the listener is closed first.
func (c *connections) admit(of *conn, closed <-chan struct{}) bool {
	for {
		idle, admitted := c.try(of)
		if idle != nil {
			c.reclaimed.Inc()
			_ = idle.Conn.Close() // its handler notices, and ends it
		}
		if admitted {
			return true
		}
		select {
		case <-c.room:
		case <-time.After(roomEvery):
		case <-closed:
			return false
		}
	}
}

// try takes a connection in if it can. idle is the one whose place it gets, and
// which is to be closed.
func (c *connections) try(of *conn) (idle *conn, admitted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if len(c.open) >= c.most {
		if now.Sub(c.full) >= fullEvery {
			c.full = now
			c.log.Warn("the most connections are open: idle ones are closed for new ones", "connections_max", c.most)
		}
		if idle = c.longestIdle(now); idle == nil {
			return nil, false
		}
		delete(c.open, idle)
	}
	of.standing = standing{state: nethttp.StateNew, made: now}
	c.open[of] = struct{}{}
	return idle, true
}

// longestIdle is the connection that has been without a request longest, nil
// when all have one. Those that wait for their first come last.
func (c *connections) longestIdle(now time.Time) (longest *conn) {
	var found standing
	for of := range c.open {
		s := of.standing
		if s.state != nethttp.StateIdle && (s.state != nethttp.StateNew || now.Sub(s.made) < silentMax) {
			continue
		}
		isLonger := s.turn < found.turn || s.turn == found.turn && s.made.Before(found.made) // new ones have no turn
		if longest == nil || s.state > found.state || s.state == found.state && isLonger {
			longest, found = of, s
		}
	}
	return longest
}

// listener makes conns, as many as its connections admit.
type listener struct {
	net.Listener
	connections *connections
	closed      chan struct{}
	close       sync.Once
}

func newListener(l net.Listener, c *connections) *listener {
	return &listener{Listener: l, connections: c, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: accepted, ended: l.connections.ended, peer: addressOf(accepted.RemoteAddr().String())}
	if !l.connections.admit(c, l.closed) {
		_ = accepted.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
