package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/draw"
)

func mysqlDialect() *Dialect {
	return &Dialect{
		Name:        "mysql",
		Open:        openMySQL,
		ByCode:      classifyMySQL,
		IsNoTable:   func(err error) bool { return classifyMySQL(err).Reason == "mysql-1146" },
		Placeholder: squirrel.Question,
		Time:        sameTime,
		ForUpdate:   " FOR UPDATE",
		Writable:    "@@global.read_only IN ('0', 'OFF')",
		Snapshot:    sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		AwardPrize:  awardPrize,
		Restock:     "ON DUPLICATE KEY UPDATE stocked = VALUES(stocked), changed = VALUES(changed)",
		BackupTools: "mariadb-backup or mariadb-dump (MySQL: XtraBackup or mysqldump)",
		Migrations:  goose.DialectMySQL,
		Folder:      "mysql",
		Migrating:   lock.NewMySQLTableLocker,
	}
}

func openMySQL(_ context.Context, d *Dialect, rawURL string, o EngineOptions) (*Engine, error) {
	config, hosts, err := mysqlConfig(rawURL)
	if err != nil {
		return nil, err
	}
	e := &Engine{Dialect: d, Several: len(hosts) > 1}
	var pools []*sql.DB
	e.FailOver = func() {
		for _, db := range pools {
			db.SetMaxIdleConns(0) // closes them
			db.SetMaxIdleConns(connectionsMax)
		}
	}
	known := &Hosts{}
	open := func(connections int, silence time.Duration) *sql.DB {
		// The longest silence bounds what is asked without a context.
		db := sql.OpenDB(newMySQLSessions(config, hosts, known, silence, o, e.FailOver))
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		db.SetConnMaxIdleTime(5 * time.Minute)
		// A connection that is dead already cannot say farewell, and need not.
		e.OnClose(func() error { _ = db.Close(); return nil })
		pools = append(pools, db)
		return db
	}
	draws := open(connectionsMax, statementTimeout)
	e.Write = open(adminConnections, adminSilence)
	e.Read = e.Write
	e.Lock = open(connectionsMax, adminSilence)
	e.Migrate = open(migrateConnections, migrateMax)
	awards := Awards()
	e.Attempts = &sqlAttempts{writer: draws, reader: draws, dialect: d, awards: awards, words: mysqlWords(awards)}
	e.Connections = databaseConnections(draws)
	return e, nil
}

// mysqlConfig is what the driver is to know of any host.
func mysqlConfig(rawURL string) (config *mysql.Config, hosts []string, err error) {
	u, hosts, err := parseURL(rawURL, "3306")
	if err != nil {
		return nil, nil, err
	}
	config = mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", hosts[0], strings.TrimPrefix(u.Path, "/")
	config.ParseTime, config.Loc = true, time.UTC
	// One round trip for each statement; the server's character set is one
	// in which the driver's quoting is safe.
	config.InterpolateParams, config.Collation = true, "utf8mb4_bin"
	config.Timeout, config.WriteTimeout = connectTimeout, statementTimeout
	config.TLSConfig = u.Query().Get("tls")
	config.Logger = &mysql.NopLogger{} // every error comes back to its caller
	if _, err := mysql.NewConnector(config); err != nil {
		return nil, nil, draw.Errorf(draw.CodeInvalidRequest, "the database URL cannot be used")
	}
	return config, hosts, nil
}

// adminSilence is the longest silence of the server that an audit of a long log,
// or a wait for a lock, may take for work.
const adminSilence = time.Minute

// statementSeconds bounds the wait for a change of the schema to end.
const statementSeconds = 5

// classifyMySQL knows the numbers of MySQL 8 and MariaDB:
// https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
// https://mariadb.com/kb/en/mariadb-error-code-reference/.
func classifyMySQL(err error) *Error {
	if errors.Is(err, mysql.ErrInvalidConn) {
		return unavailable("connection", err, false)
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return nil
	}
	switch e.Number {
	case 1213, 1020, 3101: // deadlock; MariaDB's snapshot conflict; rolled back by the group
		return conflict("deadlock", err)
	case 1205, 3572, 3058: // lock wait; NOWAIT; user lock deadlock
		return conflict(ReasonLockWait, err)
	case 1050, 1060, 1061, 1091: // another's migration was first
		return conflict("schema", err)
	case 1062, 1586:
		return knownKey(err)
	case 1290, 1792, 1836: // read-only, so another node is to be written
		return unavailable(reasonReadOnly, err, true)
	case 1040, 1203, 1226: // too many connections
		return unavailable("connections", err, true)
	case 1665: // every write, with READ COMMITTED and binlog_format = STATEMENT
		return unavailable("binlog-format", err, true)
	case 1047: // a node that is not part of its cluster
		return unavailable(reasonNotReady, err, true)
	case 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031: // shutting down, link lost, killed, idle for too long
		return unavailable("unavailable", err, false)
	case 1021, 1114, 1030, 1041: // disk or table full, storage engine, memory
		return unavailable("full", err, false)
	case 1317, 1969, 3024: // interrupted, statement time-outs
		return unavailable("interrupted", err, false)
	}
	return other(fmt.Sprintf("mysql-%d", e.Number), err, false)
}
