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

func mysqlDialect() *dialect {
	return &dialect{
		name:        "mysql",
		open:        openMySQL,
		classify:    classifyMySQL,
		isNoTable:   func(err error) bool { return classifyMySQL(err).Reason == "mysql-1146" },
		placeholder: squirrel.Question,
		forUpdate:   " FOR UPDATE",
		writable:    "@@global.read_only IN ('0', 'OFF')",
		awardPrize:  awardPrize,
		snapshot:    sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		migrations:  goose.DialectMySQL,
		folder:      "mysql",
		doctor:      mysqlDoctor(),
		migrating:   lock.NewMySQLTableLocker,
	}
}

func openMySQL(_ context.Context, s *Store, rawURL string) error {
	u, hosts, err := parseURL(rawURL, "3306")
	if err != nil {
		return err
	}
	config := mysql.NewConfig()
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
		return draw.Errorf(draw.CodeInvalidRequest, "the database URL cannot be used")
	}
	s.several = len(hosts) > 1
	shun := &shunned{}
	open := func(connections int, silence time.Duration) *sql.DB {
		// The longest silence bounds what is asked without a context.
		db := sql.OpenDB(newMySQLSessions(config, hosts, shun, silence, s.options, func() { s.leave() }))
		db.SetMaxOpenConns(connections)
		db.SetMaxIdleConns(connections)
		db.SetConnMaxIdleTime(5 * time.Minute)
		// A connection that is dead already cannot say farewell, and need not.
		s.closers = append(s.closers, func() error { _ = db.Close(); return nil })
		return db
	}
	draws := open(connectionsMax, statementTimeout)
	s.write = open(adminConnections, adminSilence)
	s.read = s.write
	s.lock = open(connectionsMax, adminSilence)
	s.migrate = open(migrateConnections, migrateMax)
	s.attempts = &sqlAttempts{writer: draws, reader: draws, dialect: s.dialect, words: mysqlWords()}
	s.connections = databaseConnections(draws)
	s.leave = func() {
		for _, db := range []*sql.DB{draws, s.write, s.lock, s.migrate} {
			db.SetMaxIdleConns(0) // closes them
			db.SetMaxIdleConns(connectionsMax)
		}
	}
	return nil
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
	case 1044, 1045, 1049, 1129, 1130: // no connection: access denied, unknown database, host blocked or not allowed
		return unavailable("connection", err, true)
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
