package schema

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Migrate migrates the schema to the version that this binary knows. Several processes
// may call it at once: one migrates, and the others wait for it and log that. An
// interrupted migration can be run again. When Migrate returns, binaries that the schema
// no longer admits have stopped drawing. Error: CodeStoreUnavailable, also if the schema
// is newer and does not admit this binary, or if the server would not keep all of the
// schema.
func (k *Keeper) Migrate(ctx context.Context) error {
	if before := k.engine.BeforeMigrate; before != nil {
		if err := before(ctx, k.engine); err != nil {
			return engine.Public(engine.Classify(err, k.engine.ByCode))
		}
	}
	schema, err := k.Schema(ctx)
	if err != nil {
		return err
	}
	if len(schema.Pending) == 0 {
		if err := schema.Check(); err != nil || schema.Current > schema.Target || !k.isMigrating(ctx) {
			return err
		}
	}
	if err := k.migrateAlone(ctx, func() error { return k.upgrade(ctx) }); err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the schema could not be migrated")
	}
	if schema, err = k.Schema(ctx); err != nil {
		return err
	}
	return schema.Check() // a newer binary may have migrated meanwhile
}

// upgrade applies pending migrations, and waits until excluded binaries have stopped
// drawing. If it is killed before that, its lock makes the next process wait longer.
func (k *Keeper) upgrade(ctx context.Context) error {
	before, err := k.Schema(ctx)
	if err != nil {
		return err
	}
	err = k.migrateUp(ctx)
	return cmp.Or(err, k.awaitExcluded(ctx, before)) // a migration that failed may still have excluded binaries
}

// ExcludedMax is the time within which each running binary has read that the schema no
// longer admits it. A binary reads the schema once in schemaEvery, but a reading may have
// begun before the change. Two readings take less than schemaMax.
const ExcludedMax = schemaEvery + schemaMax

// awaitExcluded waits until the binaries that only the former schema admitted have
// stopped drawing. These may not know the data that is written after the migration. It
// does not wait for an SQLite file or after the first migration, because nobody else uses
// that database. It waits if the schema cannot be read, because that schema may admit
// fewer binaries. Errors: those of the store, and CodeStoreUnavailable if ctx ends
// before.
func (k *Keeper) awaitExcluded(ctx context.Context, before Schema) error {
	schema, err := k.Schema(ctx)
	if k.engine.Migrating == nil || before.Current == 0 || err == nil && schema.AdmitsFrom == before.AdmitsFrom {
		return err
	}
	select {
	case <-ctx.Done():
		return draw.Wrap(draw.CodeStoreUnavailable, ctx.Err(), "binaries that the schema does not admit may draw for another %s", ExcludedMax)
	case <-time.After(ExcludedMax):
		return err
	}
}

// migrateUp applies pending migrations. A migration waits for a table's lock only as long
// as draws can wait for the migration. If it gets no lock, it is retried shortly
// afterwards.
func (k *Keeper) migrateUp(ctx context.Context) error {
	for begun := time.Now(); ; {
		err := k.tryMigrateUp(ctx)
		if engine.ClassOf(engine.Classify(err, k.engine.ByCode)) != engine.ClassConflict || time.Since(begun) > k.wait {
			return err
		}
		k.log.Warn("migration blocked by another session (for example a long audit); retrying", "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Second + rand.N(time.Second)): // draws go first
		}
	}
}

func (k *Keeper) tryMigrateUp(ctx context.Context) error {
	if err := k.mend(ctx); err != nil {
		return err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler))}
	provider, err := goose.NewProvider(k.engine.Migrations, k.engine.Migrate, k.brought.files, options...)
	if err != nil {
		return fmt.Errorf("stock: migrations: %w", err)
	}
	_, err = provider.Up(ctx)
	return err
}

// mend refuses a database whose tables belong to another program. It also completes the
// table of versions if the process that created it was killed before it wrote the first
// row: MySQL commits the table by itself, and package goose would not continue.
func (k *Keeper) mend(ctx context.Context) error {
	versions, err := k.versions()
	if err != nil {
		return err
	}
	rows, err := versions.ListMigrations(ctx, k.engine.Migrate)
	isNew := err != nil && k.lacksTable(err)
	if err != nil && !isNew {
		return err
	}
	if len(rows) == 0 || rows[0].Version == 0 {
		if err := k.refuseOthers(ctx); err != nil {
			return err
		}
	}
	if isNew || len(rows) > 0 {
		return nil
	}
	return versions.Insert(ctx, k.engine.Migrate, database.InsertRequest{Version: 0})
}

