package lockertest

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // PostgreSQL
	_ "modernc.org/sqlite"             // SQLite
)

// poolMax is the size of the pool that the locks get.
const poolMax = 8

// Database satisfies locker.Database without the service around it.
type Database struct {
	dialect string
	db      *sql.DB
}

// Dialect implements locker.Database.
func (d *Database) Dialect() string { return d.dialect }

// LockDB implements locker.Database.
func (d *Database) LockDB() *sql.DB { return d.db }

// Close ends its connections.
func (d *Database) Close() error { return d.db.Close() }

// OpenDatabase opens the database at a URL as --database takes it. The empty
// URL gives nil, for the locks that need none.
func OpenDatabase(location string) (*Database, error) {
	scheme, rest, _ := strings.Cut(location, ":")
	var d *Database
	var err error
	switch scheme {
	case "":
		return nil, nil
	case "sqlite":
		d = &Database{dialect: scheme}
		d.db, err = sql.Open("sqlite", "file:"+rest+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	case "postgres":
		d = &Database{dialect: scheme}
		d.db, err = sql.Open("pgx", location)
	case "mysql":
		d = &Database{dialect: scheme}
		d.db, err = openMySQL(location)
	default:
		return nil, errors.New("no such database: " + scheme)
	}
	if err != nil {
		return nil, err
	}
	d.db.SetMaxOpenConns(poolMax)
	d.db.SetMaxIdleConns(poolMax)
	if scheme == "sqlite" {
		d.db.SetMaxOpenConns(1)
	}
	return d, nil
}

func openMySQL(location string) (*sql.DB, error) {
	u, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", u.Host
	c.DBName = strings.TrimPrefix(u.Path, "/")
	c.Timeout = time.Second
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// MakeTables makes the tables that the locks in a database need.
func MakeTables(ctx context.Context, d *Database) error {
	for _, statement := range []string{
		`CREATE TABLE IF NOT EXISTS locks (key_id VARCHAR(128) PRIMARY KEY, owner VARCHAR(64) NOT NULL, token BIGINT NOT NULL, expires_at BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS lock_rows (key_id VARCHAR(128) PRIMARY KEY, token BIGINT NOT NULL)`,
		`CREATE TABLE IF NOT EXISTS lock_tokens (key_id VARCHAR(128) PRIMARY KEY, token BIGINT NOT NULL)`,
	} {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
