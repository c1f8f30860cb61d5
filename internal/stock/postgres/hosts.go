package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"drawsvc/internal/stock/engine"
)

// hostTimeout bounds the time for connecting to one of several hosts. A host that hangs
// must leave time for the next one before the caller gives up.
const hostTimeout = time.Second

// hosts are the hosts of a URL, which the driver tries in order.
type hosts struct {
	engine.Hosts
	mu    sync.Mutex
	names map[string]string // the host of each address
}

// configure bounds the time for connecting. If there are several hosts, the one that
// accepted the last connection is tried first. several reports whether there are
// several hosts.
func (h *hosts) configure(c *pgxpool.Config) (several bool) {
	c.ConnConfig.ConnectTimeout = engine.ConnectMax
	if !severalHosts(c.ConnConfig) {
		return false
	}
	if c.ConnConfig.ValidateConnect == nil {
		c.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // the primary
	}
	c.ConnConfig.ConnectTimeout, c.PingTimeout = hostTimeout, hostTimeout/2
	c.BeforeConnect = h.order
	h.follow(c.ConnConfig)
	return true
}

func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// follow records which host accepts each connection that is made by the config.
func (h *hosts) follow(c *pgx.ConnConfig) {
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
		if address, port, err := net.SplitHostPort(conn.Conn().RemoteAddr().String()); err == nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.Took(net.JoinHostPort(h.names[address], port))
		}
		return nil // a socket in the file system is the only host
	}
}

// order gives the driver the hosts in the order in which to try them.
func (h *hosts) order(_ context.Context, c *pgx.ConnConfig) error {
	first := &pgconn.FallbackConfig{Host: c.Host, Port: c.Port, TLSConfig: c.TLSConfig}
	all := engine.InOrder(&h.Hosts, append([]*pgconn.FallbackConfig{first}, c.Fallbacks...), func(f *pgconn.FallbackConfig) string {
		return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port)))
	})
	c.Host, c.Port, c.TLSConfig, c.Fallbacks = all[0].Host, all[0].Port, all[0].TLSConfig, all[1:]
	return nil
}

// sessions are the connections of locks. They do not use a pool of pgx, because it would
// reuse a connection that database/sql has discarded, while its session still holds the
// lock.
type sessions struct {
	// failOvers counts how often the connections to the server were discarded.
	failOvers atomic.Int64
}

// madeAt is the key under which a connection keeps the value that failOvers had at its
// creation.
const madeAt = "drawsvc-failovers"

func (s *sessions) open(config *pgxpool.Config) *sql.DB {
	options := []stdlib.OptionOpenDB{
		stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
			conn.PgConn().CustomData()[madeAt] = s.failOvers.Load()
			return nil
		}),
		stdlib.OptionResetSession(func(_ context.Context, conn *pgx.Conn) error {
			if conn.PgConn().CustomData()[madeAt] != s.failOvers.Load() {
				return driver.ErrBadConn
			}
			return nil
		}),
	}
	if config.BeforeConnect != nil {
		options = append(options, stdlib.OptionBeforeConnect(config.BeforeConnect))
	}
	db := stdlib.OpenDB(*config.ConnConfig.Copy(), options...)
	db.SetMaxOpenConns(int(config.MaxConns)) // the locks share these connections, and limit how many they use
	db.SetMaxIdleConns(int(config.MaxConns))
	db.SetConnMaxIdleTime(engine.IdleMax)
	return db
}

// leave makes each open connection close when its current use ends.
func (s *sessions) leave() { s.failOvers.Add(1) }
