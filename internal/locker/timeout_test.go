package locker_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestServersTimeLimits checks what `drawsvc doctor` reports about the time limits of a
// server. The locks themselves set the limits for idle sessions. A limit for statements
// ends a wait early. A limit for idle transactions ends a hold if it is shorter than the
// time to the next renewal.
func TestServersTimeLimits(t *testing.T) {
	t.Parallel()
	type limit struct {
		about, set, undo, lock string
		waits, lost            bool
	}
	for dialect, limits := range map[string][]limit{
		"postgres": {
			{"idle", `idle_in_transaction_session_timeout = 300`, `idle_in_transaction_session_timeout = 0`, "row:", true, false},
			{"idle", `idle_session_timeout = 300`, `idle_session_timeout = 0`, "session:", true, false},
			{"statement", `statement_timeout = 300`, `statement_timeout = 0`, "row:", false, false},
			{"statement", `statement_timeout = 300`, `statement_timeout = 0`, "session:", false, false},
		},
		"mysql": {
			{"wait_timeout", `wait_timeout = 1`, `wait_timeout = 28800`, "row:", true, false},
			{"wait_timeout", `wait_timeout = 1`, `wait_timeout = 28800`, "session:", true, false},
			{"statement", `max_statement_time = 0.3`, `max_statement_time = 0`, "row:", false, false},
			{"statement", `max_statement_time = 0.3`, `max_statement_time = 0`, "session:", true, false},
			{"transaction", `idle_transaction_timeout = 1`, `idle_transaction_timeout = 0`, "row:", true, true},
		},
	} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := servertest.Start(t, dialect).URL() // a private server, because its limits apply to all its users
			words := map[string]string{"postgres": "ALTER DATABASE postgres SET ", "mysql": "SET GLOBAL "}[dialect]
			for _, c := range limits {
				t.Run(c.about+" "+c.lock, func(t *testing.T) {
					execute := func(statement string) {
						_, err := stocktest.Open(t, url, stock.Options{}).LockDB().ExecContext(t.Context(), words+statement)
						require.NoError(t, err)
					}
					execute(c.set)
					defer execute(c.undo)
					// Only a limit of the server that is shorter than these times ends the wait or the
					// hold.
					wait, hold := 700*time.Millisecond, 2500*time.Millisecond // past the first renewal
					if !c.waits {
						wait = time.Minute
					}
					if c.lost {
						hold = time.Minute
					}
					waits, lost := underLimit(t, url, c.lock, wait, hold)
					require.Equal(t, c.waits, waits)
					require.Equal(t, c.lost, lost)
				})
			}
		})
	}
}

// underLimit holds a lock for a time, while another session waits for it. waits reports
// whether the full wait took place, lost whether the hold was lost.
func underLimit(t *testing.T, url, lock string, wait, hold time.Duration) (waits, lost bool) {
	open := func(wait time.Duration) locker.Lock {
		l, err := locker.Open(t.Context(), lock, locker.Options{TTL: 6 * time.Second, Wait: wait, Database: stocktest.Open(t, url, stock.Options{})})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	holder, waiter := open(time.Second), open(wait)
	errLost := errors.New("lost")
	err := holder.WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
		code := draw.CodeOf(waiter.WithLock(ctx, "k", func(context.Context, int64) error { return nil }))
		require.Contains(t, []draw.Code{draw.CodeContended, draw.CodeLockUnavailable}, code)
		waits = code == draw.CodeContended
		select {
		case <-ctx.Done():
			return errLost
		case <-time.After(hold):
			return nil
		}
	})
	return waits, errors.Is(err, errLost)
}
