package servertest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Postgres returns the URL of a new, empty database on the PostgreSQL server
// that the test process shares. It is dropped when the test ends.
func Postgres(tb testing.TB) string {
	tb.Helper()
	return postgresDatabases(tb).lend(tb)
}

func postgresDatabases(tb testing.TB) databases {
	tb.Helper()
	all := databases{base: sharedURL(tb, "postgres"), dropOption: " WITH (FORCE)", execute: executePostgres}
	if !isNamed("postgres") {
		all.createOption, _ = Once("how PostgreSQL copies", all.fileCopy)
	}
	return all
}

// fileCopy returns the option that makes PostgreSQL copy a database's files. That takes
// half as long as writing each block to the log. Releases before 15 have no such option,
// and always copy the files.
func (d databases) fileCopy() (string, error) {
	const option = " STRATEGY FILE_COPY"
	name := databaseName()
	if err := d.statement("CREATE DATABASE " + name + option); err != nil {
		return "", err
	}
	return option, d.statement("DROP DATABASE " + name)
}

// PostgresAs is like Postgres, but fill has filled the database. In a test process, a
// name must always be used with the same fill. The first call fills a template that
// remains, and each caller gets a copy of it, which takes much less time. On a server
// that the environment names nothing may remain, so fill is called for each database.
func PostgresAs(tb testing.TB, name string, fill func(url string) error) string {
	tb.Helper()
	all := postgresDatabases(tb)
	if isNamed("postgres") {
		url := all.lend(tb)
		if err := fill(url); err != nil {
			tb.Fatalf("fill a test database: %v", err)
		}
		return url
	}
	template, err := Once("a template of PostgreSQL, "+name, func() (string, error) {
		name := databaseName()
		if err := all.statement("CREATE DATABASE " + name); err != nil {
			return "", err
		}
		return name, fill(all.url(name))
	})
	if err != nil {
		tb.Fatalf("make the template of test databases: %v", err)
	}
	all.createOption += " TEMPLATE " + template
	return all.lend(tb)
}

func postgresKind() kind {
	return kind{
		variable: "DRAWSVC_TEST_POSTGRES",
		packages: "postgresql",
		programs: map[string][]string{
			"initdb":   {"/usr/lib/postgresql/*/bin/initdb"},
			"postgres": {"/usr/lib/postgresql/*/bin/postgres"},
		},
		ports:   1,
		setUp:   setUpPostgres,
		command: postgresCommand,
		ready:   postgresReady,
		url:     postgresURL,
		stop:    syscall.SIGINT, // SIGTERM would wait for the clients to disconnect
		// SIGQUIT also ends the server at once, but removes the System V segment. A machine has
		// few such segments.
		discard: syscall.SIGQUIT,
		killed:  removeSegment,
	}
}

func setUpPostgres(ctx context.Context, s *Server) error {
	return s.copyFirst(ctx, "postgres", makePostgres)
}

// makePostgres creates the server's data.
func makePostgres(ctx context.Context, s *Server) error {
	if err := s.write("password", secret()); err != nil {
		return err
	}
	// The password keeps other accounts of the machine out. A connection by MD5 takes little
	// time; SCRAM needs thousands of hashes.
	return s.run(ctx, s.programs["initdb"], "--pgdata", s.path("data"), "--username", "drawsvc",
		"--pwfile", s.path("password"), "--auth", "md5", "--encoding", "UTF8", "--no-locale", "--no-sync")
}

func postgresCommand(s *Server) []string {
	argv := []string{s.programs["postgres"], "-D", s.path("data"), "-h", "127.0.0.1",
		"-p", fmt.Sprint(s.ports[0].number), "-k", "", // no Unix socket
		"-c", "max_connections=300",
		"-c", "shared_buffers=64MB",
		"-c", "dynamic_shared_memory_type=mmap", // files in its folder
	}
	if !s.options.durable {
		argv = append(argv, "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_wal_size=128MB")
	}
	if s.options.archived {
		argv = append(argv, "-c", "archive_mode=on", "-c", "archive_command=true")
	}
	if s.options.roomy {
		argv = append(argv, "-c", "shared_buffers=160MB", "-c", "max_wal_size=2GB", "-c", "checkpoint_timeout=15min")
	}
	return append(argv, s.options.args...)
}

func postgresURL(s *Server) string {
	location := url.URL{
		Scheme: "postgres", User: url.UserPassword("drawsvc", s.password()),
		Host: s.Addr(), Path: "/postgres", RawQuery: "sslmode=disable",
	}
	return location.String()
}

func postgresReady(ctx context.Context, s *Server) error {
	return executePostgres(ctx, s.URL(), "SELECT 1")
}

func executePostgres(ctx context.Context, base, statement string) error {
	conn, err := pgx.Connect(ctx, base)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, statement)
	return err
}

// removeSegment removes the System V shared memory of a killed server. It contains
// nothing, and only shows that the data folder is in use. Its number is at the end of the
// seventh line of postmaster.pid.
func removeSegment(s *Server) {
	content, err := os.ReadFile(s.path("data/postmaster.pid"))
	lines := strings.Split(string(content), "\n")
	if err != nil || len(lines) < 7 {
		return
	}
	if fields := strings.Fields(lines[6]); len(fields) == 2 {
		_ = exec.Command("ipcrm", "-m", fields[1]).Run() // if this fails, a few bytes remain, which do no harm
	}
}
