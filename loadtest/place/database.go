package place

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
	"drawsvc/loadtest/harness"
)

// Database has the names and statements that differ between kinds of databases.
type Database struct {
	// Name is the name of the product: the mysql of the load tests is MariaDB.
	Name string
	// Program is the server's program; Variable is the environment variable that names
	// a running server.
	Program, Variable string
	// Small sets limits that are small enough for a test to reach, and detects deadlocks
	// before waits for a lock end. Wide uses the memory of a whole machine; Usual is the
	// server's default.
	Small, Wide, Usual []string
	// Micros is the SQL expression of the clock's time in microseconds. Sessions
	// selects a user's sessions in the present database; Kill ends one.
	Micros, Sessions, Kill string
	// ReadOnly and Writable switch writes off and on.
	ReadOnly, Writable []string
	// Left are queries that count a user's transactions and locks that have not ended.
	Left []string
}

// Of returns the names and statements of a kind of database, a zero Database for an
// unknown kind.
func Of(kind string) Database {
	switch kind {
	case "sqlite":
		return Database{Name: "SQLite", Micros: `CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)`}
	case "postgres":
		const setting, reload = `ALTER SYSTEM SET default_transaction_read_only = `, `SELECT pg_reload_conf()`
		return Database{
			Name: "PostgreSQL", Program: "postgres", Variable: "DRAWSVC_TEST_POSTGRES",
			Small:    []string{"-c", "max_connections=100", "-c", "deadlock_timeout=100ms"},
			Wide:     []string{"-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"},
			Usual:    []string{"-c", "shared_buffers=128MB", "-c", "max_wal_size=1GB"},
			Micros:   `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)`,
			Sessions: `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND usename = '%s'`, Kill: `SELECT pg_terminate_backend(%d)`,
			ReadOnly: []string{setting + `on`, reload}, Writable: []string{setting + `off`, reload},
			Left: []string{
				`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
					AND backend_type = 'client backend' AND state <> 'idle'`,
				`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
					WHERE d.datname = current_database() AND l.locktype = 'advisory'`,
			},
		}
	case "mysql":
		return Database{
			Name: "MariaDB", Program: "mariadbd", Variable: "DRAWSVC_TEST_MYSQL",
			Small:    []string{"--max-connections=100"},
			Wide:     []string{"--innodb-buffer-pool-size=512M", "--innodb-log-file-size=512M"},
			Usual:    []string{"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M"},
			Micros:   `CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)`,
			Sessions: `SELECT id FROM information_schema.processlist WHERE user = '%s'`, Kill: `KILL %d`,
			ReadOnly: []string{`SET GLOBAL read_only = ON`}, Writable: []string{`SET GLOBAL read_only = OFF`},
			Left: []string{
				`SELECT count(*) FROM information_schema.innodb_trx`,
				`SELECT count(*) FROM information_schema.processlist WHERE command NOT IN ('Sleep', 'Daemon') AND id <> CONNECTION_ID() AND user = 'draws'`,
			},
		}
	case servertest.TiDB:
		d := Of("mysql")
		d.Name, d.Program, d.Variable, d.Small = "TiDB", "tidb-server", servertest.TiDBVariable, nil
		d.ReadOnly, d.Writable = []string{`SET GLOBAL tidb_super_read_only = ON`}, []string{`SET GLOBAL tidb_super_read_only = OFF`}
		d.Left = []string{
			`SELECT count(*) FROM information_schema.tidb_trx WHERE user = 'draws'`,
			`SELECT count(*) FROM information_schema.processlist WHERE command <> 'Sleep' AND id <> CONNECTION_ID() AND user = 'draws'`,
		}
		return d
	case "redis": // the settings of the usual article
		return Database{Name: "Redis", Program: "redis-server", Wide: []string{"--appendonly", "yes", "--appendfsync", "everysec"}}
	}
	return Database{}
}

// NewDatabase returns the URL of an empty database that only the site uses.
func NewDatabase(s *harness.Site, kind string) string {
	switch kind {
	case "":
		return ""
	case "postgres":
		return servertest.Postgres(s)
	case "mysql":
		return servertest.MySQL(s)
	case servertest.TiDB:
		return servertest.TiDBDatabase(s)
	}
	return "sqlite:" + filepath.Join(s.TempDir(), "draws.db")
}

// ServeArgs returns the arguments of the service.
func ServeArgs(listen, database, mode string, more ...string) []string {
	args := []string{"serve", "--listen", listen, "--database", database, "--mode", mode, "--log-format", "json"}
	if !strings.HasPrefix(database, "sqlite:") {
		args = append(args, "--migrate")
	}
	return append(args, more...)
}

// LockURL returns the URL of a lock service of several servers.
func LockURL(scheme, path string, addresses ...string) string {
	return scheme + "://" + strings.Join(addresses, ",") + path
}

// Open opens the database of one of the service's URLs. The options are added to
// SQLite's URI, such as "mode=ro".
func Open(raw string, sqliteOptions ...string) (*sql.DB, error) {
	scheme, rest, _ := strings.Cut(raw, ":")
	switch scheme {
	case "sqlite":
		return sql.Open("sqlite", "file:"+rest+"?"+strings.Join(sqliteOptions, "&"))
	case "postgres":
		return sql.Open("pgx", raw)
	}
	return OpenMySQL(raw, "")
}

// OpenMySQL opens a database of a server by its name, or with "" the URL's database.
// variables alternate between names and values.
func OpenMySQL(raw, name string, variables ...string) (*sql.DB, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, cmp.Or(name, strings.TrimPrefix(u.Path, "/"))
	config.Logger = &mysql.NopLogger{} // killed servers are expected
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
