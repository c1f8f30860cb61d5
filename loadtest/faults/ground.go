package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// ground has the servers that cells share, one after another. A cell may kill
// them, but has to leave them running.
type ground struct {
	whole   *harness.Site
	servers map[string]*servertest.Server
	galera  []*servertest.Server
}

func newGround(whole *harness.Site) *ground {
	return &ground{whole: whole, servers: map[string]*servertest.Server{}}
}

// server returns the server of a kind or role, such as "redis 2", running.
func (g *ground) server(s *harness.Site, name string) *servertest.Server {
	kind, _, _ := strings.Cut(name, " ")
	if g.servers[name] == nil {
		g.servers[name] = servertest.Start(&lasting{Site: s, whole: g.whole}, kind, servertest.Args(serverArgs(kind)...))
		return g.servers[name]
	}
	server := g.servers[name]
	server.Resume()
	if err := server.Start(); err != nil && !strings.Contains(err.Error(), "runs already") {
		s.Fatalf("%s does not start again: %v", name, err)
	}
	return server
}

// serverArgs make limits small enough to be reached, and deadlocks be found
// before waits for a lock end.
func serverArgs(kind string) []string {
	switch kind {
	case "postgres":
		return []string{"-c", "max_connections=100", "-c", "deadlock_timeout=100ms"}
	case "mysql":
		return []string{"--max-connections=100"}
	}
	return nil
}

// lasting fails and skips in the cell, and cleans up with the whole.
type lasting struct {
	*harness.Site
	whole *harness.Site
}

// Cleanup implements testing.TB.
func (l *lasting) Cleanup(fn func()) { l.whole.Cleanup(fn) }

// base is the database of one cell.
type base struct {
	kind string
	// url is the service's own; it may do everything in its database and
	// nothing else.
	url string
	// hogURL is the account of a stranger without rights.
	hogURL string
	// admin reads the rows, and does what operators and strangers do. An SQLite
	// file is opened for reading alone.
	admin *sql.DB
	// server is nil for a file.
	server *servertest.Server
	file   string
	// A database of several nodes has a URL for each instance in turn, where
	// they are not all to begin with the same node, and a connection to each
	// node by its name: in the end all nodes must hold the same rows. Both are
	// nil where there is one node, which url and admin lead to.
	urls  []string
	nodes map[string]*sql.DB
	// cluster are the servers of those nodes, where each can be written.
	cluster []*servertest.Server
}

const (
	// serviceRole is the account of the service on a server.
	serviceRole     = "draws"
	hogRole         = "hog"
	servicePassword = "faults-service-password"
	// statementMax is the longest that a statement of the harness may take.
	statementMax = 20 * time.Second
)

// database makes an empty database for the cell, on the given server.
func (g *ground) database(s *harness.Site, kind string, server *servertest.Server) *base {
	return g.named(s, kind, "draws_"+strings.ToLower(rand.Text()), server)
}

// named is database with a name, which an embedded one has none of.
func (g *ground) named(s *harness.Site, kind, name string, server *servertest.Server) *base {
	b := &base{kind: kind, server: server}
	var err error
	switch kind {
	case "sqlite":
		b.file = filepath.Join(s.TempDir(), "draws.db")
		b.url = "sqlite:" + b.file
		b.admin, err = b.openFile()
	case "postgres":
		err = b.makePostgres(s, name)
	case "mysql":
		err = b.makeMySQL(s, name)
	}
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = b.admin.Close() })
	return b
}

// openFile opens an embedded database to read it.
func (b *base) openFile() (*sql.DB, error) {
	return sql.Open("sqlite", "file:"+b.file+"?mode=ro&_pragma=busy_timeout(5000)")
}

func (b *base) makePostgres(s *harness.Site, name string) error {
	whole, err := sql.Open("pgx", b.server.URL())
	if err != nil {
		return err
	}
	s.Cleanup(func() {
		_ = execAll(whole, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // the server goes as well
		_ = whole.Close()
	})
	for _, role := range []string{serviceRole, hogRole} {
		err = errors.Join(err, execAll(whole,
			`DO $$ BEGIN CREATE ROLE `+role+` LOGIN PASSWORD '`+servicePassword+`'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`))
	}
	if err = errors.Join(err, execAll(whole, `CREATE DATABASE `+name+` OWNER `+serviceRole)); err != nil {
		return err
	}
	at, err := url.Parse(b.server.URL())
	if err != nil {
		return err
	}
	at.Path = "/" + name
	if b.admin, err = sql.Open("pgx", at.String()); err != nil {
		return err
	}
	at.User = url.UserPassword(serviceRole, servicePassword)
	b.url = at.String()
	at.User = url.UserPassword(hogRole, servicePassword)
	b.hogURL = at.String()
	return nil
}

func (b *base) makeMySQL(s *harness.Site, name string) error {
	whole, err := openMySQL(b.server.URL(), "")
	if err != nil {
		return err
	}
	s.Cleanup(func() {
		_ = execAll(whole, "DROP DATABASE IF EXISTS "+name) // the server goes as well
		_ = whole.Close()
	})
	err = execAll(whole,
		`CREATE USER IF NOT EXISTS `+serviceRole+`@'%' IDENTIFIED BY '`+servicePassword+`'`,
		`CREATE USER IF NOT EXISTS `+hogRole+`@'%' IDENTIFIED BY '`+servicePassword+`'`,
		`CREATE DATABASE IF NOT EXISTS `+name,
		`GRANT ALL ON `+name+`.* TO `+serviceRole+`@'%'`)
	if err != nil {
		return err
	}
	if b.admin, err = openMySQL(b.server.URL(), name); err != nil {
		return err
	}
	at := &url.URL{Scheme: "mysql", User: url.UserPassword(serviceRole, servicePassword), Host: b.server.Addr(), Path: "/" + name}
	b.url = at.String()
	at.User = url.UserPassword(hogRole, servicePassword)
	b.hogURL = at.String()
	return nil
}

// openMySQL connects to a database, "" for none, with the given variables and
// their values in turn.
func openMySQL(raw, name string, variables ...string) (*sql.DB, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, name
	config.Logger = &mysql.NopLogger{} // a server that was killed is no news
	config.Params = map[string]string{}
	for n := 0; n+1 < len(variables); n += 2 {
		config.Params[variables[n]] = variables[n+1]
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// execAll runs statements one after another.
func execAll(db *sql.DB, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementMax)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// count asks a question that is answered with one number. A connection that
// died unseen is not the answer.
func (b *base) count(ctx context.Context, query string) (int64, error) {
	return countOn(ctx, b.admin, query)
}

func countOn(ctx context.Context, db *sql.DB, query string) (n int64, err error) {
	for range 3 {
		if err = db.QueryRowContext(ctx, query).Scan(&n); err == nil {
			return n, nil
		}
	}
	return n, errors.Join(fmt.Errorf("%s", query), err)
}

// numbered says whether the database numbers the parameters of a statement.
func (b *base) numbered() bool { return b.kind == "postgres" }
