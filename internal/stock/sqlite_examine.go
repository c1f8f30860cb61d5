package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/sqlitefile"
)

// ErrViolations says that the rows of a database that was examined break a rule.
var ErrViolations = errors.New("stock: the rows break a rule")

// adviceRestore says what to do about files that are refused.
const adviceRestore = "restore a backup with `drawsvc restore FILE`, or put back the files that belong together"

// admit refuses the files of a database that may be a mixture of two states,
// before they are opened by anything that could write.
func admit(ctx context.Context, path string, o EngineOptions) error {
	verdict, reason, err := sqlitefile.Inspect(path)
	switch {
	case err != nil:
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database file %s cannot be opened", path)
	case verdict == sqlitefile.Foreign:
		return draw.Errorf(draw.CodeStoreUnavailable, "%s: %s", reason, adviceRestore)
	case verdict != sqlitefile.Doubtful:
		return nil
	}
	log := o.Log.With("file", path, "reason", reason)
	late := time.AfterFunc(examineQuick, func() {
		log.Warn("the database file is being examined before it is used; that takes seconds for each million awards")
	})
	defer late.Stop()
	began := time.Now()
	if err := o.Examine(ctx, path); err != nil {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database file %s is refused: %v; it was examined because %s: %s", path, err, reason, adviceRestore)
	}
	level := slog.LevelInfo
	if late.Stop() {
		level = slog.LevelDebug // nobody has waited
	}
	log.Log(ctx, level, "the database file was examined and is in order", "took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

// examineQuick is how long an examination may take before somebody is told why
// the start takes so long.
const examineQuick = time.Second

// Examined says what was found in a database that is in order.
type Examined struct {
	// Pools and Awards are how many there are.
	Pools, Awards int64
	// Schema is where its schema stands.
	Schema Schema
}

// examine reads all of the database at path, without changing it: its
// structure and, if its schema is one that this binary can work on, every pool's
// rows.
func examine(ctx context.Context, path string, o Options) (found Examined, err error) {
	o.ReadOnly = true
	s, err := Open(ctx, "sqlite:"+path, o)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := checkStructure(ctx, s.engine.Read); err != nil {
		return found, err
	}
	if found.Schema, err = s.Schema(ctx); err != nil || found.Schema.Check() != nil {
		return found, err
	}
	pools, err := s.Pools(ctx)
	if err != nil {
		return found, err
	}
	for _, pool := range pools {
		audit, err := s.Audit(ctx, pool.ID)
		if err != nil {
			return found, err
		}
		if len(audit.Violations) > 0 {
			v := audit.Violations[0]
			return found, fmt.Errorf("%w: pool %q, %s: %s", ErrViolations, pool.ID, v.Rule, v.Detail)
		}
		found.Pools++
		for _, p := range audit.Prizes {
			found.Awards += p.Awards
		}
	}
	return found, nil
}

// checkStructure has SQLite check every page and every index. Memory for pages
// makes it several times as fast.
func checkStructure(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	if _, err := conn.ExecContext(ctx, `PRAGMA cache_size = -65536`); err != nil {
		return err
	}
	var answer string
	if err := conn.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return fmt.Errorf("the file is damaged: %s", strings.ReplaceAll(answer, "\n", " "))
	}
	return nil
}
