package locker

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"
)

// zkServers replaces the client's list of servers. The client's own list resolves
// addresses only once. If there is only one server, it also pauses for a second before it
// reconnects. A session may end in that second.
type zkServers struct {
	mu      sync.Mutex
	servers []string
	next    int
	// tries is the number of servers that were returned since the last connection.
	tries     int
	connected time.Time
}

// Init implements zk.HostProvider.
func (z *zkServers) Init(servers []string) error {
	z.servers = servers
	return nil
}

// Len implements zk.HostProvider.
func (z *zkServers) Len() int { return len(z.servers) }

// Next implements zk.HostProvider. pause makes the client wait for a second. It is true
// once all servers were tried twice, and if a server has failed directly after it was
// connected.
func (z *zkServers) Next() (server string, pause bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	// One round is not enough: the first server may only have reported that the session has
	// expired.
	pause = (z.tries > len(z.servers) && z.tries%len(z.servers) == 0) || time.Since(z.connected) < opTimeout
	server = z.servers[z.next]
	z.next = (z.next + 1) % len(z.servers)
	z.tries++
	return server, pause
}

// Connected implements zk.HostProvider.
func (z *zkServers) Connected() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.tries, z.connected = 0, time.Now()
}

// dial opens a connection that also reads the beginning of the server's first response.
func (s *zkSession) dial(network, address string, limit time.Duration) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: min(limit, opTimeout)}).DialContext(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	return &zkConn{Conn: conn, session: s}, nil
}

// zkGreeting is the length of the beginning of the server's first response: the
// response's length, the protocol's version and the session's timeout, 32 bits each.
const zkGreeting = 12

// zkConn reads the session's timeout, which the client does not expose. It also shortens
// the client's wait for the first response, which would take many times as long.
type zkConn struct {
	net.Conn
	session *zkSession
	greeted []byte
}

// Read implements net.Conn. The first response contains the session's timeout.
func (c *zkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if missing := zkGreeting - len(c.greeted); missing > 0 {
		c.greeted = append(c.greeted, b[:min(n, missing)]...)
		if len(c.greeted) == zkGreeting {
			c.session.granted.Store(int32(binary.BigEndian.Uint32(c.greeted[8:]))) //nolint:gosec // as it was sent
		}
	}
	return n, err
}

// SetReadDeadline implements net.Conn. It shortens deadlines until the first response.
func (c *zkConn) SetReadDeadline(t time.Time) error {
	if soon := time.Now().Add(opTimeout); len(c.greeted) < zkGreeting && t.After(soon) {
		t = soon
	}
	return c.Conn.SetReadDeadline(t)
}
