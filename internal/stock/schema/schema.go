package schema

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	"github.com/pressly/goose/v3"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Schema describes a database's schema by its version, together with the versions that
// this binary knows.
type Schema struct {
	// Current is the version of the database, 0 for none.
	Current int64
	// AdmitsFrom is the lowest version that a binary must know to work on the
	// database's schema, 0 if the database does not state it.
	AdmitsFrom int64
	// Target is the version that this binary knows and migrates to. Oldest is the lowest
	// version that it can work on.
	Target, Oldest int64
	// Pending are the migrations from Current to Target, in order.
	Pending []Migration
}

// Migration is one step of the schema.
type Migration struct {
	// Version is the number of the migration, from 1; File is the name of its file.
	Version int64
	File    string
}

// Brought is the schema that this binary contains for one kind of database.
type Brought struct {
	files  fs.FS
	oldest int64
	all    []Migration
}

// Bring reads the migrations of a folder.
func Bring(set migrations.Set, folder string) (Brought, error) {
	files, err := fs.Sub(set.Files, folder)
	if err != nil {
		return Brought{}, fmt.Errorf("stock: migrations: %w", err)
	}
	names, err := fs.Glob(files, "*.sql")
	if err != nil || len(names) == 0 {
		return Brought{}, fmt.Errorf("stock: there are no migrations in %s", folder)
	}
	b := Brought{files: files, oldest: set.OldestSchema}
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return Brought{}, fmt.Errorf("stock: migration %s: %w", name, err)
		}
		b.all = append(b.all, Migration{version, name})
	}
	slices.SortFunc(b.all, func(x, y Migration) int { return cmp.Compare(x.Version, y.Version) })
	return b, nil
}

// Keeper reads the schema of an open database, decides whether it admits this binary, and
// migrates it. It is safe for concurrent use.
type Keeper struct {
	engine *engine.Engine
	// brought is the schema that this binary contains. admission states whether the
	// database's schema admits the binary.
	brought   Brought
	admission admission
	// wait is the maximum time that Migrate waits for others.
	wait time.Duration
	log  *slog.Logger
}

// New returns the keeper of a database's schema. wait is the maximum time that Migrate
// waits for another migrating process, or for locks of other sessions.
func New(e *engine.Engine, b Brought, wait time.Duration, log *slog.Logger) *Keeper {
	return &Keeper{engine: e, brought: b, admission: newAdmission(), wait: wait, log: log}
}

// Schema reads the state of the schema. Error: CodeStoreUnavailable.
func (k *Keeper) Schema(ctx context.Context) (Schema, error) {
	known := k.brought
	schema := Schema{Target: known.all[len(known.all)-1].Version, Oldest: known.oldest}
	if err := k.readSchema(ctx, &schema); err != nil {
		return Schema{}, err
	}
	next := slices.IndexFunc(known.all, func(m Migration) bool { return m.Version > schema.Current })
	if next >= 0 {
		schema.Pending = known.all[next:]
	}
	return schema, nil
}

const (
	appliedVersion = `SELECT COALESCE(MAX(version_id), 0) FROM ` + goose.DefaultTablename + ` WHERE is_applied`
	// admitsFrom reads in one statement the values that a migration changes in one
	// transaction. A migration that removes something without a transaction raises
	// binaries_from first.
	admitsFrom = `SELECT (` + appliedVersion + `), COALESCE(MAX(binaries_from), 0) FROM schema_admits`
)

// partsFrom returns the first schema that has each of the parts that older schemas lack.
func partsFrom() map[engine.Part]int64 {
	return map[engine.Part]int64{
		engine.PartCodes:    migrations.CodesSchema,
		engine.PartSteps:    migrations.StepsSchema,
		engine.PartHooks:    migrations.HooksSchema,
		engine.PartFeed:     migrations.FeedSchema,
		engine.PartMoments:  migrations.MomentsSchema,
		engine.PartDisplays: migrations.DisplaysSchema,
	}
}

// readSchema reads the schema's state from the database. It does not create the tables of
// package goose, because a reader must not write.
func (k *Keeper) readSchema(ctx context.Context, schema *Schema) error {
	if err := k.engine.Refusal(); err != nil {
		return engine.PublicRead(err)
	}
	//double:unbounded k.engine.Probe.QueryRowContext(ctx, admitsFrom) => k.engine.Read.QueryRowContext(ctx, admitsFrom)
	err := k.engine.Probe.QueryRowContext(ctx, admitsFrom).Scan(&schema.Current, &schema.AdmitsFrom)
	if err != nil && !k.lacksTable(err) {
		return engine.PublicRead(engine.Classify(err, k.engine.ByCode))
	}
	if err == nil {
		if k.engine.Features != nil {
			for part, from := range partsFrom() {
				k.engine.Features.SetLacks(part, schema.Current < from)
			}
		}
		return nil
	}
	err = k.engine.Probe.QueryRowContext(ctx, appliedVersion).Scan(&schema.Current)
	if err != nil && !k.lacksTable(err) {
		return engine.PublicRead(engine.Classify(err, k.engine.ByCode))
	}
	return nil
}

// lacksTable reports whether a statement failed because a table does not exist.
func (k *Keeper) lacksTable(err error) bool {
	return k.engine.ByCode(err) != nil && k.engine.IsNoTable(err)
}

// Check returns an error if this binary cannot work on the schema. Then the schema is
// older than the binary supports, or is newer and does not admit it. Error:
// CodeStoreUnavailable.
func (s Schema) Check() error {
	if s.Current < s.Oldest {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"the database's schema has version %d, this drawsvc needs %d or later: run `drawsvc migrate up`, or serve with --migrate", s.Current, s.Oldest)
	}
	if s.AdmitsFrom > s.Target || s.AdmitsFrom == 0 && s.Current > s.Target {
		return draw.Errorf(draw.CodeStoreUnavailable,
			"the database's schema has version %d and does not admit this drawsvc, which knows %d: run a newer drawsvc", s.Current, s.Target)
	}
	return nil
}

// Tables returns the names of all tables that the migrations create.
func Tables() []string {
	return []string{
		"schema_admits", "pools", "prizes", "awards", "moves", "locks", "lock_rows", "lock_tokens",
		"jobs", "job_runs", "catalogue", "statements", "changes", "turns", "redirects", "agenda", "commitments", "checkpoints",
		"seal_keys", "code_heads", "codes", "code_imports",
		"step_heads", "steps",
		"hooks", "hook_cursors",
		"pool_display", "feed_head", "segments",
		"hidden_items",
		"prize_display",
	}
}

// MissingTables returns the tables that do not exist. Errors: CodeStoreUnavailable, and
// those of the store.
func (k *Keeper) MissingTables(ctx context.Context) (missing []string, err error) {
	for _, table := range Tables() {
		err := k.engine.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+table+` WHERE 1 = 0`).Scan(new(int))
		if err == nil {
			continue
		}
		if !k.lacksTable(err) {
			return nil, engine.PublicRead(engine.Classify(err, k.engine.ByCode))
		}
		missing = append(missing, table)
	}
	return missing, nil
}
