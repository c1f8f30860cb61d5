package mysql

import (
	"context"
	"database/sql/driver"
	"time"

	"drawsvc/internal/stock/engine"
)

// session is a connection that ends when its server says that another is
// to be written, whatever was asked of it, and whose transactions end within
// their time: the driver's COMMIT and ROLLBACK wait for as long as any
// statement of the connection may be silent.
type session struct {
	driverConn
	// failOver closes the connections that are idle.
	failOver func()
	// left says that the connection is to be closed, not given back to its pool.
	left bool
}

// driverConn is what database/sql asks of the driver's connection.
type driverConn interface { //nolint:interfacebloat // a wrapper that lacks one changes what database/sql does
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// IsValid implements driver.Validator.
func (s *session) IsValid() bool { return !s.left && s.driverConn.IsValid() }

// ExecContext implements driver.ExecerContext.
func (s *session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.driverConn.ExecContext(ctx, query, args)
	return result, s.observe(err)
}

// QueryContext implements driver.QueryerContext.
func (s *session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.driverConn.QueryContext(ctx, query, args)
	return rows, s.observe(err)
}

// BeginTx implements driver.ConnBeginTx. What the driver sends before BEGIN is of the
// next transaction, also where that is another one.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if _, err := s.driverConn.BeginTx(ctx, o); err != nil {
		s.left = true
		return nil, s.observe(err)
	}
	deadline, _ := ctx.Deadline()
	return &transaction{s, deadline}, nil
}

// observe leaves a server that is not to be written.
func (s *session) observe(err error) error {
	if e := classify(err); e != nil && e.IsElsewhere() {
		s.left = true
		s.failOver()
	}
	return err
}

// transaction is a transaction that has until its deadline, where it has one.
type transaction struct {
	session  *session
	deadline time.Time
}

// Commit implements driver.Tx.
func (tx *transaction) Commit() error { return tx.end("COMMIT", commitBy(tx.deadline, time.Now())) }

// commitBy is when a COMMIT that is sent now ends at the latest. Where the
// transaction has no deadline, it may have taken any time.
func commitBy(deadline, now time.Time) time.Time {
	if deadline.IsZero() {
		return now.Add(adminSilence)
	}
	return deadline
}

// Rollback implements driver.Tx.
func (tx *transaction) Rollback() error {
	return tx.end("ROLLBACK", time.Now().Add(engine.RollbackMax))
}

// end ends the transaction. Where it fails nobody may use the connection any more: the
// driver sends nothing behind the deadline, and the next BEGIN on the connection would
// commit what the transaction wrote so far.
func (tx *transaction) end(statement string, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_, err := tx.session.ExecContext(ctx, statement, nil)
	if e := classify(err); err != nil && (e == nil || e.Reason != reasonDeadlock) { // the server has rolled that one back
		tx.session.left = true
	}
	return err
}
