package stock_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestCommitKeepsToItsTime: if the server does not end a COMMIT, the caller gets an error
// in doubt at its deadline, even on connections that may be silent for long.
func TestCommitKeepsToItsTime(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "mysql") // the test blocks every commit on this server
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, s, "p", 10)
	other, err := s.LockDB().Conn(t.Context())
	require.NoError(t, err)
	defer other.Close()
	for _, stage := range []string{"START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"} {
		_, err := other.ExecContext(t.Context(), "BACKUP STAGE "+stage)
		require.NoError(t, err)
	}
	for limit := 500 * time.Millisecond; limit < waitMax; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		began := time.Now()
		_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "more", Key: "k"}, "test")
		require.Less(t, time.Since(began), limit+30*time.Second, "silence alone would end it after a minute")
		if draw.CodeOf(err) != draw.CodeStoreUnavailable {
			break // otherwise the machine was too busy for the change to reach its COMMIT
		}
	}
	require.Equal(t, draw.CodeOutcomeUnknown, draw.CodeOf(err), err)

	_, err = other.ExecContext(t.Context(), "BACKUP STAGE END")
	require.NoError(t, err)
	require.Eventually(t, func() bool { // the server may still execute the COMMIT
		move, err := s.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 5, Reason: "more", Key: "k"}, "test")
		return err == nil && move.Stocked == 15
	}, waitMax, tick)
}

// TestUnendedTransactionsEndTheirConnection: if a process was paused before its COMMIT,
// the transaction does not end in time, and its connection is closed. Otherwise the next
// BEGIN on the connection would commit the writes so far. The same applies to ROLLBACK.
func TestUnendedTransactionsEndTheirConnection(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "mysql")
	stocktest.Pool(t, s, "p", 10)
	db := s.LockDB()
	db.SetMaxOpenConns(1)
	for limit := 100 * time.Millisecond; !standsStill(t, db, limit); limit *= 2 {
		require.Less(t, limit, waitMax)
	}
	next := func() {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
	}
	next()
	stocktest.NoViolations(t, s, "p")

	kept, err := db.Conn(t.Context())
	require.NoError(t, err)
	for _, statement := range []string{`START TRANSACTION`, aPart} {
		_, err = kept.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, kept.Close())
	next()
	report, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	require.NotEmpty(t, report.Violations, "a connection that is used again is found")
}

// aPart is one of the writes of a draw.
const aPart = `UPDATE prizes SET issued = issued + 1`

// standsStill begins a transaction with a time limit, writes one of two rows that belong
// together, and commits after the limit. It returns false if the limit has passed before
// the write.
func standsStill(t *testing.T, db *sql.DB, limit time.Duration) bool {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	stood := false
	require.NoError(t, conn.Raw(func(c any) error {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		tx, err := c.(driver.ConnBeginTx).BeginTx(ctx, driver.TxOptions{})
		if err != nil {
			return nil
		}
		_, err = c.(driver.ExecerContext).ExecContext(t.Context(), aPart, nil)
		require.NoError(t, err)
		<-ctx.Done()
		require.ErrorIs(t, tx.Commit(), context.DeadlineExceeded)
		stood = true
		return nil
	}))
	return stood
}
