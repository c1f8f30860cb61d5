package conns

import (
	"errors"
	"log/slog"
	"net"
	nethttp "net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// silentMax is how long a new connection, or a connection whose body is awaited, may
	// send nothing before it counts as idle.
	silentMax = time.Second
	// roomEvery is how often a connection that waits for room checks for silent ones.
	roomEvery = 100 * time.Millisecond
	// fullEvery is the minimum time between two log lines about a full set.
	fullEvery = time.Minute
)

// Set is the bounded set of a listener's connections. If a new connection exceeds the
// bound, the longest idle connection is closed; while none is idle, the new connection
// waits. An idle connection costs a descriptor and some 20 kB, and its caller can
// cheaply open it again. Here a connection whose body does not arrive counts as idle.
// One address may have half of the connections. If it opens more, its longest idle
// connection is closed, or the new connection if none is idle.
type Set struct {
	most int
	// isShared reports whether many callers share an address; such an address has no
	// separate bound.
	isShared  func(netip.Addr) bool
	log       *slog.Logger
	reclaimed prometheus.Counter
	// room has a token after a connection has ended, or has become idle.
	room chan struct{}

	mu    sync.Mutex // guards the fields below, and the standing of the open connections
	open  map[*Conn]struct{}
	from  map[netip.Addr]int // number of open connections, by address
	idled uint64             // counts how often a connection has become idle
	full  time.Time          // time of the last log line about a full set
}

// admission is the decision on a new connection.
type admission int

const (
	admissionGiven admission = iota
	admissionRefused
	// admissionAwaited means that there is no room for the connection yet.
	admissionAwaited
	// admissionEnded means that the listener was closed first.
	admissionEnded
)

// standing is the state of a connection. Each draw changes it twice. It is a member of
// the Conn, so that a change needs neither a lookup in a map nor a read of the clock.
type standing struct {
	state nethttp.ConnState
	// made is when the connection was opened. turn is the value that the Set's idled had
	// after the connection last became idle.
	made time.Time
	turn uint64
	// bodies is the value of the connection's bodies at its last inspection. since is the
	// first inspection that found this value.
	bodies uint32
	since  time.Time
}

// New returns an empty Set with a maximum number of connections.
func New(most int, isShared func(netip.Addr) bool, log *slog.Logger, reclaimed prometheus.Counter) *Set {
	return &Set{most: most, isShared: isShared, from: map[netip.Addr]int{}, log: log, reclaimed: reclaimed, room: make(chan struct{}, 1), open: map[*Conn]struct{}{}}
}

// Count returns the number of connections.
func (c *Set) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

// Changed records a new state of a connection; it is the ConnState of a nethttp.Server.
func (c *Set) Changed(nc net.Conn, state nethttp.ConnState) {
	of := connUnder(nc)
	if of == nil || state == nethttp.StateClosed { // ended handles closed connections
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
func (c *Set) ended(of *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(of)
	c.wake()
}

// Cut ends all connections.
func (c *Set) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for of := range c.open {
		of.Cut()
	}
}

// drop removes a connection from the counts, once. c.mu is held.
func (c *Set) drop(of *Conn) {
	if _, isOpen := c.open[of]; !isOpen {
		return
	}
	delete(c.open, of)
	from := CallerOf(of.peer)
	if c.from[from]--; c.from[from] == 0 {
		delete(c.from, from)
	}
}

func (c *Set) wake() {
	select {
	case c.room <- struct{}{}:
	default:
	}
}

// admit adds a connection once there is room for it, or refuses it.
func (c *Set) admit(of *Conn, closed <-chan struct{}) admission {
	for {
		idle, became := c.try(of)
		if idle != nil {
			c.reclaimed.Inc()
			_ = idle.Conn.Close() // its handler gets an error, and ends the connection
		}
		if became != admissionAwaited {
			return became
		}
		select {
		case <-c.room:
		case <-time.After(roomEvery):
		case <-closed:
			return admissionEnded
		}
	}
}

// try adds a connection if it can. idle is the connection that must be closed because
// the new one gets its place.
func (c *Set) try(of *Conn) (idle *Conn, became admission) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, from := time.Now(), CallerOf(of.peer)
	switch {
	case c.from[from] >= max(1, c.most/2) && !c.isShared(of.peer):
		c.warn(now, "from", from.String())
		if idle = c.longestIdle(now, from); idle == nil {
			return nil, admissionRefused
		}
	case len(c.open) >= c.most:
		c.warn(now)
		if idle = c.longestIdle(now, netip.Addr{}); idle == nil {
			return nil, admissionAwaited
		}
	}
	if idle != nil {
		c.drop(idle)
	}
	of.standing = standing{state: nethttp.StateNew, made: now}
	c.open[of] = struct{}{}
	c.from[from]++
	return idle, admissionGiven
}

// warn logs that a bound is reached, at most once in fullEvery. c.mu is held.
func (c *Set) warn(now time.Time, attrs ...any) {
	if now.Sub(c.full) >= fullEvery {
		c.full = now
		c.log.Warn("the most connections are open: idle ones are closed for new ones", append(attrs, "connections_max", c.most)...)
	}
}

// isIdle reports whether a connection may be closed to make room for others: it has no
// request, or a request whose body does not arrive. The wait for a body counts from the
// first inspection that finds it, so that no clock is read for each request. The Set's
// mutex is held.
func (c *Conn) isIdle(now time.Time) bool {
	s := &c.standing
	if s.state == nethttp.StateIdle {
		return true
	}
	if s.state == nethttp.StateNew {
		return now.Sub(s.made) >= silentMax
	}
	bodies := c.bodies.Load()
	if bodies != s.bodies {
		s.bodies, s.since = bodies, now
	}
	return bodies%2 == 1 && now.Sub(s.since) >= silentMax
}

// longestIdle returns the connection that has been without a request longest, nil if all
// have one. Connections that wait for their first request come last. If from is valid,
// it returns a connection of that address.
func (c *Set) longestIdle(now time.Time, from netip.Addr) (longest *Conn) {
	var found standing
	for of := range c.open {
		if from.IsValid() && CallerOf(of.peer) != from || !of.isIdle(now) {
			continue
		}
		s := of.standing
		isLonger := s.turn < found.turn || s.turn == found.turn && s.made.Before(found.made) // all new connections have turn 0
		if longest == nil || s.state > found.state || s.state == found.state && isLonger {
			longest, found = of, s
		}
	}
	return longest
}

// listener accepts connections as [Conn]s, as many as its Set admits.
type listener struct {
	net.Listener
	connections *Set
	closed      chan struct{}
	close       sync.Once
}

// Listen returns l with the connections that c admits. Each connection is a *Conn.
func Listen(l net.Listener, c *Set) net.Listener {
	return &listener{Listener: l, connections: c, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &Conn{Conn: accepted, ended: l.connections.ended, peer: AddressOf(accepted.RemoteAddr().String())}
		became := l.connections.admit(c, l.closed)
		if became == admissionGiven {
			return c, nil
		}
		_ = accepted.Close()
		if became == admissionEnded {
			return nil, net.ErrClosed
		}
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.close.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// Register registers the metrics of the connections.
func (c *Set) Register(to prometheus.Registerer) error {
	return errors.Join(
		to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "drawsvc_http_connections_open", Help: "Connections of callers, save those of the listener for probes.",
		}, func() float64 { return float64(c.Count()) })),
		to.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "drawsvc_http_connections_max", Help: "Most connections of callers at once.",
		}, func() float64 { return float64(c.most) })),
	)
}
