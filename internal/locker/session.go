package locker

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
)

// session is a lock that belongs to a database session: GET_LOCK on MySQL and MariaDB, a
// session advisory lock on PostgreSQL (14 or newer). The session is a pinned connection.
// It returns to the pool only when the database has confirmed that the lock is free;
// otherwise it is closed. The server ends a session that is silent for the length of a
// lease.
//
// Keys are hashed. Holders of two keys with equal hashes merely wait for each other. A
// renewal checks that the same session holds the lock. So it detects a pooler that uses
// another session for each statement.
type session struct {
	board *pinboard
	sql   *locksql.Session
}

func openSession(_ string, o Options) (backend, error) {
	s, err := findStatements("session", o, func(s locksql.Statements) *locksql.Session { return s.Session })
	if err != nil {
		return nil, err
	}
	board, err := newPinboard("session", o, s.Pinned)
	if err != nil {
		return nil, err
	}
	if o.Database.SharesSessions() {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock \"session:\" is not possible through a pooler that shares sessions "+
			"(pgbouncer in transaction mode): name the database itself in --database, or take the lock \"table:\" or \"row:\"")
	}
	return &session{board: board, sql: s}, nil
}

// ask requests the lock, and waits for it while time is left.
func (s *session) ask(ctx context.Context, p *pinned, name any, left time.Duration) (bool, error) {
	question, isAnswered := s.sql.Ask(left)
	if isAnswered {
		return p.askYesNo(ctx, question, name)
	}
	_, err := p.ExecContext(ctx, question, name)
	return true, err
}

// askYesNo runs a query that returns 1 for yes.
func (p *pinned) askYesNo(ctx context.Context, query string, args ...any) (bool, error) {
	var n sql.NullInt64
	err := p.QueryRowContext(ctx, query, args...).Scan(&n)
	return n.Int64 == 1, err
}

func (s *session) acquire(ctx context.Context, key string, until time.Time) (*lease, error) {
	p, err := s.board.pin(ctx, until)
	if err != nil {
		return nil, err
	}
	name := s.sql.Name(key)
	since := time.Now()
	err = p.wait(ctx, until, func(ctx context.Context) error {
		granted, err := s.ask(ctx, p, name, time.Until(until))
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
	// A session that does not answer must not keep the lock for long. Its lock ends with its
	// connection. The driver closes the connection, because it has not read the response.
	mine, err := p.askYesNo(ctx, s.sql.Mine, name)
	if err != nil || !mine {
		return errors.Join(errLost, err)
	}
	return nil
}

func (s *session) release(ctx context.Context, p *pinned, name any) error {
	freed, err := p.askYesNo(ctx, s.sql.Free, name)
	if err != nil || !freed {
		p.discard()
		return errors.Join(errLost, err)
	}
	return p.restore(ctx)
}

func (s *session) ping(ctx context.Context) error { return pingDB(ctx, s.board.db) }

func (s *session) close() error { return nil }
