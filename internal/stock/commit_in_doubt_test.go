package stock_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestAnswerToCommitIsCut: a change whose COMMIT arrived and whose response was lost is
// reported as unknown, and not made again. pgx's error says that nothing was sent.
func TestAnswerToCommitIsCut(t *testing.T) {
	t.Parallel()
	url := servertest.Postgres(t)
	link := servertest.StartProxy(t, url)
	s := stocktest.Open(t, link.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)

	beside, err := sql.Open("pgx", url)
	require.NoError(t, err)
	defer beside.Close()
	// A deferred trigger makes COMMIT itself wait, for a lock that a session holds.
	holder, err := beside.Conn(t.Context())
	require.NoError(t, err)
	defer holder.Close()
	hold := func(statement string) {
		_, err := holder.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	hold(`SELECT pg_advisory_lock(4711)`)
	for _, statement := range []string{
		`CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS $$
			BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END $$`,
		`CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON moves DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slow()`,
	} {
		_, err := beside.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}

	done := make(chan error, 1)
	go func() {
		_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "once"}, "test")
		done <- err
	}()
	require.Eventually(t, func() bool {
		var committing int
		require.NoError(t, beside.QueryRowContext(t.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`).Scan(&committing))
		return committing == 1
	}, waitMax, time.Millisecond, "COMMIT is under way")
	link.HoldAnswers()
	hold(`SELECT pg_advisory_unlock(4711)`)
	require.Eventually(t, func() bool {
		var moves int
		require.NoError(t, beside.QueryRowContext(t.Context(), `SELECT count(*) FROM moves WHERE reason = 'once'`).Scan(&moves))
		return moves == 1
	}, waitMax, 10*time.Millisecond)
	link.Cut()
	link.Pass()
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(<-done))
	require.Eventually(t, func() bool { // a repeat would be running
		var busy int
		require.NoError(t, beside.QueryRowContext(t.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&busy))
		return busy == 0
	}, waitMax, tick)
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, int64(15), p.Prizes[0].Stocked)
}
