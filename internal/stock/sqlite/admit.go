package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqlitefile"
)

// AdviceRestore is the advice for files that are refused.
const AdviceRestore = "restore a backup with `drawsvc restore FILE`, or put back the files that belong together"

// admit refuses files that may be a mixture of two states of the database. Call it before
// anything that could write opens the files.
func admit(ctx context.Context, path string, o engine.Options) error {
	verdict, reason, err := sqlitefile.Inspect(path)
	switch {
	case err != nil:
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database file %s cannot be opened", path)
	case verdict == sqlitefile.Foreign:
		return draw.Errorf(draw.CodeStoreUnavailable, "%s: %s", reason, AdviceRestore)
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
		return draw.Errorf(draw.CodeStoreUnavailable, "the database file %s is refused: %v; it was examined because %s: %s", path, err, reason, AdviceRestore)
	}
	level := slog.LevelInfo
	if late.Stop() {
		level = slog.LevelDebug // fast enough that the log need not explain a wait
	}
	log.Log(ctx, level, "the database file was examined and is in order", "took", time.Since(began).Round(time.Millisecond).String())
	return nil
}

// examineQuick is how long an examination may take before the log says why the start
// takes so long.
const examineQuick = time.Second

// CheckStructure makes SQLite check every page and every index. It gives SQLite memory
// for pages, which makes the check several times as fast.
func CheckStructure(ctx context.Context, db *sql.DB) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns to the pool
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
