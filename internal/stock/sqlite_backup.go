package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/sqlitefile"
)

// backupStep is how many pages are copied at a time: 8 MiB of them.
const backupStep = 2000

// Backup writes one state of the embedded database that rawURL names into a new
// file, which only its owner may read: all that was committed when it began. It
// works beside a service, which draws on meanwhile. The file has its name only
// when it is whole and on the disk; a file that is there is not touched. It
// returns the size in bytes. Errors: CodeInvalidRequest on a server database,
// CodeStoreUnavailable, fs.ErrExist, and those of files.
func Backup(ctx context.Context, rawURL, file string, o Options) (size int64, err error) {
	if _, err := embedded(rawURL); err != nil {
		return 0, err
	}
	if taken := sqlitefile.Taken(file); taken != "" {
		return 0, fmt.Errorf("there is a file %s already, and a backup replaces none: %w", taken, fs.ErrExist)
	}
	o.ReadOnly = true
	s, err := Open(ctx, rawURL, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	part, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return 0, err
	}
	defer func() { _ = os.Remove(part.Name()) }() // is gone when all went well
	if err := part.Close(); err != nil {
		return 0, err
	}
	if err := copySQLite(ctx, s.engine.Read, part.Name()); err != nil {
		return 0, public(classify(err, s.engine.ByCode))
	}
	if err := sealBackup(ctx, part.Name()); err != nil {
		return 0, err
	}
	info, err := os.Stat(part.Name())
	if err != nil {
		return 0, err
	}
	return info.Size(), sqlitefile.Publish(part.Name(), file)
}

// embedded returns the path of the file that rawURL names, and refuses a
// server: it has tools of its own.
func embedded(rawURL string) (path string, err error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := dialects()[scheme]
	switch {
	case !ok:
		return "", errNoDatabase()
	case d.BackupTools == "":
		return sqlitePath(rawURL)
	}
	return "", draw.Errorf(draw.CodeInvalidRequest,
		"this is for an embedded database (sqlite:PATH); a server has tools of its own, %s: docs/backup.md has the steps", d.BackupTools)
}

// copySQLite copies one state of a database into a file that is empty, or not
// there.
func copySQLite(ctx context.Context, from *sql.DB, path string) (err error) {
	conn, err := from.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // it goes back to the pool
	// The state is that of this transaction. Otherwise the copy would begin
	// anew whenever somebody writes.
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
			return errors.New("stock: the driver of SQLite makes no backups")
		}
		// The copy is flushed as a whole, and means nothing before.
		b, err := source.NewBackup(sqliteURI(path, "_pragma=journal_mode(OFF)", "_pragma=synchronous(OFF)"))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				more, err = b.Step(backupStep)
			}
		}
		return errors.Join(err, b.Finish())
	})
}

// sealBackup makes a copy a file of its own and checks that its pages are in
// order: nobody wants to learn that when he needs it.
func sealBackup(ctx context.Context, path string) (err error) {
	if err := sqlitefile.Seal(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", sqliteURI(path, "immutable=1"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var answer string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&answer); err != nil {
		return err
	}
	if answer != "ok" {
		return draw.Errorf(draw.CodeStoreUnavailable, "the database is damaged, there is no backup of it: %s", answer)
	}
	return nil
}

// Restore replaces the embedded database that rawURL names by the backup in
// file, whole or not at all, also when it is killed. It refuses a database that
// a service has, and a backup that is damaged, breaks a rule, or has a schema
// that this binary does not know; then the database is as it was. Errors:
// CodeInvalidRequest on a server database, CodeStoreUnavailable, ErrViolations,
// and those of files.
func Restore(ctx context.Context, rawURL, file string, o Options) (found Examined, err error) {
	path, err := embedded(rawURL)
	if err != nil {
		return found, err
	}
	if err := checkBackup(path, file); err != nil {
		return found, err
	}
	database, err := lockDatabase(path)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, database.Close(false)) }()
	part, err := database.Part()
	if err != nil {
		return found, err
	}
	if err := copyBackup(ctx, file, part); err != nil {
		return found, draw.Wrap(draw.CodeStoreUnavailable, err, "the backup %s cannot be read; the database is as it was", file)
	}
	if found, err = examine(ctx, part, o); err == nil && found.Schema.Current == 0 {
		err = errors.New("it holds no tables of drawsvc")
	}
	if err == nil {
		err = found.Schema.Check()
	}
	if err != nil {
		return found, draw.Wrap(draw.CodeStoreUnavailable, err, "the backup %s is refused; the database is as it was", file)
	}
	return found, database.Replace()
}

// checkBackup refuses what is no backup of the database at path.
func checkBackup(path, file string) error {
	backup, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("the backup cannot be read: %w", err)
	}
	if !backup.Mode().IsRegular() {
		return fmt.Errorf("the backup %s is no file", file)
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

// copyBackup copies a backup, with the WAL that may be beside it. Without one,
// nothing is made beside the backup, which may be where nobody can write.
func copyBackup(ctx context.Context, file, part string) (err error) {
	setting := "immutable=1"
	if sqlitefile.HasWAL(file) {
		setting = "mode=ro"
	}
	db, err := sql.Open("sqlite", sqliteURI(file, setting))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return copySQLite(ctx, db, part)
}

func lockDatabase(path string) (*sqlitefile.File, error) {
	file, err := sqlitefile.Lock(path)
	if errors.Is(err, sqlitefile.ErrInUse) {
		return nil, draw.Errorf(draw.CodeStoreUnavailable, "the database file %s is in use by another process", path)
	}
	if err != nil {
		return nil, draw.Wrap(draw.CodeStoreUnavailable, err, "the database file %s cannot be opened", path)
	}
	return file, nil
}
