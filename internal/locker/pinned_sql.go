package locker

import (
	"context"
	"database/sql"
	"math"
	"strconv"
	"time"
)

// pinnedPostgres prepares with begin, "" for none, and two settings: the limit
// of a wait and the silence after which the server ends the connection. Inside
// a transaction they end with it.
func pinnedPostgres(begin, silence string) pinnedSQL {
	local := strconv.FormatBool(begin != "")
	prepare := `SELECT pg_backend_pid(), set_config('lock_timeout', $1, ` + local + `), set_config('` + silence + `', $2, ` + local + `)`
	s := pinnedSQL{
		prepare: func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error) {
			if begin != "" {
				if _, err := conn.ExecContext(ctx, begin); err != nil {
					return 0, err
				}
			}
			err = conn.QueryRowContext(ctx, prepare, milliseconds(wait), milliseconds(ttl)).Scan(&id, new(string), new(string))
			return id, err
		},
		interrupt:   `SELECT pg_cancel_backend(%d)`,
		interrupted: "57014",
		end:         `SELECT pg_terminate_backend(%d, 500)`, // waits for it as long, in milliseconds
		count: `INSERT INTO lock_tokens (key_id, token) VALUES ($1, 1)
			ON CONFLICT (key_id) DO UPDATE SET token = lock_tokens.token + 1 RETURNING token`,
		counts: returning,
	}
	if begin == "" {
		s.undo = `SELECT pg_advisory_unlock_all()`
		s.restore = `RESET lock_timeout; RESET ` + silence
	} else {
		s.undo = `ROLLBACK`
	}
	return s
}

// pinnedMySQL is the same for MySQL and MariaDB, which count both limits in
// whole seconds and have them for the session only.
func pinnedMySQL(begin string) pinnedSQL {
	s := pinnedSQL{
		prepare: func(ctx context.Context, conn *sql.Conn, ttl, wait time.Duration) (id int64, err error) {
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
		restore:     `SET SESSION wait_timeout = @drawsvc_silence, SESSION innodb_lock_wait_timeout = @drawsvc_wait`,
		interrupt:   `KILL QUERY %d`,
		interrupted: "1317",
		end:         `KILL CONNECTION %d`,
		count: `INSERT INTO lock_tokens (key_id, token) VALUES (?, LAST_INSERT_ID(1))
			ON DUPLICATE KEY UPDATE token = LAST_INSERT_ID(token + 1)`,
		counts: lastInsertID,
	}
	s.undo = `ROLLBACK`
	if begin == "" {
		s.undo = `DO RELEASE_ALL_LOCKS()`
	}
	return s
}

// milliseconds rounds up for PostgreSQL, where 0 would mean without limit.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, (d+time.Millisecond-1).Milliseconds()), 10)
}

// seconds rounds up to what MySQL counts in.
func seconds(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
