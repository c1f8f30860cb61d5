package locker

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker/locksql"
)

// slotsMax is the maximum number of pinned connections if the database's pool has no
// limit.
const slotsMax = 8

// pinboard provides connections that stay with one holder for as long as it holds its
// lock. It always keeps one connection of the pool free: holders need it briefly to count
// tokens and to interrupt waits. Without it, holders could wait for each other.
type pinboard struct {
	db    *sql.DB
	slots chan struct{}
	sql   locksql.Pinned
	ttl   time.Duration
}

// newPinboard returns an error unless the pool allows at least two connections.
func newPinboard(scheme string, o Options, statements locksql.Pinned) (*pinboard, error) {
	db := o.Database.LockDB()
	slots := slotsMax
	if n := db.Stats().MaxOpenConnections; n > 0 {
		slots = n - 1
	}
	if slots < 1 {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "lock \"%s:\" needs a pool of at least two connections", scheme)
	}
	return &pinboard{db: db, slots: make(chan struct{}, slots), sql: statements, ttl: o.TTL}, nil
}

// pinned is a connection with one user, who must return or discard it.
type pinned struct {
	*sql.Conn
	board *pinboard
	id    int64
}

// pin takes a connection for a holder that waits for its lock until the given time. It
// fails with errBusy if all connections for locks stay in use.
func (b *pinboard) pin(ctx context.Context, until time.Time) (*pinned, error) {
	limit := time.NewTimer(time.Until(until))
	defer limit.Stop()
	select {
	case b.slots <- struct{}{}:
	default:
		select {
		case b.slots <- struct{}{}:
		case <-limit.C:
			return nil, errBusy
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	p, err := b.connect(ctx, until)
	if err != nil {
		<-b.slots
	}
	return p, err
}

// connect takes a connection from the pool. It skips connections that were closed without
// the pool's knowledge, which is safe because nothing has been sent on them.
func (b *pinboard) connect(ctx context.Context, until time.Time) (p *pinned, err error) {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	err = retryStale(ctx, func() error {
		conn, err := b.db.Conn(ctx)
		if err != nil {
			return err
		}
		p = &pinned{Conn: conn, board: b}
		if p.id, err = b.sql.Prepare(ctx, conn, b.ttl, max(time.Until(until), 0)); err != nil {
			p.drop()
		}
		return err
	})
	return p, err
}

// undoTries is the maximum number of attempts of undo after a statement was interrupted.
// The first attempt may fail because of an interruption that arrives late.
const undoTries = 3

// undo frees every lock that the connection holds.
func (p *pinned) undo(ctx context.Context) (err error) {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	for range undoTries {
		if _, err = p.ExecContext(ctx, p.board.sql.Undo); !hasServerCode(err, p.board.sql.Interrupted) {
			break
		}
	}
	return err
}

// back frees the connection's lock, and returns the connection to the pool.
func (p *pinned) back(ctx context.Context) error {
	if err := p.undo(ctx); err != nil {
		p.discard()
		return err
	}
	return p.restore(ctx)
}

// restore returns the connection, which holds no lock, to the pool with its original
// settings. If that fails, it closes the connection. The server frees the connection's
// resources when it notices that.
func (p *pinned) restore(ctx context.Context) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	if p.board.sql.Restore != "" {
		if _, err := p.ExecContext(ctx, p.board.sql.Restore); err != nil {
			p.discard()
			return err
		}
	}
	_ = p.Close()
	<-p.board.slots
	return nil
}

// discard closes the connection. The server then frees the connection's lock.
func (p *pinned) discard() {
	p.drop()
	<-p.board.slots
}

// drop closes the connection itself, so that the pool does not use it again.
func (p *pinned) drop() {
	_ = p.Raw(func(any) error { return driver.ErrBadConn })
	_ = p.Close()
}

// wait sends a statement that the server may answer late, and gives up when until has
// passed or ctx ends. It then asks the server to stop the statement: if the client only
// disconnected, the server would continue to wait, and would then hold the lock. errBusy
// means that another session has the lock. After an error the caller must not use the
// connection any more. The connection then holds no lock, unless the server cannot be
// reached.
func (p *pinned) wait(ctx context.Context, until time.Time, ask func(ctx context.Context) error) error {
	if err := ctx.Err(); err != nil { // ctx ended while the connection was opened
		_ = p.back(ctx)
		return err
	}
	limit := opTimeout / 2
	if left := time.Until(until); left > 0 {
		limit = left + 10*time.Millisecond // so that the server's own limit comes first
	}
	waiting, over := context.WithTimeout(ctx, limit)
	defer over()
	asking, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	answered, interrupted := make(chan struct{}), make(chan error, 1)
	stop := context.AfterFunc(waiting, func() {
		interrupted <- p.interrupt(asking, answered)
		cancel()
	})
	err := ask(asking)
	close(answered)
	if stop() {
		return p.settle(ctx, err)
	}
	stopped := <-interrupted
	if stopped == nil && (err == nil || hasServerCode(err, p.board.sql.Interrupted)) {
		_ = p.back(ctx) // the lock may have been granted at that moment
	} else {
		p.discard()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case stopped != nil:
		return stopped
	}
	return errBusy
}

// settle handles the result of a statement that was not interrupted, and after an error
// returns or discards the connection.
func (p *pinned) settle(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case isClash(err) || errors.Is(err, errBusy):
		_ = p.back(ctx)
		return errBusy
	case errors.Is(err, sql.ErrNoRows):
		_ = p.back(ctx)
	default:
		p.discard()
	}
	return err
}

// interrupt ends the statement that waits on the connection, and returns when the server
// has answered the statement. It repeats the interruption, because the server ignores one
// that arrives before the statement. If there is still no answer, it makes the server end
// the connection.
func (p *pinned) interrupt(ctx context.Context, answered <-chan struct{}) error {
	limit := time.NewTimer(opTimeout / 2)
	defer limit.Stop()
	for pause := time.Millisecond; ; pause *= 2 {
		if err := p.tell(ctx, p.board.sql.Interrupt); err != nil {
			return err
		}
		select {
		case <-answered:
			return nil
		case <-time.After(pause):
		case <-limit.C:
			return errors.Join(errSilent, p.tell(ctx, p.board.sql.End))
		}
	}
}

// tell sends a statement about this connection to the server, on another connection.
func (p *pinned) tell(ctx context.Context, statement string) error {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	return retryStale(ctx, func() error {
		_, err := p.board.db.ExecContext(ctx, fmt.Sprintf(statement, p.id))
		return err
	})
}

// token raises and returns the token of key. It uses another connection and commits at
// once, so that a token is never used again, even if its holder dies.
func (b *pinboard) token(ctx context.Context, key string) (token int64, err error) {
	ctx, cancel := detachContext(ctx)
	defer cancel()
	err = retryStale(ctx, func() (err error) {
		token, err = changeRow(ctx, b.db, b.sql.ByInsertID, b.sql.Count, key)
		return err
	})
	return token, err
}
