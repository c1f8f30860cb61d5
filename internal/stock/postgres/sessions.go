package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"drawsvc/internal/stock/engine"
)

// sessions are the connections of locks. They do not use a pool of pgx, because it would
// reuse a connection that database/sql has discarded, while its session still holds the
// lock.
type sessions struct {
	// failOvers counts how often the connections to the server were discarded.
	failOvers atomic.Int64
}

// madeAt is the key under which a connection keeps the count at its creation.
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
