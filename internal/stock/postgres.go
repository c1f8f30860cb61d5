package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

func postgresDialect() *Dialect {
	return &Dialect{
		Name:        "postgres",
		Open:        openPostgres,
		ByCode:      classifyPostgres,
		IsNoTable:   func(err error) bool { return classifyPostgres(err).Reason == "sqlstate-42P01" },
		Placeholder: squirrel.Dollar,
		Time:        sameTime,
		ForUpdate:   " FOR NO KEY UPDATE", // enough to exclude writers, and lets foreign keys be checked
		Writable:    postgresWritable,
		Change:      sql.TxOptions{Isolation: sql.LevelReadCommitted}, // whatever the role's default is
		Snapshot:    sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		Commit:      commitPostgres,
		ByKey:       postgresByKey,
		AwardPrize:  postgresAwardPrize,
		Restock:     restock,
		Settle:      postgresSettle,
		BackupTools: "pg_basebackup or pg_dump",
		Migrations:  goose.DialectPostgres,
		Folder:      "postgres",
		Migrating:   lock.NewPostgresTableLocker,
	}
}

func openPostgres(ctx context.Context, d *Dialect, rawURL string, o EngineOptions) (_ *Engine, err error) {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, errURL() // the text of err would show the password
	}
	if !strings.Contains(rawURL, "pool_max_conns=") {
		config.MaxConns = connectionsMax
	}
	hosts := &postgresHosts{}
	several := hosts.configure(config)
	config.ConnConfig.OnNotice = noteWarning
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "drawsvc"
	params["timezone"] = "UTC"
	pooling, err := postgresPooling(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if pooling != PooledNot && !strings.Contains(rawURL, "default_query_exec_mode=") {
		// A statement that was prepared is one session's, and the next
		// transaction may have another.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	e := &Engine{Dialect: d, Limits: postgresLimits(d, o.LockWait, 0), Several: several, Pooling: pooling}
	pools, err := postgresPools(ctx, e, config)
	if err != nil {
		_ = e.Close() // it is the first error that matters
		return nil, err
	}
	draws, admin, locks := pools[0], pools[1], pools[2]
	e.Attempts = newPostgresAttempts(d, draws, postgresLimits(d, o.LockWait, statementTimeout))
	e.Write = stdlib.OpenDBFromPool(admin)
	e.Read, e.Migrate = e.Write, e.Write
	e.Lock = stdlib.OpenDBFromPool(locks)
	e.Lock.SetMaxOpenConns(int(config.MaxConns)) // the locks share them out
	e.OnClose(e.Write.Close)
	e.OnClose(e.Lock.Close)
	e.Connections = func() (open, inUse, most int) {
		stat := draws.Stat()
		return int(stat.TotalConns()), int(stat.AcquiredConns()), int(stat.MaxConns())
	}
	e.Confirm = func(ctx context.Context) error { return confirmPostgres(ctx, admin, d.Settle) }
	e.FailOver = func() {
		hosts.Leave()
		for _, pool := range pools {
			pool.Reset()
		}
	}
	return e, nil
}

// postgresPools makes the pools of connections for draws, for all that is not a
// draw, and for locks.
func postgresPools(ctx context.Context, e *Engine, config *pgxpool.Config) (pools []*pgxpool.Pool, err error) {
	admin := config.Copy()
	admin.MaxConns = adminConnections
	for _, c := range []*pgxpool.Config{config, admin, config.Copy()} {
		pool, err := pgxpool.NewWithConfig(ctx, c)
		if err != nil {
			return nil, err
		}
		pools = append(pools, pool)
		e.OnClose(func() error { pool.Close(); return nil })
	}
	return pools, nil
}

// postgresLimits is a statement that bounds what follows in its transaction,
// and has it planned by key. The settings are the transaction's and not the
// session's, so that they also hold, and go no further, behind a proxy that
// hands sessions around.
func postgresLimits(d *Dialect, lockWait, statement time.Duration) string {
	return fmt.Sprintf(d.ByKey+`, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true), `+
		`set_config('idle_in_transaction_session_timeout', '%d', true)`,
		lockWait.Milliseconds(), statement.Milliseconds(), sessionTimeout.Milliseconds())
}

const (
	// connectionsMax is the size of a pool of connections unless the URL says
	// otherwise. A pool that is drawn from needs one; three instances fit into
	// the hundred that PostgreSQL allows by default.
	connectionsMax = 10
	// adminConnections are for all that is not a draw.
	adminConnections = 4
	// connectTimeout bounds the making of a connection.
	connectTimeout = 3 * time.Second
	// statementTimeout bounds a statement of a draw.
	statementTimeout = 5 * time.Second
	// sessionTimeout ends a transaction that its service has forgotten, so
	// that its row lock is freed.
	sessionTimeout = 10 * time.Second
)

// classifyPostgres knows the SQLSTATEs of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func classifyPostgres(err error) *Error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if pgconn.SafeToRetry(err) {
			// "conn closed" is also what pgx says of a statement that was sent
			// and whose answer was cut, and then it is not safe.
			return unavailable("connection", err, !errors.Is(err, pgconn.ErrConnClosed))
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			return unavailable("connection", err, true)
		}
		return nil
	}
	// An ERROR ends its transaction; FATAL and PANIC end the session, and they
	// may do so when the commit is on the disk already.
	undone := e.SeverityUnlocalized == "ERROR"
	switch e.Code {
	case "40001":
		return conflict("serialization", err)
	case "40P01":
		return conflict("deadlock", err)
	case "55P03":
		return conflict(ReasonLockWait, err)
	case "23505":
		return knownKey(err)
	case "25006":
		return unavailable(reasonReadOnly, err, undone)
	case "25P03", "25P04": // ended by the server's own time-outs, which a jump of its clock sets off
		return unavailable("unavailable", err, undone)
	}
	switch e.Code[:2] {
	case "08", "53", "57", "58": // connection, resources, operator intervention, system
		return unavailable("unavailable", err, undone)
	}
	return other("sqlstate-"+e.Code, err, undone)
}
