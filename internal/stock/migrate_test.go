package stock_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/schema"
	"drawsvc/internal/stock/stocktest"
)

// TestMigrateAtOnce: several instances start on an empty database together.
func TestMigrateAtOnce(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			instances := 3
			if dialect == "sqlite" {
				instances = 1 // a file has only one process
			}
			var group sync.WaitGroup
			errs := make(chan error, instances)
			for range instances {
				group.Go(func() {
					s, err := stock.Open(t.Context(), url, stock.Options{Log: slog.New(slog.DiscardHandler)})
					if err == nil {
						err = s.Migrate(t.Context())
						_ = s.Close()
					}
					errs <- err
				})
			}
			group.Wait()
			close(errs)
			for err := range errs {
				require.NoError(t, err)
			}
			s := stocktest.Open(t, url, stock.Options{})
			schema, err := s.Schema(t.Context())
			require.NoError(t, err)
			require.NoError(t, schema.Check())
			require.NoError(t, s.Migrate(t.Context()), "a second time changes nothing")
			stocktest.Pool(t, s, "p", 1)
		})
	}
}

// TestMigrateIsGivenUp: if a migration is cancelled while binaries that it excludes may
// still draw, it returns an error.
func TestMigrateIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // a file has only one process
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := open(t, stocktest.Migrated(t, dialect), stock.Options{Migrations: stocktest.Excluding()})
			ctx, giveUp := context.WithCancel(t.Context())
			go func() {
				defer giveUp()
				for {
					schema, err := s.Schema(t.Context())
					isBrought := err == nil && len(schema.Pending) == 0
					time.Sleep(300 * time.Millisecond) // by now it waits for the others
					if err != nil || isBrought {
						return
					}
				}
			}()
			err := s.Migrate(ctx)
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
		})
	}
}

// TestMigrateIsExcluded: a binary that the schema does not admit cannot migrate. It is
// refused at once if the schema excludes it from the start, and after its wait if a newer
// binary excludes it during the wait.
func TestMigrateIsExcluded(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // a file has only one process
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			newer := open(t, url, stock.Options{})
			require.NoError(t, newer.Migrate(t.Context()))
			admits := fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, stocktest.Admits(migrations.Embedded()))
			excludes := []string{`UPDATE schema_admits SET binaries_from = 99999`, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`}
			lease := map[string]string{"postgres": "now() + interval '1 hour'", "mysql": "now(6) + INTERVAL 1 HOUR"}[dialect]
			stocktest.ExecAll(t, newer, []string{`UPDATE goose_lock SET locked = true, locked_by = 'shop-4711-x', lease_expires_at = ` + lease, excludes[0]})
			older := open(t, url, stock.Options{MigrateWait: 3 * time.Second})
			err := older.Migrate(t.Context())
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "does not admit this drawsvc", "it did not wait")

			stocktest.ExecAll(t, newer, []string{admits})
			var log lines
			waiting := open(t, url, stock.Options{Log: slog.New(slog.NewTextHandler(&log, nil)), MigrateWait: time.Minute})
			ended := make(chan error, 1)
			go func() { ended <- waiting.Migrate(t.Context()) }()
			require.Eventually(t, func() bool { return strings.Contains(log.String(), "waiting for another process") }, waitMax, tick)
			stocktest.ExecAll(t, newer, append(excludes, `UPDATE goose_lock SET locked = false`))
			err = <-ended
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
			require.ErrorContains(t, err, "does not admit this drawsvc")
		})
	}
}

// TestMigrateReleasesItsLockIfUnread: if the schema cannot be read after a migration, the
// migration may have excluded other binaries. It releases its lock when these have
// stopped drawing.
func TestMigrateReleasesItsLockIfUnread(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // a file has only one process
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			excluding := fmt.Sprintf("binaries_from = %d;", stocktest.Target(stocktest.Excluding()))
			unread := changed(t, stocktest.Excluding(), excluding, excluding+"\nALTER TABLE schema_admits RENAME COLUMN binaries_from TO unread;")
			s := open(t, stocktest.Migrated(t, dialect), stock.Options{Migrations: unread})
			begun := time.Now()
			err := s.Migrate(t.Context())
			require.Equal(t, draw.CodeInternal, draw.CodeOf(err), "%v", err)
			require.Greater(t, time.Since(begun), schema.ExcludedMax)
		})
	}
}

// TestMigratedForTests: the database that tests copy has nothing left to migrate, and
// is empty.
func TestMigratedForTests(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				s, err := stock.Open(t.Context(), stocktest.Migrated(t, dialect), stock.Options{})
				require.NoError(t, err)
				defer s.Close()
				schema, err := s.Schema(t.Context())
				require.NoError(t, err)
				require.NoError(t, schema.Check())
				require.Empty(t, schema.Pending)
				all, err := s.Pools(t.Context())
				require.NoError(t, err)
				require.Empty(t, all)
				stocktest.Pool(t, s, "p", 1)
			}
		})
	}
}

// TestSchema: a database without a schema, an older schema and a newer schema are
// distinguished from a schema that fits.
func TestSchema(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, err := stock.Open(t.Context(), stocktest.URL(t, dialect), stock.Options{})
			require.NoError(t, err)
			defer s.Close()
			schema, err := s.Schema(t.Context())
			require.NoError(t, err)
			require.Zero(t, schema.Current)
			require.ErrorContains(t, schema.Check(), "migrate up")

			require.NoError(t, s.Migrate(t.Context()))
			schema, err = s.Schema(t.Context())
			require.NoError(t, err)
			require.Equal(t, stock.Schema{
				Current: stocktest.Target(migrations.Embedded()), AdmitsFrom: int64(stocktest.Admits(migrations.Embedded())),
				Target: stocktest.Target(migrations.Embedded()), Oldest: migrations.OldestSchema, Pending: nil,
			}, schema)
			stocktest.ExecAll(t, s, []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, true)`})
			schema, err = s.Schema(t.Context())
			require.NoError(t, err)
			require.NoError(t, schema.Check(), "it admits this binary")
			require.NoError(t, s.Migrate(t.Context()))
			stocktest.ExecAll(t, s, []string{`UPDATE schema_admits SET binaries_from = 99999`})
			err = s.Migrate(t.Context())
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
			require.ErrorContains(t, err, "does not admit this drawsvc")
		})
	}
}

// TestTablesAreThoseOfTheMigrations: Tables lists the tables that the migrations create.
// The doctor checks their privileges, and a database of another program is recognized by
// them.
func TestTablesAreThoseOfTheMigrations(t *testing.T) {
	lists := map[string]string{
		"sqlite":   `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'`,
		"postgres": `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()`,
		"mysql":    `SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()`,
	}
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			rows, err := stocktest.New(t, dialect).LockDB().QueryContext(t.Context(), lists[dialect])
			require.NoError(t, err)
			defer rows.Close()
			var made []string
			for rows.Next() {
				var table string
				require.NoError(t, rows.Scan(&table))
				if !strings.HasPrefix(table, "goose") { // the library's own tables
					made = append(made, table)
				}
			}
			require.NoError(t, rows.Err())
			require.ElementsMatch(t, stock.Tables(), made)
		})
	}
}
