package stock_test

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestStatementBinlog: a server that logs statements cannot be opened for writing, and
// the doctor explains that.
func TestStatementBinlog(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql", servertest.Durable(), servertest.Roomy(), servertest.Args("--log-bin=bin", "--server-id=1", "--sync-binlog=1"))
	s := open(t, server.URL(), stock.Options{}) // the sessions that are open now log rows
	require.NoError(t, s.Migrate(t.Context()))
	stocktest.ExecAll(t, s, []string{`SET GLOBAL binlog_format = 'STATEMENT'`})
	_, err := stock.Open(t.Context(), server.URL(), stock.Options{})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.ErrorContains(t, err, "binlog_format = STATEMENT: the server refuses every write of the service (error 1665)")
	require.Equal(t, []string{"danger binlog-format: binlog_format = STATEMENT while log_bin is on"}, checkUp(t, server.URL()))

	// The statements that the doctor mentions.
	conn, err := s.LockDB().Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	run := func(statement string) error {
		_, err := conn.ExecContext(t.Context(), statement)
		return err
	}
	require.NoError(t, run(`SET SESSION binlog_format = 'STATEMENT'`))
	for _, statement := range []string{
		`CREATE TABLE mine (id INT PRIMARY KEY) ENGINE = InnoDB`, `ALTER TABLE mine ADD COLUMN n INT`,
		`SELECT COUNT(*) FROM mine`, `DROP TABLE mine`,
	} {
		require.NoError(t, run(statement), statement)
	}
	for _, statement := range []string{
		`INSERT INTO lock_rows (key_id, token) VALUES ('x', 1)`, `INSERT IGNORE INTO lock_rows (key_id, token) VALUES ('x', 1)`,
		`UPDATE schema_admits SET binaries_from = 1 WHERE binaries_from = 2`, `DELETE FROM lock_rows`, `SELECT * FROM pools FOR UPDATE`,
	} {
		var refused *mysql.MySQLError
		require.ErrorAs(t, run(statement), &refused, statement)
		require.EqualValues(t, 1665, refused.Number, statement)
	}

	for _, format := range []string{"MIXED", "ROW"} {
		require.NoError(t, run(`SET GLOBAL binlog_format = '`+format+`'`))
		require.NoError(t, open(t, server.URL(), stock.Options{}).Migrate(t.Context()))
		require.Empty(t, checkUp(t, server.URL()))
	}
}

// TestStatementsWithoutBinlog: without a binary log, the format of that log does not
// matter.
func TestStatementsWithoutBinlog(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql", servertest.Durable(), servertest.Roomy(), servertest.Args("--binlog-format=STATEMENT"))
	require.NoError(t, open(t, server.URL(), stock.Options{}).Migrate(t.Context()))
	require.Equal(t, []string{"note archiving: log_bin = OFF"}, checkUp(t, server.URL()))
}
