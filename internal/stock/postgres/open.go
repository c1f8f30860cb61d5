package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/stock/engine"
)

// Dialect returns PostgreSQL's dialect. The dialect of another database with the same
// protocol can start from it and change parts.
func Dialect() *engine.Dialect {
	return &engine.Dialect{
		Name:        "postgres",
		Open:        open,
		ByCode:      classify,
		IsNoTable:   func(err error) bool { return classify(err).Reason == "sqlstate-42P01" },
		Placeholder: squirrel.Dollar,
		Time:        engine.SameTime,
		ForUpdate:   " FOR NO KEY UPDATE", // this lock excludes writers, but allows checks of foreign keys
		Writable:    sqlWritable,
		Change:      sql.TxOptions{Isolation: sql.LevelReadCommitted}, // whatever the role's default is
		Snapshot:    sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		Commit:      commit,
		ReadRows:    readRows,
		ByKey:       sqlByKey,
		AwardPrize:  sqlAwardPrize,
		TurnAward:   sqlTurnAward,
		CodeRanges:  sqlCodeRanges,
		NamedAwards: sqlNamedAwards,
		StepsOf:     sqlStepsOf,
		CodeOnce:    `SELECT COUNT(*) FROM pg_constraint WHERE conrelid = 'codes'::regclass AND conname = 'code_once' AND contype = 'u'`,
		Clock:       "clock_timestamp()",
		Restock:     engine.Restock,
		Settle:      sqlSettle,
		Locks:       locks(),
		Doctor:      doctor(),
		Standbys:    readStandbys,
		BackupTools: "pg_basebackup or pg_dump",
		Migrations:  goose.DialectPostgres,
		Folder:      "postgres",
		Migrating:   lock.NewPostgresTableLocker,
	}
}

func open(ctx context.Context, d *engine.Dialect, rawURL string, o engine.Options) (*engine.Engine, error) {
	config, err := pgxpool.ParseConfig(rawURL)
	if err != nil {
		return nil, engine.ErrURL() // the text of err would show the password
	}
	if !strings.Contains(rawURL, "pool_max_conns=") {
		config.MaxConns = engine.ConnectionsMax
	}
	known := &hosts{}
	several := known.configure(config)
	if o.Login != nil {
		followLogin(config, o.Login)
	}
	config.ConnConfig.OnNotice = noteWarning
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = engine.ProgramName()
	params["timezone"] = "UTC"
	pooling, err := poolingOf(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	if pooling != engine.PooledNot && !strings.Contains(rawURL, "default_query_exec_mode=") {
		// A prepared statement belongs to one session, and the next transaction may get
		// another session.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	e := &engine.Engine{Dialect: d, Limits: limitsSQL(d, o.LockWait, 0), Several: several, Pooling: pooling}
	pools, err := newPools(ctx, e, config)
	if err != nil {
		_ = e.Close() // the first error is the relevant one
		return nil, err
	}
	draws, reads := pools[0], pools[2]
	waits := &engine.Waits{}
	e.Attempts = newAttempts(d, draws, waits, limitsSQL(d, o.LockWait, engine.StatementMax))
	for i, db := range []**sql.DB{&e.Write, &e.Read, &e.Probe} {
		*db = stdlib.OpenDBFromPool(pools[i+1])
		e.OnClose((*db).Close)
	}
	e.ReadBack, e.Migrate = e.Write, e.Write
	locks := &sessions{}
	e.Lock = locks.open(config)
	e.OnClose(e.Lock.Close)
	e.Connections = func() engine.Connections {
		stat := draws.Stat()
		return engine.Connections{
			Open: int(stat.TotalConns()), InUse: int(stat.AcquiredConns()), Max: int(stat.MaxConns()),
			Waited: waits.Total(),
		}
	}
	e.Confirm = func(ctx context.Context) error { return confirm(ctx, reads, d.Settle) }
	e.FailOver = func() {
		known.Leave()
		locks.leave()
		for _, pool := range pools {
			pool.Reset()
		}
	}
	return e, nil
}

// followLogin makes each new connection use the current user and password.
func followLogin(config *pgxpool.Config, login func() *url.Userinfo) {
	before := config.BeforeConnect
	config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) error {
		if user := login(); user != nil {
			c.User = user.Username()
			c.Password, _ = user.Password()
		}
		if before == nil {
			return nil
		}
		return before(ctx, c)
	}
}

// newPools creates the pools of connections: for draws, changes, reads and the
// readiness check.
func newPools(ctx context.Context, e *engine.Engine, config *pgxpool.Config) (pools []*pgxpool.Pool, err error) {
	for _, most := range []int32{config.MaxConns, engine.AdminConnections, engine.ReadConnections, engine.ProbeConnections} {
		c := config.Copy()
		c.MaxConns = most
		pool, err := pgxpool.NewWithConfig(ctx, c)
		if err != nil {
			return nil, err
		}
		pools = append(pools, pool)
		e.OnClose(func() error { pool.Close(); return nil })
	}
	return pools, nil
}

// limitsSQL returns a statement that sets time limits for the rest of its transaction and
// makes the planner use keys. Its settings end with the transaction, so they also work
// through a proxy that shares sessions, and do not affect other transactions.
func limitsSQL(d *engine.Dialect, lockWait, statement time.Duration) string {
	return fmt.Sprintf(d.ByKey+`, set_config('lock_timeout', '%d', true), set_config('statement_timeout', '%d', true), `+
		`set_config('idle_in_transaction_session_timeout', '%d', true)`,
		lockWait.Milliseconds(), statement.Milliseconds(), sessionMax.Milliseconds())
}

// sessionMax is the time after which the server ends an idle transaction that its service
// has left open, so that the row lock is released.
const sessionMax = 10 * time.Second
