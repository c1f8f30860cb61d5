package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"drawsvc/internal/locker/locksql"
)

// locks returns the statements of the locks in the database.
func locks() locksql.Statements {
	row := locksql.NewRow(pinned(`START TRANSACTION`), `DUPLICATE KEY UPDATE key_id = key_id`)
	return locksql.Statements{Database: "mysql", Table: tableLock(), Row: &row, Session: sessionLock()}
}

// tableLock uses UTC: when daylight saving repeats an hour, UNIX_TIMESTAMP(NOW()) is an
// hour wrong.
func tableLock() *locksql.Table {
	const now = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
	t := locksql.NewTable(now)
	t.Take = `UPDATE locks SET owner = ?, token = LAST_INSERT_ID(token + 1), expires_at = ` + now + ` + ?
		WHERE key_id = ? AND expires_at <= ` + now
	t.Seed = `INSERT INTO locks (key_id, owner, token, expires_at) VALUES (?, '', 0, 0) ON DUPLICATE KEY UPDATE key_id = key_id`
	t.ByInsertID = true
	return &t
}

// sessionLock uses GET_LOCK. A name has at most 64 characters and is valid for the
// whole server, so it includes the database's name.
func sessionLock() *locksql.Session {
	const name = `SHA1(CONCAT(DATABASE(), ':', ?))`
	return &locksql.Session{
		Pinned: pinned(""),
		Name: func(key string) any {
			sum := sha256.Sum256([]byte(key))
			return hex.EncodeToString(sum[:])
		},
		Ask: func(left time.Duration) (string, bool) {
			limit := "0"
			if left > 0 {
				limit = seconds(left)
			}
			return `SELECT GET_LOCK(` + name + `, ` + limit + `)`, true
		},
		Mine: `SELECT IS_USED_LOCK(` + name + `) = CONNECTION_ID()`,
		Free: `SELECT RELEASE_LOCK(` + name + `)`,
	}
}

// pinned prepares a session, by the statement begin unless it is "". Both time limits are
// limits of the session, in whole seconds.
func pinned(begin string) locksql.Pinned {
	p := locksql.Pinned{
		Prepare: func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error) {
			limits := `SET @drawsvc_silence = @@wait_timeout, @drawsvc_wait = @@innodb_lock_wait_timeout,
				SESSION wait_timeout = ` + seconds(ttl) + `, SESSION innodb_lock_wait_timeout = ` + seconds(wait)
			for _, statement := range []string{limits, begin} {
				if statement == "" {
					continue
				}
				if _, err := conn.ExecContext(ctx, statement); err != nil {
					return 0, err
				}
			}
			err = conn.QueryRowContext(ctx, `SELECT CONNECTION_ID()`).Scan(&id)
			return id, err
		},
		Undo:        `ROLLBACK`,
		Restore:     `SET SESSION wait_timeout = @drawsvc_silence, SESSION innodb_lock_wait_timeout = @drawsvc_wait`,
		Interrupt:   `KILL QUERY %d`,
		Interrupted: "1317",
		End:         `KILL CONNECTION %d`,
		Count: `INSERT INTO lock_tokens (key_id, token) VALUES (?, LAST_INSERT_ID(1))
			ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)`,
		ByInsertID: true,
	}
	if begin == "" {
		p.Undo = `DO RELEASE_ALL_LOCKS()`
	}
	return p
}

// seconds rounds up to whole seconds, the unit of the server's limits.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
