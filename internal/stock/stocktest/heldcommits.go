package stocktest

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// HeldCommits holds back, for a test, the commits of PostgreSQL transactions that insert
// into one table.
type HeldCommits struct {
	t      testing.TB
	beside *sql.DB
	holder *sql.Conn
}

const heldCommitsMax = time.Minute

// HoldCommits holds back the commits of transactions that insert into a table, until
// Release. It uses a deferred trigger that waits for a lock. url must lead to the
// database without a proxy.
func HoldCommits(t testing.TB, url, table string) *HeldCommits {
	t.Helper()
	beside, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, beside.Close()) })
	holder, err := beside.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Close() })
	h := &HeldCommits{t, beside, holder}
	for _, statement := range []string{
		`SELECT pg_advisory_lock(4711)`,
		`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
			BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON ` + table + ` DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`,
	} {
		h.exec(statement)
	}
	return h
}

func (h *HeldCommits) exec(statement string) {
	h.t.Helper()
	_, err := h.holder.ExecContext(h.t.Context(), statement)
	require.NoError(h.t, err)
}

// Await waits until a counting query returns want.
func (h *HeldCommits) Await(want int, query string, args ...any) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		var n int
		require.NoError(h.t, h.beside.QueryRowContext(h.t.Context(), query, args...).Scan(&n))
		return n == want
	}, heldCommitsMax, time.Millisecond, query)
}

// AwaitHeld waits until a commit is held back.
func (h *HeldCommits) AwaitHeld() {
	h.t.Helper()
	h.Await(1, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`)
}

// Release completes the held commits. Later commits are not held back.
func (h *HeldCommits) Release() {
	h.t.Helper()
	h.exec(`SELECT pg_advisory_unlock(4711)`)
}
