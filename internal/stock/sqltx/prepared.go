package sqltx

import (
	"context"
	"database/sql"
	"sync"
)

// prepared are statements that are prepared once, on databases where to read a
// statement costs more than to send it.
type prepared struct {
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// prepare prepares the statements. It is called outside of transactions, because
// to prepare may take a connection. Where it fails, as it does before the
// schema is there, it says so and tries again the next time.
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
				_ = s.Close() // it is the first error that matters
			}
			return err
		}
		statements[query] = s
	}
	k.statements = statements
	return nil
}

// preparedTx is a transaction that knows statements which were prepared before it.
type preparedTx struct {
	*sql.Tx
	statements map[string]*sql.Stmt
}

// ExecContext runs a statement, the prepared one where there is one.
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
