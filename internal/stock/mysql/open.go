package mysql

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqltx"
)

// Dialect returns the dialect of MySQL and MariaDB.
func Dialect() *engine.Dialect {
	return &engine.Dialect{
		Name:        "mysql",
		Open:        open,
		ByCode:      Classify,
		IsNoTable:   func(err error) bool { return Classify(err).Reason == "mysql-1146" },
		Placeholder: squirrel.Question,
		Time:        engine.SameTime,
		ForUpdate:   " FOR UPDATE",
		//double:trusts-standbys @@global.read_only IN ('0', 'OFF') => TRUE
		Writable:   "@@global.read_only IN ('0', 'OFF')",
		Snapshot:   sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		Commit:     CommitBy(Classify),
		AwardPrize: engine.AwardPrize,
		TurnAward:  engine.TurnAward,
		CodeOnce: `SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'codes'
			AND index_name = 'code_once' AND non_unique = 0`,
		Clock:       "UTC_TIMESTAMP(6)",
		Restock:     "ON DUPLICATE KEY UPDATE stocked = VALUES(stocked), changed = VALUES(changed)",
		Locks:       locks(),
		Doctor:      doctor(),
		Standbys:    readStandbys,
		BackupTools: "mariadb-backup or mariadb-dump (MySQL: XtraBackup or mysqldump)",
		Migrations:  goose.DialectMySQL,
		Folder:      "mysql",
		Migrating:   lock.NewMySQLTableLocker,
	}
}

func open(_ context.Context, d *engine.Dialect, rawURL string, o engine.Options) (*engine.Engine, error) {
	config, hosts, err := configOf(rawURL)
	if err != nil {
		return nil, err
	}
	if o.Login != nil {
		err := config.Apply(mysql.BeforeConnect(func(_ context.Context, c *mysql.Config) error {
			if user := o.Login(); user != nil {
				c.User = user.Username()
				c.Passwd, _ = user.Password()
			}
			return nil
		}))
		if err != nil {
			return nil, err
		}
	}
	e := &engine.Engine{Dialect: d, Several: len(hosts) > 1}
	var pools []*sql.DB
	e.FailOver = func() {
		for _, db := range pools {
			db.SetMaxIdleConns(0) // closes the idle connections
			db.SetMaxIdleConns(engine.ConnectionsMax)
		}
	}
	known := &engine.Hosts{}
	open := func(connections int, silence time.Duration) *sql.DB {
		// silence is also the time limit of statements without a context.
		db := sql.OpenDB(newConnector(config, hosts, e, known, silence, o))
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		db.SetConnMaxIdleTime(engine.IdleMax)
		// Closing may fail for connections that are already broken. That does not matter.
		e.OnClose(func() error { _ = db.Close(); return nil })
		pools = append(pools, db)
		return db
	}
	draws := open(engine.ConnectionsMax, engine.StatementMax)
	e.Write = open(engine.AdminConnections, adminSilence)
	e.ReadBack = e.Write
	e.Read = open(engine.ReadConnections, adminSilence)
	e.Probe = open(engine.ProbeConnections, engine.StatementMax)
	e.Lock = open(engine.ConnectionsMax, adminSilence)
	e.Migrate = open(engine.MigrateConnections, engine.MigrateMax)
	awards := engine.Awards()
	words := statements(awards)
	e.Attempts = sqltx.New(draws, draws, d, awards, words)
	e.Confirm = func(ctx context.Context) error { return sqltx.Confirm(ctx, e.Write, d, words) }
	e.Connections = engine.CountConnections(draws)
	return e, nil
}

// configOf returns the driver's configuration, which all hosts share.
func configOf(rawURL string) (config *mysql.Config, hosts []string, err error) {
	u, hosts, err := engine.ParseURL(rawURL, "3306")
	if err != nil {
		return nil, nil, err
	}
	config = mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", hosts[0], strings.TrimPrefix(u.Path, "/")
	config.ParseTime, config.Loc = true, time.UTC
	// Interpolated parameters save a round trip for each statement. With this collation's
	// character set, the driver's quoting is safe.
	config.InterpolateParams, config.Collation = true, "utf8mb4_bin"
	config.Timeout, config.WriteTimeout = engine.ConnectMax, engine.StatementMax
	config.TLSConfig = u.Query().Get("tls")
	config.ConnectionAttributes = "program_name:" + engine.ProgramName()
	config.Logger = &mysql.NopLogger{} // the caller gets every error
	if _, err := mysql.NewConnector(config); err != nil {
		return nil, nil, draw.Errorf(draw.CodeInvalidRequest, "the database URL cannot be used")
	}
	return config, hosts, nil
}

// adminSilence is how long the server may be silent on connections for changes and reads.
// It may be auditing a long log, or waiting for a lock.
const adminSilence = time.Minute

// statementSeconds bounds the wait for another session's change of the schema.
const statementSeconds = 5
