package stock

import (
	"context"
	"database/sql"
	"sync"
)

// kept are statements that are prepared once, on databases where to read a
// statement costs more than to send it.
type kept struct {
	mu         sync.Mutex
	statements map[string]*sql.Stmt
}

// keep prepares the statements. It is called outside of transactions, because
// to prepare may take a connection. Where it fails, as it does before the
// schema is there, it says so and tries again the next time.
func (k *kept) keep(ctx context.Context, db *sql.DB, queries []string) error {
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

// keptTx is a transaction that knows statements which were prepared before it.
type keptTx struct {
	*sql.Tx
	statements map[string]*sql.Stmt
}

// ExecContext runs a statement, the one kept where there is one.
func (tx keptTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).ExecContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.ExecContext(ctx, query, args...)
}

// QueryContext is ExecContext for rows.
func (tx keptTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).QueryContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.QueryContext(ctx, query, args...)
}

// QueryRowContext is QueryContext for one row.
func (tx keptTx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := tx.statements[query]; s != nil {
		return tx.StmtContext(ctx, s).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // ends with the transaction
	}
	return tx.Tx.QueryRowContext(ctx, query, args...)
}
