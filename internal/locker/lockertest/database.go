package lockertest

import (
	"context"
	"database/sql"
	"log/slog"
	"strings"

	"drawsvc/internal/locker"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/stock"
)

// database is a locker.Database that can be closed.
type database interface {
	locker.Database
	Close() error
}

// openDatabase opens the database at a URL in the form of --database, nil for "". It
// opens an SQLite file without the store. The store would exclude other processes, which
// the suite needs.
func openDatabase(ctx context.Context, url string) (database, error) {
	path, isFile := strings.CutPrefix(url, "sqlite:")
	switch {
	case url == "":
		return nil, nil
	case !isFile:
		return stock.Open(ctx, url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return file{db}, nil
}

// file is a database of SQLite.
type file struct{ *sql.DB }

// LockStatements implements locker.Database.
func (f file) LockStatements() locksql.Statements { return stock.LockStatements("sqlite") }

// LockDB implements locker.Database.
func (f file) LockDB() *sql.DB { return f.DB }

// SharesSessions implements locker.Database: a file has no proxy.
func (f file) SharesSessions() bool { return false }

// migrate creates the tables of the database at a URL. For "" it does nothing.
func migrate(ctx context.Context, url string) error {
	if url == "" {
		return nil
	}
	s, err := stock.Open(ctx, url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Migrate(ctx)
}
