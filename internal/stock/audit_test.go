package stock_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestAuditFinds breaks each rule by hand and has the audit name it. The
// schema refuses most of this; its checks are dropped first.
func TestAuditFinds(t *testing.T) {
	for rule, damage := range map[string]string{
		"over-issued":      `UPDATE prizes SET stocked = 1 WHERE id = 'a'`,
		"issued-is-awards": `UPDATE prizes SET issued = issued + 1 WHERE id = 'a'`,
		"stocked-is-moves": `UPDATE prizes SET stocked = stocked + 1 WHERE id = 'a'`,
		"units-count-up":   `UPDATE awards SET unit = 1 WHERE draw_id = 'd2'`,
		"version-double":   `UPDATE moves SET version = 4 WHERE version = 1`,
		"version-gap":      `DELETE FROM awards WHERE draw_id = 'd1'`,
		"prize-unknown":    `UPDATE awards SET prize_id = 'zz' WHERE draw_id = 'd1'`,
		"draw-whole":       `UPDATE awards SET ordinal = 2 WHERE draw_id = 'd1'`,
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "draws.db")
			s := stocktest.Open(t, "sqlite:"+path, stock.Options{})
			stocktest.Pool(t, s, "p", 5, 5)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d1", "d2")))
			stocktest.NoViolations(t, s, "p")

			db, err := sql.Open("sqlite", path)
			require.NoError(t, err)
			defer db.Close()
			_, err = db.Exec(`PRAGMA ignore_check_constraints = 1; ` + damage)
			require.NoError(t, err)
			a, err := s.Audit(t.Context(), "p")
			require.NoError(t, err)
			require.False(t, a.OK())
			var found []string
			for _, v := range a.Violations {
				found = append(found, v.Rule)
			}
			require.Contains(t, found, rule)
		})
	}
}

// TestSchemaRefuses says law 2 aloud: the schema alone, without any of our
// code, refuses what must never be.
func TestSchemaRefuses(t *testing.T) {
	award := func(version, draw, ordinal string) string {
		return `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
			VALUES ('p', ` + version + `, '` + draw + `', ` + ordinal + `, 'u', 'a', 9, '2026-01-01T00:00:00')`
	}
	for name, statement := range map[string]string{
		"issued beyond stock":       `UPDATE prizes SET issued = 6 WHERE id = 'a'`,
		"issued below nothing":      `UPDATE prizes SET issued = -1 WHERE id = 'a'`,
		"stock below issued":        `UPDATE prizes SET stocked = 1 WHERE id = 'a'`,
		"two awards of one version": award("3", "d9", "1"),
		"a draw's name twice":       award("9", "d1", "1"),
		"a pool in no state":        `UPDATE pools SET state = 'ajar'`,
		"a version below nothing":   `UPDATE pools SET version = -1`,
	} {
		for _, dialect := range stock.Dialects() {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := stocktest.New(t, dialect)
				stocktest.Pool(t, s, "p", 5)
				require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 1, "a", 0, "d1", "d2")))
				_, err := s.LockDB().ExecContext(t.Context(), statement)
				require.Error(t, err)
				require.False(t, strings.Contains(err.Error(), "syntax"), "%v", err)
				stocktest.NoViolations(t, s, "p")
			})
		}
	}
}

// TestReadOnly: an SQLite file that one process serves is refused to a second
// and shown to a reader.
func TestReadOnly(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "draws.db")
	s := stocktest.Open(t, url, stock.Options{})
	stocktest.Pool(t, s, "p", 5)

	_, err := stock.Open(t.Context(), url, stock.Options{})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.ErrorContains(t, err, "in use by another process")

	reader, err := stock.Open(t.Context(), url, stock.Options{ReadOnly: true})
	require.NoError(t, err)
	stocktest.NoViolations(t, reader, "p")
	_, err = reader.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.NoError(t, reader.Close())

	_, err = stock.Open(t.Context(), url+"-absent", stock.Options{ReadOnly: true})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
}
