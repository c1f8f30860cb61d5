package harness

import (
	"cmp"
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"

	"drawsvc/internal/servertest"
)

// DatabaseName is what is really run: the mysql of the load tests is MariaDB.
func DatabaseName(kind string) string {
	return map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL", "mysql": "MariaDB", "redis": "Redis"}[kind]
}

// NewDatabase returns the URL of an empty database of the site's own.
func NewDatabase(s *Site, kind string) string {
	switch kind {
	case "postgres":
		return servertest.Postgres(s)
	case "mysql":
		return servertest.MySQL(s)
	}
	return "sqlite:" + filepath.Join(s.TempDir(), "draws.db")
}

// ServeArgs are the arguments that the service is started with.
func ServeArgs(listen, database, mode string, more ...string) []string {
	args := []string{"serve", "--listen", listen, "--database", database, "--mode", mode, "--log-format", "json"}
	if !strings.HasPrefix(database, "sqlite:") {
		args = append(args, "--migrate")
	}
	return append(args, more...)
}

// OpenDatabase opens the database of a URL as the service writes it, beside the
// service. The options are added to SQLite's URI, such as "mode=ro".
func OpenDatabase(raw string, sqliteOptions ...string) (*sql.DB, error) {
	scheme, rest, _ := strings.Cut(raw, ":")
	switch scheme {
	case "sqlite":
		return sql.Open("sqlite", "file:"+rest+"?"+strings.Join(sqliteOptions, "&"))
	case "postgres":
		return sql.Open("pgx", raw)
	}
	return OpenMySQL(raw, "")
}

// Opened is a database that was opened, until the site ends.
func (s *Site) Opened(db *sql.DB, err error) *sql.DB {
	s.Must(err)
	s.Cleanup(func() { _ = db.Close() })
	return db
}

// OpenMySQL opens a database of a server, "" for that of the URL, with variables
// and their values in turn.
func OpenMySQL(raw, name string, variables ...string) (*sql.DB, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, cmp.Or(name, strings.TrimPrefix(u.Path, "/"))
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
