package servertest

import (
	"context"
	"net/url"
	"testing"
)

// StartStandby starts a PostgreSQL server that streams from the primary. by is the
// address of the primary, or of a proxy in front of it. name is for
// synchronous_standby_names. The standby is a copy of the primary with the same accounts.
// It answers reads, and accepts writes after pg_promote() has promoted it. The primary's
// Args are not copied.
func StartStandby(tb testing.TB, primary *Server, by, name string, opts ...Option) *Server {
	tb.Helper()
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	sh := sharedOf(tb)
	k := postgresKind()
	k.programs["pg_basebackup"] = []string{"/usr/lib/postgresql/*/bin/pg_basebackup"}
	k.setUp = func(ctx context.Context, s *Server) error {
		if err := s.write("password", primary.password()); err != nil {
			return err
		}
		from, err := url.Parse(primary.URL())
		if err != nil {
			return err
		}
		from.Host = by
		from.RawQuery += "&application_name=" + url.QueryEscape(name)
		return s.run(ctx, s.programs["pg_basebackup"], "--dbname", from.String(), "--pgdata", s.path("data"),
			"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	}
	s, err := sh.open("standby", k, o)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(s.discard)
	return s
}
