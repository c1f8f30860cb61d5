package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"modernc.org/sqlite"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/sqlitefile"
)

// backupStep is the number of pages that are copied at a time; together they have 8 MiB.
const backupStep = 2000

// Copy copies one state of a database to a file that is empty or does not exist. If the
// disk of that file is full, the error is syscall.ENOSPC.
func Copy(ctx context.Context, from *sql.DB, path string) (err error) {
	conn, err := from.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // returns to the pool
	// The copy gets the state of this transaction. Without it, every write would restart
	// the copy.
	if _, err := conn.ExecContext(ctx, `BEGIN`); err != nil {
		return err
	}
	defer func() {
		_, end := conn.ExecContext(context.WithoutCancel(ctx), `ROLLBACK`) // nothing was written
		err = errors.Join(err, end)
	}()
	if err := conn.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema`).Scan(new(int)); err != nil {
		return err
	}
	return conn.Raw(func(c any) error {
		source, ok := c.(interface {
			NewBackup(to string) (*sqlite.Backup, error)
		})
		if !ok {
			return errors.New("sqlite: the driver cannot make backups")
		}
		// The copy is flushed at the end, and is not used before that.
		b, err := source.NewBackup(uri(path, "_pragma=journal_mode(OFF)", "_pragma=synchronous(OFF)"))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = b.Step(backupStep)
			}
		}
		if err = errors.Join(err, b.Finish()); isFull(err) { // the disk of the copy, because the source is only read
			return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
		}
		return err
	})
}

// Seal makes a copy an independent file and checks its pages: a defect must be found
// before the backup is needed.
func Seal(ctx context.Context, path string) (err error) {
	if err := sqlitefile.Seal(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", uri(path, "immutable=1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var answer string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database is damaged and was not backed up: %s", answer)
	}
	return nil
}

// CheckBackup refuses a file that is not a backup of the database at path.
func CheckBackup(path, file string) error {
	backup, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	if !backup.Mode().IsRegular() {
		return fmt.Errorf("the backup %s is not a file", file)
	}
	if database, err := os.Stat(path); err == nil && os.SameFile(backup, database) {
		return draw.Errorf(draw.CodeInvalidRequest, "the backup %s is the database itself: move it to another name first", file)
	}
	verdict, reason, err := sqlitefile.Inspect(file)
	if err != nil {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the backup %s cannot be read", file)
	}
	if verdict == sqlitefile.Foreign {
		return draw.Errorf(draw.CodeStoreUnavailable, "the backup is refused: %s", reason)
	}
	return nil
}

// CopyBackup copies a backup, with its WAL if it has one. If it has none, no file is
// created beside the backup, because the folder may be read-only.
func CopyBackup(ctx context.Context, file, part string) (err error) {
	setting := "immutable=1"
	if sqlitefile.HasWAL(file) {
		setting = "mode=ro"
	}
	db, err := sql.Open("sqlite", uri(file, setting))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return Copy(ctx, db, part)
}

// Lock takes the file of a database exclusively for this process. Error:
// CodeStoreUnavailable, which wraps [sqlitefile.ErrInUse] if another process has it.
func Lock(path string) (*sqlitefile.File, error) {
	file, err := sqlitefile.Lock(path)
	if err != nil {
		return nil, draw.Wrap(draw.CodeStoreUnavailable, err, "the database file %s cannot be opened", path)
	}
	return file, nil
}
