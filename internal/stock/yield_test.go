package stock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// migrateBehind begins a migration while a read, for example a long audit, is running. It
// returns how many of 20 draws succeed meanwhile.
func migrateBehind(t *testing.T, dialect string, set migrations.Set) (drawn int) {
	url := stocktest.URL(t, dialect)
	s := stocktest.Open(t, url, stock.Options{})
	stocktest.Pool(t, s, "p", 100)
	reader, err := s.LockDB().BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var n int
	require.NoError(t, reader.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pools`).Scan(&n))

	var log lines
	next := open(t, url, stock.Options{Migrations: set, Log: slog.New(slog.NewTextHandler(&log, nil)), MigrateWait: time.Minute})
	migrated := make(chan error, 1)
	go func() { migrated <- next.Migrate(context.Background()) }()
	waiting := map[string]string{
		"postgres": `SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
		"mysql":    `SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'`,
	}[dialect]
	require.Eventually(t, func() bool {
		var n int
		return s.LockDB().QueryRowContext(t.Context(), waiting).Scan(&n) == nil && n > 0
	}, waitMax, tick/10)

	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // a third of the time that a migration without a time limit would take
		err := errors.New("not tried")
		for err != nil && ctx.Err() == nil {
			err = drawOnce(ctx, s, stocktest.Plan("p", int64(2+drawn), "a", int64(drawn), fmt.Sprint("k", i)))
		}
		cancel()
		if err != nil {
			break
		}
		drawn++
	}
	require.NoError(t, reader.Rollback())
	require.NoError(t, <-migrated)
	if drawn > 0 {
		require.Contains(t, log.String(), "migration blocked by another session")
	}
	stocktest.NoViolations(t, s, "p")
	return drawn
}

func drawOnce(ctx context.Context, s *stock.Store, p *urn.Plan) error {
	urn := urn.NewUrn(p.PoolID)
	tx, err := s.Read(ctx, urn, stock.TxOptions{Lock: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return tx.Write(ctx, stocktest.On(urn, p))
}

// TestMigrateYields: a migration that waits for a table does not make draws wait.
func TestMigrateYields(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // in SQLite, readers block nobody
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, 20, migrateBehind(t, dialect, stocktest.Additive()))
		})
	}
}

// TestMigrateYieldsCatches: the test fails for a migration without a time limit, which
// stops the draws.
func TestMigrateYieldsCatches(t *testing.T) {
	t.Parallel()
	greedy := changed(t, stocktest.Additive(), "SET LOCAL lock_timeout = '1s';", "SET LOCAL lock_timeout = '1min';")
	require.Zero(t, migrateBehind(t, "postgres", greedy))
}
