package stock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestReadNeverMixesTwoStates: two statements read a pool's row and its prizes. If the
// pool changes between the two, a reader without a lock reads it again. It gets one of
// the states that the pool had, never a mixture.
func TestReadNeverMixesTwoStates(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "postgres")
	stocktest.Pool(t, s, "p", 1)
	warm := readUrn(t, s, urn.NewUrn("p")) // prepares the statement, which must not wait later
	require.Equal(t, int64(2), warm.Version)
	holder, err := s.LockDB().Conn(t.Context())
	require.NoError(t, err)
	defer holder.Close()
	holds := func(statements ...string) {
		for _, statement := range statements {
			_, err := holder.ExecContext(t.Context(), statement)
			require.NoError(t, err)
		}
	}
	holds(`BEGIN`, `LOCK TABLE prizes IN ACCESS EXCLUSIVE MODE`)
	read, byHand := make(chan *urn.Urn, 1), make(chan [2]int64, 1)
	go func() { read <- readUrn(t, s, urn.NewUrn("p")) }()
	go func() { byHand <- readByHand(t, s) }()
	require.Eventually(t, func() bool { // both have read the pool's row, and now wait for the table
		var n int
		require.NoError(t, s.LockDB().QueryRowContext(t.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM prizes%'`).Scan(&n))
		return n == 2
	}, waitMax, 10*time.Millisecond)
	stocktest.ExecAll(t, s, []string{`UPDATE pools SET version = version + 1, trail = '', mark = mark + 1 WHERE id = 'p'`})
	holds(`UPDATE prizes SET stocked = 0, changed = changed + 1 WHERE pool_id = 'p'`, `COMMIT`)
	require.Equal(t, [2]int64{2, 0}, <-byHand, "the version before the change, and the stock after it")
	urn := <-read
	require.Equal(t, int64(3), urn.Version, "the state after the change")
	require.Zero(t, urn.Remaining())
}

// readUrn reads the pool into the urn, without a lock.
func readUrn(t *testing.T, s *stock.Store, urn *urn.Urn) *urn.Urn {
	tx, err := s.Read(context.Background(), urn, stock.TxOptions{})
	if err == nil {
		tx.Rollback()
	} else if stock.ClassOf(err) != stock.ClassConflict {
		t.Error(err)
	}
	return urn
}

// readByHand reads a pool's version and its stock by two statements, without a check.
func readByHand(t *testing.T, s *stock.Store) (found [2]int64) {
	conn, err := s.LockDB().Conn(context.Background())
	if err != nil {
		t.Error(err)
		return found
	}
	defer conn.Close()
	for i, query := range []string{`SELECT version FROM pools WHERE id = 'p'`, `SELECT stocked FROM prizes WHERE pool_id = 'p'`} {
		if err := conn.QueryRowContext(context.Background(), query).Scan(&found[i]); err != nil {
			t.Error(err)
		}
	}
	return found
}

// TestReadsAreOfOneState: a pool changes all the time. A reader always finds the stock
// that the pool had at the version: one unit at even versions, and two units at odd
// versions.
func TestReadsAreOfOneState(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 1)
			done := make(chan struct{})
			go func() {
				defer close(done)
				for n := range 300 {
					delta := int64(1 - n%2*2)
					if _, err := s.Stock(context.Background(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: delta, Reason: "turn"}, "test"); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			t.Cleanup(func() { <-done })
			kept, reads := urn.NewUrn("p"), 0
			for ended := false; !ended; reads++ {
				select {
				case <-done:
					ended = true
				default:
				}
				for _, urn := range []*urn.Urn{readUrn(t, s, urn.NewUrn("p")), readUrn(t, s, kept)} {
					if urn.Version > 0 { // otherwise the read was torn twice
						require.Equal(t, 1+urn.Version%2, urn.Remaining(), "version %d", urn.Version)
					}
				}
			}
			t.Logf("%d reads", reads)
		})
	}
}
