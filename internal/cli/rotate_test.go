package cli

import (
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// writeSecret replaces a file of a secret atomically, as an operator should.
func writeSecret(tb testing.TB, path string, lines ...string) {
	tb.Helper()
	require.NoError(tb, os.WriteFile(path+".new", []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	require.NoError(tb, os.Rename(path+".new", path))
}

// account is an account of a database whose password changes.
type account struct {
	tb      testing.TB
	db      *sql.DB
	dialect string
	url     *url.URL
	name    string
}

// newAccount creates an account that may do everything in the database of a URL.
func newAccount(tb testing.TB, dialect, databaseURL string) *account {
	tb.Helper()
	u, err := url.Parse(databaseURL)
	require.NoError(tb, err)
	a := &account{tb: tb, db: rows(tb, databaseURL), dialect: dialect, url: u, name: fmt.Sprintf("rotated_%d", time.Now().UnixNano())}
	if dialect == "postgres" {
		a.exec(`CREATE ROLE ` + a.name + ` LOGIN SUPERUSER`)
		return a
	}
	a.exec(`CREATE USER ` + a.name + `@'%'`)
	a.exec(`GRANT ALL ON *.* TO ` + a.name + `@'%'`)
	return a
}

func (a *account) exec(statement string) {
	a.tb.Helper()
	_, err := a.db.ExecContext(a.tb.Context(), statement)
	require.NoError(a.tb, err, statement)
}

// setPassword changes the password, and returns the URL with it.
func (a *account) setPassword(password string) string {
	a.tb.Helper()
	if a.dialect == "postgres" {
		a.exec(`ALTER ROLE ` + a.name + ` PASSWORD '` + password + `'`)
	} else {
		a.exec(`ALTER USER ` + a.name + `@'%' IDENTIFIED BY '` + password + `'`)
	}
	with := *a.url
	with.User = url.UserPassword(a.name, password)
	return with.String()
}

// endSessions ends the sessions of the account, so that every statement needs a new
// connection.
func (a *account) endSessions() {
	a.tb.Helper()
	query, end := `SELECT pid FROM pg_stat_activity WHERE usename = '`+a.name+`'`, `SELECT pg_terminate_backend(%d)`
	if a.dialect == "mysql" {
		query, end = `SELECT id FROM information_schema.processlist WHERE user = '`+a.name+`'`, `KILL %d`
	}
	found, err := a.db.QueryContext(a.tb.Context(), query)
	require.NoError(a.tb, err)
	defer found.Close()
	var ids []int64
	for found.Next() {
		var id int64
		require.NoError(a.tb, found.Scan(&id))
		ids = append(ids, id)
	}
	require.NoError(a.tb, found.Err())
	require.NotEmpty(a.tb, ids, "the service has sessions")
	for _, id := range ids {
		_, _ = a.db.ExecContext(a.tb.Context(), fmt.Sprintf(end, id)) // it may have ended by itself
	}
}

// TestSecretsRotateUnderLoad: the database's password and the tokens of the flags change
// while callers draw, and no draw fails; then every session is ended, and the service
// connects with the new password. The control, a service whose password is in its URL,
// never connects again.
func TestSecretsRotateUnderLoad(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			databaseURL := stocktest.Migrated(t, dialect)
			on(t, databaseURL).ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
			a, dir := newAccount(t, dialect, databaseURL), t.TempDir()
			first := a.setPassword("first-password")
			database, admin, draws := filepath.Join(dir, "database"), filepath.Join(dir, "admin"), filepath.Join(dir, "draws")
			const oldToken, newToken, boss = "the-old-token-of-draws", "the-new-token-of-draws", "the-token-of-admins"
			writeSecret(t, database, first)
			writeSecret(t, admin, boss)
			writeSecret(t, draws, oldToken)
			s := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE_FILE": database}}.
				start("--admin-token-file", admin, "--draw-token-file", draws)
			control := on(t, first).serve("--draw-token", oldToken)
			s.token = boss
			c := startCallers(s.service, oldToken, 4)
			c.more(t, 200, 20)

			const used, kept = "a changed file is used from now on", "a changed file cannot be used"
			second := a.setPassword("second-password")
			s.reload(used, func() { writeSecret(t, database, second) })
			s.reload(used, func() { writeSecret(t, draws, newToken, oldToken) })
			c.more(t, 200, 20)
			token := newToken
			c.turnTo(t, &token)
			s.reload(used, func() { writeSecret(t, draws, newToken) })
			s.reload(kept, func() { writeSecret(t, draws, "short") })
			s.reload(kept, func() { writeSecret(t, database, strings.Replace(second, a.url.Path, "/elsewhere", 1)) })
			s.reload(used, func() { writeSecret(t, database, second) })
			c.more(t, 200, 20)
			c.stop()
			require.Equal(t, map[int]int{200: c.count(200)}, c.answers, "no draw failed")
			status, _, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer "+oldToken)
			require.NoError(t, err)
			require.Equal(t, 401, status)
			s.reload(used, func() { writeSecret(t, admin, "the-next-token-of-admins") })
			s.token = "the-next-token-of-admins"
			s.admin(200, "GET", "/admin/pools", "")

			a.endSessions()
			wins := func(s *service, token string) bool {
				status, _, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer "+token)
				return err == nil && status == 200
			}
			require.Eventually(t, func() bool { return wins(s.service, newToken) }, commandMax, 50*time.Millisecond)
			for range 10 {
				require.False(t, wins(control, oldToken))
				time.Sleep(50 * time.Millisecond)
			}
			// A URL of another database is not used.
			s.reload(kept, func() {
				writeSecret(t, database, strings.NewReplacer(a.url.Path, "/elsewhere", "second-password", "of-elsewhere").Replace(second))
			})
			a.endSessions()
			require.Eventually(t, func() bool { return wins(s.service, newToken) }, commandMax, 50*time.Millisecond)
			code, _ := s.signal(syscall.SIGTERM)
			require.Equal(t, exitOK, code)
			for _, secret := range []string{"first-password", "second-password", oldToken, newToken, boss} {
				require.NotContains(t, s.stderr.String()+s.stdout.String(), secret)
			}
		})
	}
}

// TestSeedIdentitiesAreFollowed: a service begins to draw from a committed pool as soon
// as its file has the identity that unseals the pool's seed. An invalid file changes
// nothing.
func TestSeedIdentitiesAreFollowed(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p, _ := openCommitted(t, stocktest.Migrated(t, dialect))
			other, err := age.GenerateX25519Identity()
			require.NoError(t, err)
			path := filepath.Join(t.TempDir(), "identities")
			writeSecret(t, path, other.String())
			s := p.serve("--seed-identity-file", path)
			for i := range 5 { // the later draws use the pool's cached counts
				status, body, err := s.draw("spring", "u", fmt.Sprint("refused", i))
				require.NoError(t, err)
				require.Equal(t, 503, status)
				require.Contains(t, body, `"code":"seed-unavailable","outcome":"none"`)
			}
			awaitReady(t, s, `"seeds":"unavailable"`, true)
			s.noticed("a changed file is used from now on", func() { writeSecret(t, path, other.String(), stocktest.Identity) })
			awaitReady(t, s, `"seeds":"unavailable"`, false)
			s.won("spring", "u", "first")
			s.noticed("a changed file cannot be used", func() { writeSecret(t, path, "nonsense") })
			s.won("spring", "u", "second")
		})
	}
}