// refuseOthers returns an error if the database has tables with names of the service's
// tables, but lacks schema_admits, the first table that a migration creates.
func (k *Keeper) refuseOthers(ctx context.Context) error {
	missing, err := k.MissingTables(ctx)
	if err != nil || len(missing) == len(Tables()) || missing == nil || missing[0] != Tables()[0] {
		return err
	}
	return draw.Errorf(draw.CodeStoreUnavailable,
		"the database holds tables that drawsvc needs and has not made, such as pools or prizes: give it a database of its own")
}

// versions returns package goose's store of the applied versions of the schema.
func (k *Keeper) versions() (database.Store, error) {
	return database.NewStore(k.engine.Migrations, goose.DefaultTablename)
}

// migrateAlone runs fn while no other process migrates. Package goose's provider could
// take the lock itself, but it creates its table before that. MySQL commits that table at
// once, so another process would find it without its first row.
func (k *Keeper) migrateAlone(ctx context.Context, fn func() error) error {
	if k.engine.Migrating == nil {
		return fn()
	}
	l := &migrateLock{keeper: k, begun: time.Now()}
	locker, err := k.engine.Migrating(l.options()...)
	if err != nil {
		return err
	}
	if err := locker.Lock(ctx, k.engine.Migrate); err != nil {
		return l.lockError(ctx, err)
	}
	l.held = true
	err = fn()
	if ctx.Err() != nil {
		return err // the lock stays until it expires, so that other processes wait for excluded binaries
	}
	if unlocked := locker.Unlock(ctx, k.engine.Migrate); unlocked != nil { // the lock also expires by itself
		k.log.Warn("the lock of the migration was not released", "error", unlocked)
	}
	return err
}

const (
	// migrateLease is how long others have to wait if a process was killed while it
	// migrated. The lock is a row, because some databases and some proxies do not keep a
	// lock for a session.
	migrateLease = 10 * time.Second
	// migrateTick is how often the lock is requested.
	migrateTick = time.Second
	// migrateTold is the number of requests between two messages about the wait.
	migrateTold = 10
	// holderMax bounds the query for the name of the lock's holder.
	holderMax = 5 * time.Second
)

// migrateLock waits for the lock row: only the process that holds it migrates.
type migrateLock struct {
	keeper *Keeper
	begun  time.Time
	waits  int
	held   bool
}

func (l *migrateLock) options() []lock.TableLockerOption {
	return []lock.TableLockerOption{
		lock.WithTableLeaseDuration(migrateLease),
		lock.WithTableHeartbeatInterval(migrateLease / 5),
		lock.WithTableLockTimeout(migrateTick, uint64(max(1, l.keeper.wait/migrateTick))),
		lock.WithTableUnlockTimeout(migrateTick, 3),
		lock.WithTableRetryPolicy(l.again),
		lock.WithTableLogger(slog.New(slog.DiscardHandler)),
	}
}

// again reports whether another request for the lock may succeed, because another process
// holds it or has collided with this one. If the database refused the request for any
// other reason, it would refuse the next one too.
func (l *migrateLock) again(err error) bool {
	e := l.keeper.engine.ByCode(err)
	if e != nil && e.Class != engine.ClassConflict || e == nil && engine.IsConnection(err) {
		return false
	}
	if !l.held && l.waits%migrateTold == 0 {
		l.keeper.log.Info("waiting for another process that migrates this database; if it was killed, its lock expires",
			"holder", l.holder(), "lease", migrateLease, "waited", time.Since(l.begun).Round(time.Second), "at_most", l.keeper.wait)
	}
	l.waits++
	return true
}

// holder returns the name of the lock's holder, as HOST-PROCESS-NUMBER.
func (l *migrateLock) holder() string {
	ctx, cancel := context.WithTimeout(context.Background(), holderMax)
	defer cancel()
	return cmp.Or(l.keeper.migrating(ctx), "unknown")
}

// isMigrating reports whether another process migrates, or was killed while it did.
func (k *Keeper) isMigrating(ctx context.Context) bool {
	return k.engine.Migrating != nil && k.migrating(ctx) != ""
}

// migrating returns the name of the process that migrates, "" if none does or the
// database does not answer.
func (k *Keeper) migrating(ctx context.Context) (holder string) {
	const question = `SELECT COALESCE(MAX(locked_by), '') FROM ` + lock.DefaultLockTableName + ` WHERE locked`
	if err := k.engine.Migrate.QueryRowContext(ctx, question).Scan(&holder); err != nil {
		return ""
	}
	return holder
}

// lockError returns the reason why this process did not get the lock.
func (l *migrateLock) lockError(ctx context.Context, err error) error {
	if e := l.keeper.engine.ByCode(err); e != nil && e.Class != engine.ClassConflict || ctx.Err() != nil || l.waits == 0 {
		return err
	}
	return draw.Wrap(draw.CodeStoreUnavailable, fmt.Errorf("%s has held the lock for %s", l.holder(), time.Since(l.begun).Round(time.Second)),
		"another process migrates this database; nothing was changed: run this again when it is done")
}
