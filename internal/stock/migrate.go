package stock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
)

// Schema says where a database's schema stands.
type Schema struct {
	// Current is the version that the database has, 0 for none; Target the one
	// that this binary needs.
	Current, Target int64
}

// Migrate brings the schema to what this binary needs. Several processes may
// do so at once: one does, the others wait. Errors: CodeStoreUnavailable, also
// when the schema is newer than this binary.
func (s *Store) Migrate(ctx context.Context) error {
	schema, err := s.Schema(ctx)
	if err != nil {
		return err
	}
	if schema.Current >= schema.Target {
		return schema.Check()
	}
	provider, err := s.provider()
	if err != nil {
		return err
	}
	err = s.migrateAlone(ctx, func() error {
		_, err := provider.Up(ctx)
		return err
	})
	if err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the schema could not be migrated")
	}
	return nil
}

// migrateAlone runs fn while no other process migrates. The provider could hold
// the lock itself, but makes its table before it does: on MySQL, where that
// commits at once, another process then finds the table without its first row.
func (s *Store) migrateAlone(ctx context.Context, fn func() error) (err error) {
	if s.dialect.migrating == nil {
		return fn()
	}
	locker, err := s.dialect.migrating()
	if err != nil {
		return err
	}
	if err := locker.Lock(ctx, s.write); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, locker.Unlock(ctx, s.write)) }()
	return fn()
}

// Schema reads where the schema stands.
func (s *Store) Schema(ctx context.Context) (Schema, error) {
	provider, err := s.provider()
	if err != nil {
		return Schema{}, err
	}
	sources := provider.ListSources()
	schema := Schema{Target: sources[len(sources)-1].Version}
	schema.Current, err = s.schemaVersion(ctx)
	return schema, err
}

// Check reports whether this binary can work on the schema.
func (s Schema) Check() error {
	if s.Current > s.Target {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"the database's schema has version %d and is newer than this drawsvc, which knows %d: run a newer drawsvc", s.Current, s.Target)
	}
	if s.Current < s.Target {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"the database's schema has version %d, this drawsvc needs %d: run `drawsvc migrate up`, or serve with --migrate", s.Current, s.Target)
	}
	return nil
}

// schemaVersion reads the version that package goose has noted, without making
// its table: a reader must not write.
func (s *Store) schemaVersion(ctx context.Context) (version int64, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+goose.DefaultTablename+` WHERE is_applied`).Scan(&version)
	if err == nil {
		return version, nil
	}
	e, ok := errors.AsType[*Error](classify(err, s.dialect.classify))
	if ok && e.Class == ClassOther && s.dialect.isNoTable(err) {
		return 0, nil
	}
	return 0, public(classify(err, s.dialect.classify))
}

func (s *Store) provider() (*goose.Provider, error) {
	folder, err := fs.Sub(migrations.FS, s.dialect.folder)
	if err != nil {
		return nil, fmt.Errorf("stock: embedded migrations: %w", err)
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithSlog(slog.New(slog.DiscardHandler))}
	provider, err := goose.NewProvider(s.dialect.migrations, s.write, folder, options...)
	if err != nil {
		return nil, fmt.Errorf("stock: embedded migrations: %w", err)
	}
	return provider, nil
}
