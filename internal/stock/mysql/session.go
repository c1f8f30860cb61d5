package mysql

import (
	"context"
	"database/sql/driver"
	"time"

	"drawsvc/internal/stock/engine"
)

// session is a connection with two additions. It is closed when its server reports, after
// any statement, that another server must be written to. And its transactions end within
// their time limit. The driver's own COMMIT and ROLLBACK would wait for as long as any
// statement of the connection may take.
type session struct {
	driverConn
	// failOver closes the idle connections.
	failOver func()
	// left means that the connection must be closed instead of returned to its pool.
	left bool
}

// driverConn has the methods of the driver's connection that database/sql needs.
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

// BeginTx implements driver.ConnBeginTx. If BEGIN fails, the session is closed, because
// settings that the driver sent before it would affect a later transaction.
func (s *session) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if _, err := s.driverConn.BeginTx(ctx, o); err != nil {
		s.left = true
		return nil, s.observe(err)
	}
	deadline, _ := ctx.Deadline()
	return &transaction{s, deadline}, nil
}

// observe sets left if the error means that another server must be written to.
func (s *session) observe(err error) error {
	if e := Classify(err); e != nil && e.IsElsewhere() {
		s.left = true
		s.failOver()
	}
	return err
}

// transaction is a transaction with an optional deadline.
type transaction struct {
	session  *session
	deadline time.Time
}

// Commit implements driver.Tx.
func (tx *transaction) Commit() error { return tx.end("COMMIT", commitBy(tx.deadline, time.Now())) }

// commitBy returns the time by which a COMMIT that is sent now must end. A transaction
// without a deadline may have taken long, so its COMMIT gets a limit of its own.
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

// end ends the transaction. If that fails, the connection must not be used any more:
// the driver sends nothing after the deadline, and the next BEGIN on the connection
// would commit the transaction's writes so far.
func (tx *transaction) end(statement string, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_, err := tx.session.ExecContext(ctx, statement, nil)
	if e := Classify(err); err != nil && (e == nil || e.Reason != reasonDeadlock) { // after a deadlock, the server has rolled the transaction back
		tx.session.left = true
	}
	return err
}
