//go:build tidb

package stock_test

import (
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/internal/stock/tidb"
)

// overIssue is a statement that the schema must refuse.
const overIssue = `UPDATE prizes SET issued = stocked + 1`

// TestTiDBIsMigratedOnlyWithItsChecks: a server that drops CHECK constraints is refused
// before anything is created. The broken double, a dialect without that check, migrates.
// Its schema accepts more issued than stocked, and only the doctor notices.
func TestTiDBIsMigratedOnlyWithItsChecks(t *testing.T) {
	url := servertest.Start(t, "mysql").URL()
	s, err := stock.Open(t.Context(), url, stock.Options{})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "tidb", s.Dialect())
	stocktest.ExecAll(t, s, []string{`SET GLOBAL tidb_enable_check_constraint = OFF`})

	err = s.Migrate(t.Context())
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.ErrorContains(t, err, "SET GLOBAL tidb_enable_check_constraint = ON")
	var tables int
	require.NoError(t, s.LockDB().QueryRowContext(t.Context(),
		`SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()`).Scan(&tables))
	require.Zero(t, tables, "nothing was created")
	require.Contains(t, findings(t, s), "danger checks: tidb_enable_check_constraint = OFF")

	double := tidb.Dialect()
	double.BeforeMigrate = nil
	unguarded, err := stock.OpenDialect(t.Context(), double, url, stock.Options{})
	require.NoError(t, err)
	defer unguarded.Close()
	require.NoError(t, unguarded.Migrate(t.Context()))
	stocktest.Pool(t, unguarded, "p", 5)
	stocktest.ExecAll(t, unguarded, []string{overIssue, `SET GLOBAL tidb_enable_check_constraint = ON`})
	require.Contains(t, findings(t, s), "danger checks-missing: missing CHECK constraint: issued_within_stock, pool_version")
}

// TestTiDBKeepsItsChecks: a schema that was migrated with CHECK constraints keeps them,
// even if the server's variable is turned off later. The next migration is then refused.
func TestTiDBKeepsItsChecks(t *testing.T) {
	s := stocktest.Open(t, servertest.Start(t, "mysql").URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 5)
	for _, variable := range []string{"ON", "OFF"} {
		stocktest.ExecAll(t, s, []string{`SET GLOBAL tidb_enable_check_constraint = ` + variable})
		_, err := s.LockDB().ExecContext(t.Context(), overIssue)
		var refused *mysql.MySQLError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, uint16(3819), refused.Number, variable)
	}
	require.ErrorContains(t, s.Migrate(t.Context()), "tidb_enable_check_constraint")
}

// TestTiDBSessionsIgnoreDefaults: the service's sessions are pessimistic and read the
// latest state, even if an operator has set other defaults.
func TestTiDBSessionsIgnoreDefaults(t *testing.T) {
	url := servertest.Start(t, "mysql").URL()
	s := stocktest.Open(t, url, stock.Options{})
	stocktest.ExecAll(t, s, []string{
		`SET GLOBAL tidb_txn_mode = 'optimistic', GLOBAL tidb_low_resolution_tso = ON, GLOBAL tidb_guarantee_linearizability = OFF`,
		`SET GLOBAL autocommit = 0, GLOBAL sql_mode = '', GLOBAL transaction_isolation = 'REPEATABLE-READ', GLOBAL foreign_key_checks = OFF`,
	})
	other, err := stock.Open(t.Context(), url, stock.Options{})
	require.NoError(t, err)
	defer other.Close()
	require.Equal(t, []string{oneStore}, findings(t, other))
	stocktest.ExecAll(t, s, []string{`SET GLOBAL tidb_super_read_only = ON`})
	require.ElementsMatch(t, []string{oneStore, "danger read-only: tidb_super_read_only = ON"}, findings(t, other))
}

// oneStore is the finding that every server of these tests has.
const oneStore = "danger one-store: the server keeps its rows in a store of its own (unistore), not in TiKV"

func findings(t *testing.T, s *stock.Store) (found []string) {
	t.Helper()
	all, err := checkup.Run(t.Context(), s, checkup.Options{})
	require.NoError(t, err)
	for _, f := range all {
		found = append(found, fmt.Sprintf("%s %s: %s", f.Level, f.Rule, f.Detail))
	}
	return found
}

// TestTiDBSplitsRegions: the statements of docs/tidb.md split tables by pool.
func TestTiDBSplitsRegions(t *testing.T) {
	s := stocktest.New(t, "mysql")
	stocktest.ExecAll(t, s, []string{
		`SPLIT TABLE awards BY ('autumn', 0), ('spring', 0)`,
		`SPLIT TABLE awards INDEX one_draw_per_name BY ('autumn', '', 0), ('spring', '', 0)`,
		`SPLIT TABLE pools BY ('autumn'), ('spring')`,
		`SPLIT TABLE prizes BY ('autumn', ''), ('spring', '')`,
		`ALTER TABLE awards ATTRIBUTES 'merge_option=deny'`,
	})
	var hidden int
	require.NoError(t, s.LockDB().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM information_schema.tables
		WHERE table_schema = DATABASE() AND table_name IN ('pools', 'prizes', 'awards', 'moves', 'changes', 'turns') AND tidb_pk_type <> 'CLUSTERED'`).Scan(&hidden))
	require.Zero(t, hidden, "no table of draws has hidden row numbers, so SHARD_ROW_ID_BITS has nothing to spread")
}
