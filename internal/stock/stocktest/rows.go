package stocktest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
)

// Kept holds the rows of one pool, like a backup.
type Kept struct {
	pool   string
	tables map[string][][]any
	names  map[string][]string
}

// Keep copies the rows of a pool.
func Keep(t *testing.T, s *stock.Store, poolID string) Kept {
	t.Helper()
	k := Kept{pool: poolID, tables: map[string][][]any{}, names: map[string][]string{}}
	for _, table := range []string{"pools", "prizes", "awards", "moves", "changes", "turns", "redirects", "agenda", "hidden_items", "code_heads", "codes", "code_imports", "step_heads", "steps"} {
		found, err := s.LockDB().QueryContext(t.Context(), fmt.Sprintf(`SELECT * FROM %s WHERE %s = '%s'`, table, key(table), poolID))
		require.NoError(t, err)
		k.names[table], k.tables[table] = scanAll(t, found)
	}
	return k
}

func key(table string) string {
	if table == "pools" {
		return "id"
	}
	return "pool_id"
}

func scanAll(t *testing.T, found *sql.Rows) (names []string, all [][]any) {
	t.Helper()
	names, err := found.Columns()
	require.NoError(t, err)
	for found.Next() {
		values, to := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			to[i] = &values[i]
		}
		require.NoError(t, found.Scan(to...))
		all = append(all, values)
	}
	require.NoError(t, found.Err())
	return names, all
}

// PutBack restores the pool's rows, by SQL, to the state in which they were kept.
func (k Kept) PutBack(t *testing.T, s *stock.Store) {
	t.Helper()
	tx, err := s.LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, table := range []string{"steps", "step_heads", "code_imports", "codes", "code_heads", "agenda", "hidden_items", "turns", "redirects", "awards", "moves", "changes", "prizes", "pools"} {
		_, err := tx.ExecContext(t.Context(), fmt.Sprintf(`DELETE FROM %s WHERE %s = '%s'`, table, key(table), k.pool))
		require.NoError(t, err)
	}
	for _, table := range []string{"pools", "prizes", "awards", "moves", "changes", "turns", "redirects", "agenda", "hidden_items", "code_heads", "codes", "code_imports", "step_heads", "steps"} {
		for _, row := range k.tables[table] {
			query, err := s.Engine().Placeholder.ReplacePlaceholders(fmt.Sprintf(`INSERT INTO %s (%s) VALUES (%s)`,
				table, strings.Join(k.names[table], ", "), strings.Repeat("?, ", len(row)-1)+"?"))
			require.NoError(t, err)
			_, err = tx.ExecContext(t.Context(), query, row...)
			require.NoError(t, err)
		}
	}
	require.NoError(t, tx.Commit())
}
