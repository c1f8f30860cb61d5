package stock_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path"
	"regexp"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/locker"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/postgres"
	"drawsvc/internal/stock/stocktest"
)

// cockroach returns the dialect of CockroachDB, which this service does not support. It
// uses the engine of PostgreSQL with other statements. Every node can be written to, a
// commit is replicated before it is acknowledged, and the planner needs no advice.
func cockroach() *engine.Dialect {
	d := postgres.Dialect()
	d.Name, d.Folder, d.BackupTools = "cockroach", "cockroach", "BACKUP"
	d.Locks.Database = d.Name
	d.Writable, d.ForUpdate = "TRUE", " FOR UPDATE"
	d.ByKey, d.AwardPrize, d.TurnAward = "SELECT 1", engine.AwardPrize, engine.TurnAward
	d.Settle, d.Commit = "SELECT 1", nil
	d.ByCode = func(err error) *engine.Error {
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "40003" { // the outcome is unknown
			return engine.Unavailable("ambiguous", err, false)
		}
		return postgres.Dialect().ByCode(err)
	}
	return d
}

// cockroachSchema returns the database's folder of SQL, which has no fillfactor.
func cockroachSchema(t *testing.T) migrations.Set {
	t.Helper()
	set := migrations.Embedded()
	texts, err := fs.Glob(set.Files, "postgres/*.sql")
	require.NoError(t, err)
	folder := fstest.MapFS{}
	for _, file := range texts {
		text, err := fs.ReadFile(set.Files, file)
		require.NoError(t, err)
		text = regexp.MustCompile(` WITH \(fillfactor = \d+\)`).ReplaceAll(text, nil)
		folder["cockroach/"+path.Base(file)] = &fstest.MapFile{Data: text}
	}
	set.Files = folder
	return set
}

// TestFurtherDatabase: a database with its own statements keeps the contract of the
// store, and no code outside of its own file mentions that database. The test runs on a
// PostgreSQL server.
func TestFurtherDatabase(t *testing.T) {
	t.Parallel()
	o := stock.Options{Migrations: cockroachSchema(t), Log: slog.New(slog.DiscardHandler)}
	migrated := func(url string) error {
		s, err := stock.OpenDialect(context.Background(), cockroach(), url, o)
		if err != nil {
			return err
		}
		return errors.Join(s.Migrate(context.Background()), s.Close())
	}
	stocktest.RunShare(t, wayFurther, waysToPostgres, func(t *testing.T) *stock.Store {
		o := o
		o.SealKeys = stocktest.SealKeys(t, "k1")
		s, err := stock.OpenDialect(t.Context(), cockroach(), servertest.PostgresAs(t, "of cockroach", migrated), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.Equal(t, "cockroach", s.Dialect())
		return s
	})
}

// TestFurtherDatabaseServes: another database has the locks of its dialect, including
// "table:", the service's default. A dialect without statements of locks has no locks.
func TestFurtherDatabaseServes(t *testing.T) {
	t.Parallel()
	o := stock.Options{Migrations: cockroachSchema(t), Log: slog.New(slog.DiscardHandler)}
	url := servertest.Postgres(t)
	lockOf := func(d *engine.Dialect, kind string) (locker.Lock, error) {
		s, err := stock.OpenDialect(t.Context(), d, url, o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		require.NoError(t, s.Migrate(t.Context()))
		return locker.Open(t.Context(), kind, locker.Options{TTL: time.Minute, Database: s})
	}
	mute := cockroach()
	mute.Locks = locksql.Statements{Database: mute.Name}
	for _, kind := range []string{"table:", "row:", "session:"} {
		first, err := lockOf(cockroach(), kind)
		require.NoError(t, err)
		second, err := lockOf(cockroach(), kind)
		require.NoError(t, err)
		isHeld, isEntered := false, false
		require.Eventually(t, func() bool { // on a busy machine, the server may answer too late
			err = first.WithLock(t.Context(), "k", func(context.Context, int64) error {
				isHeld = true
				require.Error(t, second.WithLock(t.Context(), "k", func(context.Context, int64) error { isEntered = true; return nil }))
				return nil
			})
			return isHeld
		}, waitMax, tick, kind)
		require.NoError(t, err, kind)
		require.False(t, isEntered, "%s excludes", kind)
		require.NoError(t, errors.Join(first.Close(), second.Close()))

		_, err = lockOf(mute, kind)
		require.ErrorContains(t, err, "not possible on cockroach")
	}
}
