package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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

func postgresDialect() *dialect {
	return &dialect{
		name:        "postgres",
		open:        openPostgres,
		classify:    classifyPostgres,
		isNoTable:   func(err error) bool { return classifyPostgres(err).Reason == "sqlstate-42P01" },
		placeholder: squirrel.Dollar,
		forUpdate:   " FOR NO KEY UPDATE", // enough to exclude writers, and lets foreign keys be checked
		writable:    postgresWritable,
		change:      sql.TxOptions{Isolation: sql.LevelReadCommitted}, // whatever the role's default is
		byKey:       postgresByKey,
		awardPrize:  postgresAwardPrize,
		snapshot:    sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		commit:      commitPostgres,
		migrations:  goose.DialectPostgres,
		folder:      "postgres",
		doctor:      postgresDoctor(),
		migrating:   lock.NewPostgresTableLocker,
	}
}

func openPostgres(ctx context.Context, s *Store, rawURL string) error {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return errURL() // the text of err would show the password
	}
	if !strings.Contains(rawURL, "pool_max_conns=") {
		config.MaxConns = connectionsMax
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	hosts := &postgresHosts{}
	if s.several = severalHosts(config.ConnConfig); s.several {
		if config.ConnConfig.ValidateConnect == nil {
			config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite // the primary
		}
		config.ConnConfig.ConnectTimeout, config.PingTimeout = hostTimeout, hostTimeout/2
		hosts.follow(config.ConnConfig)
		config.BeforeConnect = hosts.order
	}
	config.ConnConfig.OnNotice = noteWarning
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "drawsvc"
	params["timezone"] = "UTC"
	if s.pooling, err = postgresPooling(ctx, config.ConnConfig); err != nil {
		return err
	}
	if s.pooling != pooledNot && !strings.Contains(rawURL, "default_query_exec_mode=") {
		// A statement that was prepared is one session's, and the next
		// transaction may have another.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	admin := config.Copy()
	admin.MaxConns = adminConnections
	pools := make([]*pgxpool.Pool, 0, 3)
	for _, c := range []*pgxpool.Config{config, admin, config.Copy()} {
		pool, err := pgxpool.NewWithConfig(ctx, c)
		if err != nil {
			return err
		}
		pools = append(pools, pool)
		s.closers = append(s.closers, func() error { pool.Close(); return nil })
	}
	s.attempts = &postgresAttempts{pool: pools[0], limits: postgresLimits(s.options.LockWait, statementTimeout)}
	s.limits = postgresLimits(s.options.LockWait, 0)
	s.write = stdlib.OpenDBFromPool(pools[1])
	s.read, s.migrate = s.write, s.write
	s.lock = stdlib.OpenDBFromPool(pools[2])
	s.lock.SetMaxOpenConns(int(config.MaxConns)) // the locks share them out
	s.closers = append(s.closers, s.write.Close, s.lock.Close)
	s.connections = func() (open, inUse, most int) {
		stat := pools[0].Stat()
		return int(stat.TotalConns()), int(stat.AcquiredConns()), int(stat.MaxConns())
	}
	s.confirm = func(ctx context.Context) error { return confirmPostgres(ctx, pools[1]) }
	s.leave = func() {
		hosts.leave()
		for _, pool := range pools {
			pool.Reset()
		}
	}
	return nil
}

// postgresLimits is a statement that bounds what follows in its transaction,
// and has it planned by key. The settings are the transaction's and not the
// session's, so that they also hold, and go no further, behind a proxy that
// hands sessions around.
func postgresLimits(lockWait, statement time.Duration) string {
	return fmt.Sprintf(postgresByKey+`, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true), `+
		`set_config('idle_in_transaction_session_timeout', '%d', true)`,
		lockWait.Milliseconds(), statement.Milliseconds(), sessionTimeout.Milliseconds())
}

func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
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
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return unavailable("connection", err, true) // whatever the server said: nothing was sent
	}
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		if pgconn.SafeToRetry(err) {
			// "conn closed" is also what pgx says of a statement that was sent
			// and whose answer was cut, and then it is not safe.
			return unavailable("connection", err, !errors.Is(err, pgconn.ErrConnClosed))
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
