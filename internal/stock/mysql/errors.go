package mysql

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/go-sql-driver/mysql"

	"drawsvc/internal/stock/engine"
)

// reasonDeadlock is the reason of a transaction that the server has rolled back.
const reasonDeadlock = "deadlock"

// fullDisk matches the system's ENOSPC and EDQUOT in the messages of both servers.
var fullDisk = regexp.MustCompile(`\b(28|122)\b`)

// reasonOfSystem distinguishes a full disk from other system errors. Only the message
// contains the system's error number.
func reasonOfSystem(message string) string {
	if fullDisk.MatchString(message) {
		return engine.ReasonFull
	}
	return engine.ReasonIO
}

// Classify returns the class of a server's error, nil for an error without a number. It
// classifies the numbers of MySQL 8 and MariaDB:
// https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html,
// https://mariadb.com/kb/en/mariadb-error-code-reference/.
func Classify(err error) *engine.Error {
	if errors.Is(err, mysql.ErrInvalidConn) {
		return engine.Unavailable("connection", err, false)
	}
	e, ok := errors.AsType[*mysql.MySQLError](err)
	if !ok {
		return nil
	}
	switch e.Number {
	case 1213, 1020, 3101: // deadlock; MariaDB's snapshot conflict; rolled back by the group
		return engine.Conflict(reasonDeadlock, err)
	case 1205, 3572, 3058: // lock wait; NOWAIT; user lock deadlock
		return engine.Conflict(engine.ReasonLockWait, err)
	case 1050, 1060, 1061, 1091: // another process migrated first
		return engine.Conflict("schema", err)
	case 1062, 1586:
		return engine.KnownKey(err)
	case 1290, 1792, 1836: // read-only, so another node must be written to
		return engine.Unavailable(engine.ReasonReadOnly, err, true)
	case 1044, 1045, 1049, 1129, 1130: // no connection: access denied, unknown database, host blocked or not allowed
		return engine.Unavailable("connection", err, true)
	case 1040, 1203, 1226: // too many connections
		return engine.Unavailable("connections", err, true)
	case 1665: // every write, with READ COMMITTED and binlog_format = STATEMENT
		return engine.Unavailable("binlog-format", err, true)
	case 1047: // this node is not part of its cluster
		return engine.Unavailable(engine.ReasonNotReady, err, true)
	case 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 4031: // shutting down, link lost, killed, idle for too long
		return engine.Unavailable("unavailable", err, false)
	case 1021, 1114: // disk or table full
		return engine.Unavailable(engine.ReasonFull, err, false)
	case 1030, 1026: // the storage engine or the log could not use a file: an error of the system
		return engine.Unavailable(reasonOfSystem(e.Message), err, false)
	case 1041: // out of memory
		return engine.Unavailable("unavailable", err, false)
	case 1317, 1969, 3024: // interrupted, statement timeouts
		return engine.Unavailable("interrupted", err, false)
	}
	return engine.Other(fmt.Sprintf("mysql-%d", e.Number), err, false)
}
