package site

import (
	"database/sql"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // database/sql driver "pgx"
	_ "modernc.org/sqlite"             // database/sql driver "sqlite"
)

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
	u, err := url.Parse(raw)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.User = u.User.Username()
	config.Passwd, _ = u.User.Password()
	config.Net, config.Addr, config.DBName = "tcp", u.Host, strings.TrimPrefix(u.Path, "/")
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
