package stage

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

	"drawsvc/internal/http/contract"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// Ground has the servers that cells use in sequence. A cell may kill them, but must
// leave them running.
type Ground struct {
	Whole   *harness.Site
	servers map[string]*servertest.Server
	galera  []*servertest.Server
	// Kinds judges the answers of all instances.
	Kinds *contract.Kinds
}

// NewGround returns a ground without servers; those that it starts later end with the
// whole run.
func NewGround(whole *harness.Site) *Ground {
	c, err := contract.Own()
	whole.Must(err)
	return &Ground{Whole: whole, servers: map[string]*servertest.Server{}, Kinds: contract.NewKinds(c)}
}

// Server returns the running server of a kind or role, such as "redis 2".
func (g *Ground) Server(s *harness.Site, name string) *servertest.Server {
	kind, _, _ := strings.Cut(name, " ")
	if g.servers[name] == nil {
		g.servers[name] = servertest.Start(&Lasting{Site: s, Whole: g.Whole}, kind, servertest.Args(place.Of(kind).Small...))
		return g.servers[name]
	}
	server := g.servers[name]
	server.Resume()
	s.Must(Revive(server))
	return server
}

// Revive starts a server that has ended; it does nothing if the server runs.
func Revive(server *servertest.Server) error {
	if err := server.Start(); err != nil && !strings.Contains(err.Error(), "runs already") {
		return fmt.Errorf("it does not start again: %w", err)
	}
	return nil
}

// Lasting passes failures and skips on to the cell, and cleans up at the end of the
// whole run.
type Lasting struct {
	*harness.Site
	Whole *harness.Site
}

// Cleanup implements testing.TB.
func (l *Lasting) Cleanup(fn func()) { l.Whole.Cleanup(fn) }

// Base is the database of one cell.
type Base struct {
	Kind string
	// URL connects with the service's own account, which has all rights in its database
	// and none elsewhere.
	URL string
	// HogURL connects with the account of another program, which has no rights.
	HogURL string
	// Admin connects as an operator, who reads the rows. An SQLite file is opened
	// read-only.
	Admin *sql.DB
	// Server is nil for a file.
	Server *servertest.Server
	File   string
	// URLs, Nodes and Cluster are for a database of several nodes, and nil for one node.
	// URLs has a URL for each instance in order, if the instances are to begin with
	// different nodes. Nodes has a connection to each node by its name: at the end all
	// nodes must hold the same rows.
	URLs  []string
	Nodes map[string]*sql.DB
	// Cluster are the servers of the nodes, if each accepts writes.
	Cluster []*servertest.Server
}

const (
	// ServiceRole is the account of the service on a server.
	ServiceRole = "draws"
	hogRole     = "hog"
	// ServicePassword is the password of that account, which no response may contain.
	ServicePassword = "faults-service-password"
	// statementMax is the timeout of a statement of the harness.
	statementMax = 20 * time.Second
)

// Database creates an empty database for the cell, on the given server.
func (g *Ground) Database(s *harness.Site, kind string, server *servertest.Server) *Base {
	return g.Named(s, kind, "draws_"+strings.ToLower(rand.Text()), server)
}

// Named is Database with a given name; an embedded database has no name.
func (g *Ground) Named(s *harness.Site, kind, name string, server *servertest.Server) *Base {
	b := &Base{Kind: kind, Server: server}
	var err error
	switch kind {
	case "sqlite":
		b.File = filepath.Join(s.TempDir(), "draws.db")
		b.URL = "sqlite:" + b.File
		b.Admin, err = b.OpenFile()
	default:
		err = b.make(s, name)
	}
	s.Must(err)
	s.Cleanup(func() { _ = b.Admin.Close() })
	return b
}

// OpenFile opens an embedded database to read it.
func (b *Base) OpenFile() (*sql.DB, error) {
	return place.Open(b.URL, "mode=ro", "_pragma=busy_timeout(5000)")
}

// make creates the database and its accounts on the server.
func (b *Base) make(s *harness.Site, name string) error {
	whole, err := place.Open(b.Server.URL())
	s.Must(err)
	drop, statements := "DROP DATABASE IF EXISTS "+name, []string{`CREATE DATABASE IF NOT EXISTS ` + name, `GRANT ALL ON ` + name + `.* TO ` + ServiceRole + `@'%'`}
	account := `CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY '%s'`
	if b.Kind == "postgres" {
		drop, statements = drop+" WITH (FORCE)", []string{`CREATE DATABASE ` + name + ` OWNER ` + ServiceRole}
		account = `DO $$ BEGIN CREATE ROLE %s LOGIN PASSWORD '%s'; EXCEPTION WHEN duplicate_object THEN NULL; END $$`
	}
	s.Cleanup(func() {
		_ = ExecAll(whole, drop) // the server is removed as well
		_ = whole.Close()
	})
	accounts := []string{fmt.Sprintf(account, ServiceRole, ServicePassword), fmt.Sprintf(account, hogRole, ServicePassword)}
	s.Must(ExecAll(whole, append(accounts, statements...)...))
	at, err := url.Parse(b.Server.URL())
	s.Must(err)
	at.Path = "/" + name
	if b.Admin, err = place.Open(at.String()); err != nil {
		return err
	}
	if b.Kind != "postgres" {
		at = &url.URL{Scheme: "mysql", Host: b.Server.Addr(), Path: "/" + name}
	}
	at.User = url.UserPassword(ServiceRole, ServicePassword)
	b.URL = at.String()
	at.User = url.UserPassword(hogRole, ServicePassword)
	b.HogURL = at.String()
	return nil
}

// ExecAll runs statements in order.
func ExecAll(db *sql.DB, statements ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), statementMax)
	defer cancel()
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Count runs a query that returns one number. It retries after a connection that died
// unnoticed.
func (b *Base) Count(ctx context.Context, query string) (int64, error) {
	return CountOn(ctx, b.Admin, query)
}

// CountOn is Count on a given connection.
func CountOn(ctx context.Context, db *sql.DB, query string) (n int64, err error) {
	for range 3 {
		if err = db.QueryRowContext(ctx, query).Scan(&n); err == nil {
			return n, nil
		}
	}
	return n, errors.Join(fmt.Errorf("%s", query), err)
}

// Numbered reports whether the database numbers the parameters of a statement.
func (b *Base) Numbered() bool { return b.Kind == "postgres" }
