package codes_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestImportsSearchUnderTheKeyThatSeals: the key file gets a new first key while an import
// waits for its pool. The import seals under the new key, so it searches under it too, and
// finds a code that another instance has sealed under it.
func TestImportsSearchUnderTheKeyThatSeals(t *testing.T) {
	t.Parallel()
	url := servertest.Postgres(t)
	s := stocktest.Open(t, url, stock.Options{SealKeys: stocktest.SealKeys(t, "k1")})
	other := stocktest.Open(t, url, stock.Options{SealKeys: stocktest.SealKeys(t, "k2", "k1")})
	stocktest.CodedPool(t, s, "p")
	stocktest.CodedPool(t, s, "q")
	lines := stocktest.CodeLines("AAAA", 3)
	stocktest.ImportCodes(t, other, "q", lines[2:])
	tx, err := s.Engine().Write.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), `SELECT FROM pools WHERE id = 'p' FOR UPDATE`)
	require.NoError(t, err)
	imported := make(chan error, 1)
	go func() {
		_, err := stocktest.TryImportCodes(t, s, draw.CodeImport{PoolID: "p"}, lines)
		imported <- err
	}()
	require.Eventually(t, func() bool { // the import waits
		var waiting int
		row := s.Engine().Read.QueryRowContext(t.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
		return row.Scan(&waiting) == nil && waiting > 0
	}, time.Minute, 10*time.Millisecond)
	stocktest.UseSealKeys(t, s, "k2", "k1")
	require.NoError(t, tx.Rollback())
	err = <-imported
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), err)
	require.ErrorContains(t, err, `line 3: pool "q", prize "card" has it`)
}
