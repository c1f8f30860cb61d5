package sqltx

import (
	"context"
	"database/sql"
	"sync"
)

// prepared holds statements that are prepared once, on databases where parsing a
// statement costs more than sending it.
type prepared struct {
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// prepare prepares the statements. It is called outside of transactions, because
// preparing may take a connection. If it fails, for example before the schema exists, it
// returns an error, and the next call tries again.
func (k *prepared) prepare(ctx context.Context, db *sql.DB, queries []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.statements != nil {
		return nil
	}
	statements := make(map[string]*sql.Stmt, len(queries))
	for _, query := range queries {
		s, err := db.PrepareContext(ctx, query) //nolint:sqlclosecheck // until the database is closed
		if err != nil {
			for _, s := range statements {
				_ = s.Close() // the first error is the relevant one
			}
			return err
		}
		statements[query] = s
	}
	k.statements = statements
	return nil
}

// preparedTx is a transaction with statements that were prepared before it.
type preparedTx struct {
	*sql.Tx
	statements map[string]*sql.Stmt
}

// ExecContext runs a statement, in its prepared form if there is one.
func (tx preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.ExecContext(ctx, query, args...)
}

// QueryContext is ExecContext for rows.
func (tx preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).QueryContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.QueryContext(ctx, query, args...)
}

// QueryRowContext is QueryContext for one row.
func (tx preparedTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.QueryRowContext(ctx, query, args...)
}
