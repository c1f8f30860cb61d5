package locker_test

import (
	"context"
	"errors"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/lockmode/locker"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestServersTimeLimits: what `drawsvc doctor` says of the time limits of a
// server. The idle ones are the locks' own; a limit of statements cuts a wait,
// and one of idle transactions a hold whose renewals come later.
func TestServersTimeLimits(t *testing.T) {
	t.Parallel()
	postgres, mysql := servertest.Postgres(t), servertest.Start(t, "mysql").URL()
	name, err := url.Parse(postgres)
	require.NoError(t, err)
	alter := `ALTER DATABASE ` + name.Path[1:] + ` SET `
	for _, c := range []struct {
		about, url, set, undo, lock string
		waits, lost                 bool
	}{
		{"idle", postgres, alter + `idle_in_transaction_session_timeout = 300`, alter + `idle_in_transaction_session_timeout = 0`, "row:", true, false},
		{"idle", postgres, alter + `idle_session_timeout = 300`, alter + `idle_session_timeout = 0`, "session:", true, false},
		{"statement", postgres, alter + `statement_timeout = 300`, alter + `statement_timeout = 0`, "row:", false, false},
		{"statement", postgres, alter + `statement_timeout = 300`, alter + `statement_timeout = 0`, "session:", false, false},
		{"wait_timeout", mysql, `SET GLOBAL wait_timeout = 1`, `SET GLOBAL wait_timeout = 28800`, "row:", true, false},
		{"wait_timeout", mysql, `SET GLOBAL wait_timeout = 1`, `SET GLOBAL wait_timeout = 28800`, "session:", true, false},
		{"statement", mysql, `SET GLOBAL max_statement_time = 0.3`, `SET GLOBAL max_statement_time = 0`, "row:", false, false},
		{"statement", mysql, `SET GLOBAL max_statement_time = 0.3`, `SET GLOBAL max_statement_time = 0`, "session:", true, false},
		{"transaction", mysql, `SET GLOBAL idle_transaction_timeout = 1`, `SET GLOBAL idle_transaction_timeout = 0`, "row:", true, true},
	} {
		t.Run(c.about+" "+c.lock, func(t *testing.T) {
			stranger := stocktest.Open(t, c.url, stock.Options{})
			_, err := stranger.LockDB().ExecContext(t.Context(), c.set)
			require.NoError(t, err)
			defer func() { _, err := stranger.LockDB().ExecContext(t.Context(), c.undo); require.NoError(t, err) }()
			open := func(wait time.Duration) locker.Lock {
				l, err := locker.Open(t.Context(), c.lock, locker.Options{TTL: 6 * time.Second, Wait: wait, Database: stocktest.Open(t, c.url, stock.Options{})})
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, l.Close()) })
				return l
			}
			holder, waiter := open(time.Second), open(700*time.Millisecond)
			lost := errors.New("lost")
			err = holder.WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
				got := draw.CodeOf(waiter.WithLock(ctx, "k", func(context.Context, int64) error { return nil }))
				want := draw.CodeLockUnavailable
				if c.waits {
					want = draw.CodeContended
				}
				require.Equal(t, want, got)
				select {
				case <-ctx.Done():
					return lost
				case <-time.After(2500 * time.Millisecond): // past the first renewal
					return nil
				}
			})
			require.Equal(t, c.lost, errors.Is(err, lost), "%v", err)
		})
	}
}
