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

// sessions are the connections of locks. No pool of pgx is below them: it would take
// back a connection that database/sql gives up, with the lock that its session holds.
type sessions struct {
	// failOvers counts how often the server was left.
	failOvers atomic.Int64
}

// madeAt is where a connection keeps the count of its making.
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
	db.SetMaxOpenConns(int(config.MaxConns)) // the locks share them out
	db.SetMaxIdleConns(int(config.MaxConns))
	db.SetConnMaxIdleTime(engine.IdleMax)
	return db
}

// leave has the connections that are open end as soon as nobody uses them.
func (s *sessions) leave() { s.failOvers.Add(1) }
