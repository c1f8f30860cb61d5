package cli

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestExcludedProgramRefuses: while a schema does not permit the program, it is not
// ready, refuses draws, and does not start; once the schema permits it, it works again.
func TestExcludedProgramRefuses(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := spring(t, url)
		s := p.serve("--public-draw")
		state := func() (ready, draws int, detail string) {
			ready, detail, err := s.ask("GET", "/readyz", "")
			require.NoError(t, err)
			draws, body, err := s.draw("spring", "u1", "")
			require.NoError(t, err)
			if draws != http.StatusOK {
				require.Contains(t, body, `"code":"store-unavailable","outcome":"none"`)
				require.Contains(t, body, "does not admit this drawsvc")
			}
			return ready, draws, detail
		}
		// The result of a readiness check is used for a second, and a busy machine may
		// need longer than that.
		becomes := func(status int, part string) {
			require.Eventually(t, func() bool {
				ready, draws, said := state()
				return ready == status && draws == status && strings.Contains(said, part)
			}, commandMax, 50*time.Millisecond, "%d %s", status, part)
		}
		becomes(200, "ready")
		next := p.knows() + 1
		tamper(t, url, fmt.Sprintf(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, true)`, next))
		says := func(line string) {
			require.Eventually(t, func() bool { return strings.Contains(s.stderr.String(), line) }, commandMax, 10*time.Millisecond, line)
		}
		const refuses = "the schema does not let this binary work: draws and changes are refused"
		says("the schema is newer than this binary, and admits it")
		becomes(200, "ready")
		require.NotContains(t, s.stderr.String(), refuses, "one that is newer and admits the program changes nothing")

		tamper(t, url, fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, next))
		// The readiness check reads the schema, and draws follow its result at once.
		becomes(503, fmt.Sprintf("the database's schema has version %d and does not admit this drawsvc, which knows %d", next, p.knows()))
		becomes(503, `"code":"store-unavailable"`)
		status, body, err := s.ask("POST", "/admin/pools", `{"id":"other","name":"Other","prizes":[]}`, "Authorization", "Bearer "+s.token)
		require.NoError(t, err)
		require.Equal(t, 503, status, body)
		says(refuses)

		tamper(t, url, fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, p.knows()))
		becomes(200, "ready")

		// Without a readiness check, draws detect the change by themselves.
		tamper(t, url, fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, next))
		require.Eventually(t, func() bool {
			status, _, err := s.draw("spring", "u1", "")
			return err == nil && status == http.StatusServiceUnavailable
		}, commandMax, 20*time.Millisecond)
		require.Equal(t, exitOK, s.end().code)
		for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--migrate"}, {"migrate", "up"}} {
			p.refused(exitFailure, "does not admit this drawsvc, which knows", args...)
		}
	})
}

// TestNewProgramServesOnOlderSchema: a new program serves on an older schema that it
// supports, until the schema is migrated. On an unsupported schema it does not start.
func TestNewProgramServesOnOlderSchema(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file is migrated at the start
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			old := spring(t, url)
			next := on(t, url)
			next.schema = "excluding"
			line := next.refused(exitFailure, fmt.Sprintf("schema has version %d, this drawsvc needs %d or later", old.knows(), next.knows()), "serve", "--listen", "127.0.0.1:0")
			require.Contains(t, line, "run `drawsvc migrate up`, or serve with --migrate")

			next.schema = "additive"
			first, second := old.serve(), next.serve()
			require.Eventually(t, func() bool {
				return strings.Contains(second.stderr.String(), "the schema is older than this binary, which can work on it")
			}, commandMax, 10*time.Millisecond)
			draws := func() {
				for _, s := range []*service{first, second} {
					s.won("spring", "u1", "")
					s.becomesReady()
				}
			}
			draws()
			require.Equal(t, next.standsAt(next.knows(), "up to date"), next.ok("migrate", "up"))
			draws()
			next.ok("audit")
		})
	}
}

// TestMigrateKilled: `migrate up` is killed at any moment, and run again.
func TestMigrateKilled(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		dialect, _, _ := strings.Cut(url, ":")
		const rounds = 8
		lasts := 2 * time.Second // the duration of a complete migration; known from the second round on
		killed := 0
		for round := 0; round < rounds || killed == 0 && round < 10*rounds; round++ { // if the machine pauses, each migration may end before it is killed
			url := stocktest.URL(t, dialect)
			p := on(t, url)
			p.schema = "additive"
			if round%2 == 1 {
				on(t, url).ok("migrate", "up") // only the last step is pending
			}
			up := p.command("migrate", "up")
			begun := time.Now()
			require.NoError(t, up.Start())
			if round > 1 {
				time.Sleep(rand.N(lasts))
				require.NoError(t, up.Process.Kill())
			}
			if up.Wait() == nil {
				lasts = time.Since(begun)
			} else {
				killed++
			}
			if dialect != "sqlite" && round < rounds-1 { // its lock expires by itself, in 10 s
				_, _ = rows(t, url).ExecContext(t.Context(), `UPDATE goose_lock SET locked = false`)
			}
			p.migrateUp()
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
			p.ok("audit")
			require.NotContains(t, p.run("doctor").stdout, "tables")
		}
		t.Logf("%d of %d were killed; a whole one lasts %s", killed, rounds, lasts)
		require.Positive(t, killed)
	})
}

// TestMigrateKilledWithLock: the next migration waits for the lock of a killed
// migration, reports that, and continues.
func TestMigrateKilledWithLock(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.Migrated(t, dialect)
			old := spring(t, url)
			next := on(t, url)
			next.schema = "additive"
			db := rows(t, url)
			reader, err := db.BeginTx(t.Context(), nil) // makes the migration wait
			require.NoError(t, err)
			var n int
			require.NoError(t, reader.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM pools`).Scan(&n))
			up := next.command("migrate", "up")
			require.NoError(t, up.Start())
			require.Eventually(t, func() bool {
				return db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM goose_lock WHERE locked`).Scan(&n) == nil && n == 1
			}, commandMax, 20*time.Millisecond)
			require.NoError(t, up.Process.Kill())
			require.Error(t, up.Wait())
			require.NoError(t, reader.Rollback())

			o := next.run("migrate", "up")
			require.Equal(t, exitOK, o.code, o.message)
			require.Equal(t, next.standsAt(next.knows(), "up to date"), o.stdout)
			require.Contains(t, o.stderr, "waiting for another process that migrates this database; if it was killed, its lock expires")
			require.Contains(t, o.stderr, fmt.Sprintf("-%d-", up.Process.Pid))
			old.ok("audit")
		})
	}
}
