package stock

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// hostTimeout bounds the making of a connection to one of several hosts: one
// that hangs must not keep from the next until nobody waits any more.
const hostTimeout = time.Second

// postgresHosts remembers which of several hosts took the last connection, for
// all pools of a store. The next one is asked of it first, so that a host that
// hangs costs its time once and not for every connection.
type postgresHosts struct {
	mu    sync.Mutex
	last  pgconn.FallbackConfig // its host and port
	left  bool                  // it was left since
	names map[string]string     // hosts by address
}

// follow has the config's connections remembered and asked for so.
func (h *postgresHosts) follow(c *pgx.ConnConfig) {
	h.names = map[string]string{}
	lookUp := c.LookupFunc
	c.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		addresses, err := lookUp(ctx, host)
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, address := range addresses {
			h.names[address] = host
		}
		return addresses, err
	}
	c.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		h.remember(conn.Conn().RemoteAddr().String())
		return nil
	}
}

func (h *postgresHosts) remember(remote string) {
	address, text, err := net.SplitHostPort(remote)
	if err != nil {
		return // a socket in the file system has no others beside it
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last, h.left = pgconn.FallbackConfig{Host: h.names[address], Port: uint16(port)}, false
}

// leave has the host of the last connection asked last, until one is made.
func (h *postgresHosts) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left = true
}

// order puts the host of the last connection in front, or at the end when it
// was left.
func (h *postgresHosts) order(_ context.Context, c *pgx.ConnConfig) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	all := append([]*pgconn.FallbackConfig{first}, c.Fallbacks...)
	rank := func(f *pgconn.FallbackConfig) int {
		switch isLast := f.Host == h.last.Host && f.Port == h.last.Port; {
		case !isLast:
			return 1
		case h.left:
			return 2
		}
		return 0
	}
	slices.SortStableFunc(all, func(x, y *pgconn.FallbackConfig) int { return rank(x) - rank(y) })
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	return nil
}
