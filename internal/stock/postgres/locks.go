package postgres

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"strconv"
	"time"

	"drawsvc/internal/locker/locksql"
)

// locks returns the statements of the locks in the database.
func locks() locksql.Statements {
	return locksql.Statements{
		Database: "postgres",
		Table:    locksql.NewTable("CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT)").Numbered(),
		Row:      locksql.NewRow(pinned(`BEGIN`, "idle_in_transaction_session_timeout"), `CONFLICT (key_id) DO NOTHING`).Numbered(),
		Session:  sessionLock(),
	}
}

// sessionLock uses an advisory lock: a number of 64 bits, local to its database.
func sessionLock() *locksql.Session {
	return &locksql.Session{
		Pinned: pinned("", "idle_session_timeout"),
		Name: func(key string) any {
			sum := sha256.Sum256([]byte("drawsvc:" + key))
			return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any 64 bits will do
		},
		Ask: func(left time.Duration) (string, bool) {
			if left <= 0 {
				return `SELECT CAST(pg_try_advisory_lock($1) AS INT)`, true
			}
			return `SELECT pg_advisory_lock($1)`, false
		},
		Mine: `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
			AND (CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT) = $1`,
		Free: `SELECT CAST(pg_advisory_unlock($1) AS INT)`,
	}
}

// pinned prepares a session, by the statement begin unless it is "". It makes two
// settings: the limit of a wait, and the time after which the server ends a silent
// connection. If begin starts a transaction, the settings end with it.
func pinned(begin, silence string) locksql.Pinned {
	local := strconv.FormatBool(begin != "")
	prepare := `SELECT pg_backend_pid(), set_config('lock_timeout', $1, ` + local + `), set_config('` + silence + `', $2, ` + local + `)`
	p := locksql.Pinned{
		Prepare: func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error) {
			if begin != "" {
				if _, err := conn.ExecContext(ctx, begin); err != nil {
					return 0, err
				}
			}
			err = conn.QueryRowContext(ctx, prepare, milliseconds(wait), milliseconds(ttl)).Scan(&id, new(string), new(string))
			return id, err
		},
		Interrupt:   `SELECT pg_cancel_backend(%d)`,
		Interrupted: "57014",
		End:         `SELECT pg_terminate_backend(%d, 500)`, // waits up to this time for the end, in milliseconds
		Count: `INSERT INTO lock_tokens (key_id, token) VALUES ($1, 1)
			ON CONFLICT (key_id) DO UPDATE SET token = lock_tokens.token + 1 RETURNING token`,
	}
	if begin == "" {
		p.Undo = `SELECT pg_advisory_unlock_all()`
		p.Restore = `RESET lock_timeout; RESET ` + silence
	} else {
		p.Undo = `ROLLBACK`
	}
	return p
}

// milliseconds rounds up, because 0 would mean no limit.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, (d+time.Millisecond-1).Milliseconds()), 10)
}
