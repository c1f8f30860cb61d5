package stock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/sqlite"
	"drawsvc/internal/stock/sqlitefile"
)

// Backup writes one state of an embedded database, which rawURL names, to a new file.
// Only its owner may read the file. Backup can be called while a service uses the
// database and draws. The state contains everything that was committed when Backup began.
// The file gets its name only when it is complete and on the disk. An existing file is
// not changed. Backup returns the size in bytes. Errors: CodeInvalidRequest for a
// database on a server, CodeStoreUnavailable, fs.ErrExist, and those of files.
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
		return 0, ofFile(file, err)
	}
	defer func() { _ = os.Remove(part.Name()) }() // does nothing after the rename
	if err := part.Close(); err != nil {
		return 0, err
	}
	switch err := sqlite.Copy(ctx, s.engine.Read, part.Name()); {
	case errors.Is(err, syscall.ENOSPC): // this is the disk of the backup, not of the database
		return 0, ofFile(file, err)
	case err != nil:
		return 0, engine.PublicRead(engine.Classify(err, s.engine.ByCode))
	}
	if err := sqlite.Seal(ctx, part.Name()); err != nil {
		return 0, err
	}
	info, err := os.Stat(part.Name())
	if err != nil {
		return 0, err
	}
	return info.Size(), sqlitefile.Publish(part.Name(), file)
}

// ofFile converts an error about another file in the same folder to an error about file,
// the name that the caller knows.
func ofFile(file string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "create", Path: file, Err: e.Err}
	}
	return err
}

// embedded returns the path of the file that rawURL names. It returns an error for a
// server, because servers have their own tools.
func embedded(rawURL string) (path string, err error) {
	scheme, _, _ := strings.Cut(rawURL, ":")
	d, ok := dialects()[scheme]
	switch {
	case !ok:
		return "", errNoDatabase()
	case d.BackupTools == "":
		return sqlite.Path(rawURL)
	}
	return "", draw.Errorf(draw.CodeInvalidRequest,
		"this is for an embedded database (sqlite:PATH); a server has tools of its own, %s: docs/backup.md has the steps", d.BackupTools)
}

// Restore replaces an embedded database, which rawURL names, by the backup in file. It
// does so completely or not at all, even if it is killed. Restore refuses if a service
// uses the database. It also refuses a backup that is damaged, breaks a rule, or has a
// schema that this binary does not know. Then the database is unchanged. Errors:
// CodeInvalidRequest for a database on a server, CodeStoreUnavailable, ErrViolations, and
// those of files.
func Restore(ctx context.Context, rawURL, file string, o Options) (found Examined, err error) {
	path, err := embedded(rawURL)
	if err != nil {
		return found, err
	}
	if err := sqlite.CheckBackup(path, file); err != nil {
		return found, err
	}
	database, err := sqlite.Lock(path)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, database.Close(false)) }()
	part, err := database.Part()
	if err != nil {
		return found, err
	}
	if err := sqlite.CopyBackup(ctx, file, part); err != nil {
		return found, draw.Wrap(draw.CodeStoreUnavailable, err, "the backup %s cannot be copied; the database is unchanged", file)
	}
	if found, err = examine(ctx, part, o); err == nil && found.Schema.Current == 0 {
		err = errors.New("it has no tables of drawsvc")
	}
	if err == nil {
		err = found.Schema.Check()
	}
	if err != nil {
		return found, draw.Wrap(draw.CodeStoreUnavailable, err, "the backup %s is refused; the database is unchanged", file)
	}
	return found, database.Replace()
}

// ErrViolations means that the rows of an examined database break a rule.
var ErrViolations = errors.New("stock: the rows break a rule")

// Examined describes a database in which no violation was found.
type Examined struct {
	// Pools and Awards are the numbers of pools and awards.
	Pools, Awards int64
	// Schema is the state of the database's schema.
	Schema Schema
}

// examine reads the whole database at path without changing it. It checks the file's
// structure and, if this binary can work on the schema, the rows of every pool.
func examine(ctx context.Context, path string, o Options) (found Examined, err error) {
	o.ReadOnly = true
	s, err := Open(ctx, "sqlite:"+path, o)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := sqlite.CheckStructure(ctx, s.engine.Read); err != nil {
		return found, err
	}
	if found.Schema, err = s.Schema(ctx); err != nil || found.Schema.Check() != nil {
		return found, err
	}
	pools, err := s.PoolIDs(ctx)
	if err != nil {
		return found, err
	}
	for _, id := range pools {
		audit, err := s.Audit(ctx, id)
		if err != nil {
			return found, err
		}
		if len(audit.Violations) > 0 {
			v := audit.Violations[0]
			return found, fmt.Errorf("%w: pool %q, %s: %s", ErrViolations, id, v.Rule, v.Detail)
		}
		found.Pools++
		for _, p := range audit.Prizes {
			found.Awards += p.Awards
		}
	}
	return found, nil
}
