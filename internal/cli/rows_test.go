package cli

import (
	"database/sql"
	"net/url"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

// rows opens a service's database, for changes that only another program would make.
func rows(tb testing.TB, databaseURL string) *sql.DB {
	tb.Helper()
	var db *sql.DB
	var err error
	switch scheme, rest, _ := strings.Cut(databaseURL, ":"); scheme {
	case "sqlite":
		db, err = sql.Open("sqlite", rest+"?_pragma=busy_timeout(10000)") // a service may be writing at the moment
	case "postgres":
		db, err = sql.Open("pgx", databaseURL)
	case "mysql":
		location, parseErr := url.Parse(databaseURL)
		require.NoError(tb, parseErr)
		config := mysql.NewConfig()
		config.User = location.User.Username()
		config.Passwd, _ = location.User.Password()
		config.Net, config.Addr, config.DBName = "tcp", location.Host, strings.TrimPrefix(location.Path, "/")
		db, err = sql.Open("mysql", config.FormatDSN())
	default:
		tb.Fatalf("no way to open %s", scheme)
	}
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// tamper changes rows by SQL; each statement must find some.
func tamper(tb testing.TB, databaseURL string, statements ...string) {
	tb.Helper()
	db := rows(tb, databaseURL)
	defer db.Close() // then an SQLite file has no write-ahead log
	for _, statement := range statements {
		result, err := db.ExecContext(tb.Context(), statement)
		require.NoError(tb, err, statement)
		n, err := result.RowsAffected()
		require.NoError(tb, err)
		require.Positive(tb, n, statement)
	}
}
