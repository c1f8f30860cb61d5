package stock

import (
	"context"
	"database/sql/driver"
	"time"
)

// mysqlSession is a connection that ends when its server says that another is
// to be written, whatever was asked of it, and whose transactions end within
// their time: the driver's COMMIT and ROLLBACK wait for as long as any
// statement of the connection may be silent.
type mysqlSession struct {
	mysqlConn
	// failOver closes the connections that are idle.
	failOver func()
	left     bool
}

// mysqlConn is what database/sql asks of the driver's connection.
type mysqlConn interface { //nolint:interfacebloat // a wrapper that lacks one changes what database/sql does
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
func (s *mysqlSession) IsValid() bool { return !s.left && s.mysqlConn.IsValid() }

// ExecContext implements driver.ExecerContext.
func (s *mysqlSession) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := s.mysqlConn.ExecContext(ctx, query, args)
	return result, s.observe(err)
}

// QueryContext implements driver.QueryerContext.
func (s *mysqlSession) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := s.mysqlConn.QueryContext(ctx, query, args)
	return rows, s.observe(err)
}

// BeginTx implements driver.ConnBeginTx.
func (s *mysqlSession) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if _, err := s.mysqlConn.BeginTx(ctx, o); err != nil {
		return nil, s.observe(err)
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(adminSilence)
	}
	return &mysqlTx{s, deadline}, nil
}

// observe leaves a server that is not to be written.
func (s *mysqlSession) observe(err error) error {
	if e := classifyMySQL(err); e != nil && e.isElsewhere() {
		s.left = true
		s.failOver()
	}
	return err
}

// mysqlTx is a transaction that has until its deadline.
type mysqlTx struct {
	session  *mysqlSession
	deadline time.Time
}

// Commit implements driver.Tx.
func (tx *mysqlTx) Commit() error { return tx.end("COMMIT", tx.deadline) }

// Rollback implements driver.Tx. Where it fails the connection is closed.
func (tx *mysqlTx) Rollback() error { return tx.end("ROLLBACK", time.Now().Add(rollbackTimeout)) }

func (tx *mysqlTx) end(statement string, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(context.Background(), deadline)
	defer cancel()
	_, err := tx.session.ExecContext(ctx, statement, nil)
	return err
}
