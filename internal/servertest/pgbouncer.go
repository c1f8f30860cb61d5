package servertest

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"syscall"
	"testing"
)

// StartPgBouncer starts a pgbouncer in front of the PostgreSQL server with a database's
// URL. Each transaction gets any free session. URL returns the URL of that database
// through pgbouncer. The other databases of the server are reachable there too. Args are
// lines of pgbouncer's settings, such as "pool_mode=session". When the test ends, it is
// killed and its folder removed.
func StartPgBouncer(tb testing.TB, database string, opts ...Option) *Server {
	tb.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sh := sharedOf(tb)
	location, err := url.Parse(database)
	if err != nil {
		tb.Fatalf("the database's URL: %v", err)
	}
	s, err := sh.open("pgbouncer", pgBouncerKind(location), o)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(s.discard)
	return s
}

func pgBouncerKind(database *url.URL) kind {
	return kind{
		packages: "pgbouncer",
		programs: map[string][]string{"pgbouncer": {"/usr/sbin/pgbouncer"}},
		ports:    1,
		setUp: func(_ context.Context, s *Server) error {
			password, _ := database.User.Password()
			if err := s.write("users", fmt.Sprintf("%q %q\n", database.User.Username(), password)); err != nil {
				return err
			}
			settings := append([]string{
				"[databases]", fmt.Sprintf("* = host=%s port=%s", database.Hostname(), database.Port()),
				"[pgbouncer]", "listen_addr=127.0.0.1", fmt.Sprintf("listen_port=%d", s.ports[0].number), "unix_socket_dir=",
				"auth_type=plain", "auth_file=" + s.path("users"),
				"pool_mode=transaction", "default_pool_size=20", "max_client_conn=1000",
			}, s.options.args...)
			return s.write("settings", strings.Join(settings, "\n")+"\n")
		},
		command: func(s *Server) []string { return []string{s.programs["pgbouncer"], s.path("settings")} },
		ready:   postgresReady,
		url: func(s *Server) string {
			through := *database
			through.Host = s.Addr()
			return through.String()
		},
		stop:    syscall.SIGTERM,
		discard: syscall.SIGKILL,
	}
}
