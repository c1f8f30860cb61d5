package stock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestAnswerToCommitIsCut: the COMMIT of a change arrives, but its response is lost. The
// change is reported as unknown and not repeated, although pgx's error says that nothing
// was sent.
func TestAnswerToCommitIsCut(t *testing.T) {
	t.Parallel()
	url := servertest.Postgres(t)
	link := servertest.StartProxy(t, url)
	s := stocktest.Open(t, link.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)

	commits := stocktest.HoldCommits(t, url, "moves")
	done := make(chan error, 1)
	go func() {
		_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "once"}, "test")
		done <- err
	}()
	commits.AwaitHeld()
	link.HoldAnswers()
	commits.Release()
	commits.Await(1, `SELECT count(*) FROM moves WHERE reason = 'once'`)
	link.Cut()
	link.Pass()
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(<-done))
	commits.Await(0, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`) // a repeated change would show up by now
	p, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, int64(15), p.Prizes[0].Stocked)
}
