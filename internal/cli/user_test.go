package cli

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestUserForget: after the command, no output of the service or a command about the
// pools names the user. Every count, version and audit stays the same.
func TestUserForget(t *testing.T) {
	t.Parallel()
	const user = "ann@example.org"
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := spring(t, stocktest.Migrated(t, dialect))
			for _, id := range []string{"summer", "empty"} {
				p.ok("pool", "create", id, "--prize", "id=gold,stock=9")
			}
			s := p.serve()
			first, _ := s.won("spring", user, "key-1")
			s.won("spring", user, "key-2")
			s.won("summer", user, "key-1")
			s.won("spring", "ben", "key-3")
			if dialect == "sqlite" { // only one process may open the file
				require.Contains(t, p.run("user", "forget", user, "--all").message, "in use by another process")
				require.Equal(t, exitOK, s.end().code)
			}
			require.Equal(t, "pool spring: the user is replaced in 2 awards\n", p.ok("user", "forget", user, "--pool", "spring", "--actor", "cleo"))
			require.Equal(t, "pool empty: the user is replaced in 0 awards\npool spring: the user is replaced in 0 awards\n"+
				"pool summer: the user is replaced in 1 award\n", p.ok("user", "forget", user, "--all"))
			if dialect == "sqlite" {
				s = p.serve()
			}
			log := p.ok("log", "--pool", "spring")
			require.Contains(t, log, `"what":"user-forgotten","body":{"awards":2},"actor":"cleo"`)
			require.Equal(t, 1, strings.Count(log, "user-forgotten"), "what changes nothing is no change")
			shown := log + p.ok("log", "--pool", "summer")
			for _, path := range []string{"/admin/pools/spring/awards", "/admin/pools/spring/log", "/pools/spring/draws/key-1", "/pools/summer/draws/key-1"} {
				shown += s.admin(200, "GET", path, "")
			}
			require.NotContains(t, shown, user)
			require.Contains(t, shown, `"user":"ben"`)
			require.Equal(t, 2, strings.Count(shown, "key-1\",\"pool"), "the draws are there")
			require.Contains(t, s.admin(200, "GET", "/admin/pools/spring/audit", ""), `{"ok":true`)
			p.ok("audit")

			status, body, err := s.draw("spring", user, "key-1")
			require.NoError(t, err)
			require.Equal(t, 422, status, "the key is known, of another user: %s", body)
			_, replayed := s.won("spring", "ben", "key-3")
			require.True(t, replayed)
			_, again, err := s.ask("GET", "/pools/spring/draws/key-1", "")
			require.NoError(t, err)
			kept, _ := parseDraw(t, again)
			require.Regexp(t, `^erased-[0-9a-f]{32}$`, kept["user"])
			kept["user"] = user
			require.Equal(t, first, kept, "the award is the one that was won")
		})
	}
}

func TestUserForgetRefuses(t *testing.T) {
	t.Parallel()
	p := spring(t, stocktest.Migrated(t, "sqlite"))
	p.refused(exitUsage, "a subcommand is missing", "user")
	p.refused(exitUsage, "give --pool ID or --all", "user", "forget", "ann")
	p.refused(exitUsage, "give --pool ID or --all", "user", "forget", "ann", "--pool", "spring", "--all")
	p.refused(exitUsage, "user begins or ends with a blank", "user", "forget", " ann", "--all")
	p.refused(exitUsage, "actor is missing", "user", "forget", "ann", "--all", "--actor", "")
	p.refused(exitFailure, `there is no pool "none"`, "user", "forget", "ann", "--pool", "none")
}
