package servertest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// MySQL returns the URL of a new, empty database on the MariaDB server that
// the test process shares. It is dropped when the test ends.
func MySQL(tb testing.TB) string {
	tb.Helper()
	return databases{base: sharedURL(tb, "mysql"), execute: executeMySQL}.lend(tb)
}

func mysqlKind() kind {
	return kind{
		variable: "DRAWSVC_TEST_MYSQL",
		packages: "mariadb-server",
		programs: map[string][]string{
			"mariadbd":           {"/usr/sbin/mariadbd"},
			"mariadb-install-db": {"/usr/bin/mariadb-install-db"},
		},
		ports:   1,
		setUp:   setUpMySQL,
		command: mysqlCommand,
		ready:   mysqlReady,
		url:     mysqlURL,
		stop:    syscall.SIGTERM,
		discard: syscall.SIGKILL,
	}
}

func setUpMySQL(ctx context.Context, s *Server) error {
	return s.copyFirst(ctx, "mysql", makeMySQL)
}

// makeMySQL creates a data folder with small files.
func makeMySQL(ctx context.Context, s *Server) error {
	if err := s.write("password", secret()); err != nil {
		return err
	}
	// The account root has no usable password, and needs a Unix socket. So the server itself
	// creates the account at each start.
	account := "CREATE USER IF NOT EXISTS drawsvc@'%%' IDENTIFIED BY '%s';\n" +
		"GRANT ALL ON *.* TO drawsvc@'%%' WITH GRANT OPTION;\nCREATE DATABASE IF NOT EXISTS drawsvc;\n"
	if err := s.write("account.sql", fmt.Sprintf(account, s.password())); err != nil {
		return err
	}
	return s.run(ctx, append([]string{s.programs["mariadb-install-db"], "--no-defaults",
		"--datadir=" + s.path("data"), "--skip-test-db", "--innodb-flush-method=nosync"}, mysqlSizes()...)...)
}

// mysqlSizes are the sizes that every start of the server must state.
func mysqlSizes() []string {
	return []string{"--innodb-log-file-size=32M", "--innodb-buffer-pool-size=64M"}
}

func mysqlCommand(s *Server) []string {
	argv := []string{s.programs["mariadbd"], "--no-defaults", "--datadir=" + s.path("data"),
		"--bind-address=127.0.0.1", fmt.Sprintf("--port=%d", s.ports[0].number),
		"--socket=server.sock", // relative to the data folder, because an absolute path may be too long
		"--pid-file=" + s.path("pid"), "--init-file=" + s.path("account.sql"),
		"--skip-name-resolve", "--skip-log-bin", "--character-set-server=utf8mb4",
		"--max-connections=600", "--performance-schema=off",
	}
	argv = append(argv, mysqlSizes()...)
	if !s.options.durable {
		// With 2, acknowledged data are in the kernel and survive Kill; with 0 they would not.
		argv = append(argv, "--innodb-flush-log-at-trx-commit=2",
			"--innodb-flush-method=nosync", "--innodb-doublewrite=0")
	}
	if s.options.archived {
		argv = append(argv, "--log-bin=bin", "--server-id=1", "--sync-binlog=1")
	}
	if s.options.roomy {
		argv = append(argv, "--innodb-log-file-size=128M", "--innodb-buffer-pool-size=160M")
	}
	return append(argv, s.options.args...)
}

func mysqlURL(s *Server) string {
	location := url.URL{
		Scheme: "mysql", User: url.UserPassword("drawsvc", s.password()),
		Host: s.Addr(), Path: "/drawsvc",
	}
	return location.String()
}

func mysqlReady(ctx context.Context, s *Server) error {
	return executeMySQL(ctx, s.URL(), "SELECT 1")
}

func executeMySQL(ctx context.Context, base, statement string) error {
	location, err := url.Parse(base)
	if err != nil {
		return err
	}
	config := mysql.NewConfig()
	config.User = location.User.Username()
	config.Passwd, _ = location.User.Password()
	config.Net, config.Addr = "tcp", location.Host
	config.DBName = strings.TrimPrefix(location.Path, "/")
	config.Logger = &mysql.NopLogger{} // failed attempts before the server is ready must not be logged
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// password returns the password that setUp wrote. If it is missing, the server reports
// the error.
func (s *Server) password() string {
	password, _ := os.ReadFile(s.path("password"))
	return string(password)
}
