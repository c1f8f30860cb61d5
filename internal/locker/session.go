package locker

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"drawsvc/internal/draw"
)

// session is a lock that belongs to a database session: GET_LOCK on MySQL and
// MariaDB, a session advisory lock on PostgreSQL (14 or newer). The session is
// a pinned connection, which goes back to the pool only when the database has
// said that the lock is free; in doubt it is closed. The server ends a session
// that was silent for a lease.
//
// Keys are hashed: two keys whose hashes were equal would only wait for each
// other. A renewal asks whether the lock is held by this very session, which
// finds a pooler in between that gives each statement another one.
type session struct {
	board *pinboard
	sql   sessionSQL
}

// sessionSQL are the statements of one dialect; each takes the lock's name.
// Those that ask answer 1 for yes and 0 or NULL for no.
type sessionSQL struct {
	pinned pinnedSQL
	name   func(key string) any
	// ask takes the lock and waits for it as long as there is time left.
	ask func(ctx context.Context, p *pinned, name any, left time.Duration) (bool, error)
	// mine asks whether this session holds the lock, free frees it.
	mine, free string
}

func openSession(_ string, o Options) (backend, error) {
	s, err := ofDialect("session", o, map[string]sessionSQL{"postgres": sessionPostgres(), "mysql": sessionMySQL()})
	if err != nil {
		return nil, err
	}
	board, err := newPinboard("session", o, s.pinned)
	if err != nil {
		return nil, err
	}
	if o.Database.SharesSessions() {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock \"session:\" is not possible through a pooler that shares sessions "+
			"(pgbouncer in transaction mode): name the database itself in --database, or take the lock \"table:\" or \"row:\"")
	}
	return &session{board: board, sql: s}, nil
}

// sessionPostgres: an advisory lock is a number of 64 bits, and local to its
// database.
func sessionPostgres() sessionSQL {
	return sessionSQL{
		pinned: pinnedPostgres("", "idle_session_timeout"),
		name: func(key string) any {
			sum := sha256.Sum256([]byte("drawsvc:" + key))
			return int64(binary.BigEndian.Uint64(sum[:])) //nolint:gosec // any 64 bits will do
		},
		ask: func(ctx context.Context, p *pinned, name any, left time.Duration) (bool, error) {
			if left <= 0 {
				return p.says(ctx, `SELECT CAST(pg_try_advisory_lock($1) AS INT)`, name)
			}
			_, err := p.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, name)
			return true, err
		},
		mine: `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid() AND granted AND objsubid = 1
			AND (CAST(classid AS BIGINT) << 32) | CAST(objid AS BIGINT) = $1`,
		free: `SELECT CAST(pg_advisory_unlock($1) AS INT)`,
	}
}

// sessionMySQL: a name has at most 64 characters and is the whole server's, so
// the database's own name goes into it.
func sessionMySQL() sessionSQL {
	const name = `SHA1(CONCAT(DATABASE(), ':', ?))`
	return sessionSQL{
		pinned: pinnedMySQL(""),
		name: func(key string) any {
			sum := sha256.Sum256([]byte(key))
			return hex.EncodeToString(sum[:])
		},
		ask: func(ctx context.Context, p *pinned, key any, left time.Duration) (bool, error) {
			limit := "0"
			if left > 0 {
				limit = seconds(left)
			}
			return p.says(ctx, `SELECT GET_LOCK(`+name+`, `+limit+`)`, key)
		},
		mine: `SELECT IS_USED_LOCK(` + name + `) = CONNECTION_ID()`,
		free: `SELECT RELEASE_LOCK(` + name + `)`,
	}
}

// says asks a question that is answered with 1 for yes.
func (p *pinned) says(ctx context.Context, query string, args ...any) (bool, error) {
	var n sql.NullInt64
	err := p.QueryRowContext(ctx, query, args...).Scan(&n)
	return n.Int64 == 1, err
}

func (s *session) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	p, err := s.board.pin(ctx, until)
	if err != nil {
		return nil, err
	}
	name := s.sql.name(key)
	since := time.Now()
	err = p.wait(ctx, until, func(ctx context.Context) error {
		granted, err := s.sql.ask(ctx, p, name, time.Until(until))
		if err == nil && !granted {
			return errBusy
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	token, err := s.board.token(ctx, key)
	if err != nil {
		_ = p.back(ctx)
		return nil, err
	}
	return &lease{
		token:   token,
		since:   since,
		renew:   func(ctx context.Context) error { return s.renew(ctx, p, name) },
		release: func(ctx context.Context) error { return s.release(ctx, p, name) },
	}, nil
}

func (s *session) renew(ctx context.Context, p *pinned, name any) error {
	// A session that does not answer is not ours for long: its lock ends
	// with its connection, and the driver closes a connection whose answer
	// it did not wait for.
	mine, err := p.says(ctx, s.sql.mine, name)
	if err != nil || !mine {
		return errors.Join(errLost, err)
	}
	return nil
}

func (s *session) release(ctx context.Context, p *pinned, name any) error {
	freed, err := p.says(ctx, s.sql.free, name)
	if err != nil || !freed {
		p.discard()
		return errors.Join(errLost, err)
	}
	return p.restore(ctx)
}

func (s *session) ping(ctx context.Context) error { return pingDB(ctx, s.board.db) }

func (s *session) close() error { return nil }
