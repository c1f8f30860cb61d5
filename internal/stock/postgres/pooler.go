package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"drawsvc/internal/stock/engine"
)

// poolingMax bounds the queries to a proxy, which may be slow while it is busy.
const poolingMax = 3 * time.Second

// poolingOf recognizes pgbouncer and similar proxies by the session's number. They invent
// one when a client connects, because the client has no session of the server yet.
func poolingOf(ctx context.Context, config *pgx.ConnConfig) (engine.Pooling, error) {
	first, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", err
	}
	defer first.Close(ctx) //nolint:errcheck // nothing was done on it
	pid, err := backendPID(ctx, first)
	if err != nil || pid == first.PgConn().PID() {
		return engine.PooledNot, err
	}
	if ownSession(ctx, config, first, pid) {
		return engine.PooledBySession, nil
	}
	return engine.PooledByTransaction, nil
}

// ownSession reports whether each of two connections to a proxy keeps its own session; it
// returns false if in doubt. A proxy that shares sessions may give both connections the
// session that was used last, or give each query the next session. Two queries in
// succession on one connection detect both kinds.
func ownSession(ctx context.Context, config *pgx.ConnConfig, first *pgx.Conn, pid uint32) bool {
	ctx, cancel := context.WithTimeout(ctx, poolingMax)
	defer cancel()
	second, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	defer second.Close(ctx) //nolint:errcheck // nothing was done on it
	others, err := backendPID(ctx, second)
	if err != nil || others == pid {
		return false
	}
	for _, c := range []struct {
		conn *pgx.Conn
		pid  uint32
	}{{second, others}, {first, pid}, {first, pid}, {second, others}} {
		if now, err := backendPID(ctx, c.conn); err != nil || now != c.pid {
			return false
		}
	}
	return true
}

// backendPID reads the number of the session, without preparing a statement.
func backendPID(ctx context.Context, conn *pgx.Conn) (pid uint32, err error) {
	err = conn.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid)
	return pid, err
}
