package locker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestSilentQuestionEndsWithItsConnection: if the response to a statement is lost, the
// statement may have got the lock. This holds whether or not it was interrupted. The
// connection's link is silent, so the server does not notice that the connection was
// closed either.
func TestSilentQuestionEndsWithItsConnection(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			o := Options{TTL: time.Minute, Database: stocktest.Open(t, url, stock.Options{})}
			opened, err := openSession("", o)
			require.NoError(t, err)
			s := opened.(*session)
			require.NoError(t, o.Database.LockDB().PingContext(t.Context()))

			proxy := servertest.StartProxy(t, url)
			conn, err := stocktest.Open(t, proxy.URL(), stock.Options{}).LockDB().Conn(t.Context())
			require.NoError(t, err)
			p := &pinned{Conn: conn, board: s.board}
			p.id, err = s.board.sql.Prepare(t.Context(), conn, o.TTL, time.Minute)
			require.NoError(t, err)
			s.board.slots <- struct{}{}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err = p.wait(ctx, time.Now().Add(time.Minute), func(ctx context.Context) error {
				granted, err := s.ask(ctx, p, s.sql.Name("k"), time.Minute)
				if !granted || err != nil {
					return errors.Join(err, errBusy)
				}
				proxy.Hold()
				cancel()
				_, err = p.askYesNo(ctx, s.sql.Mine, s.sql.Name("k")) // as if the grant had been lost
				return err
			})
			require.ErrorIs(t, err, context.Canceled)

			next, err := s.acquire(t.Context(), "k", time.Now().Add(20*time.Second))
			require.NoError(t, err, "the server has ended the session")
			require.NoError(t, next.release(t.Context()))
			proxy.Pass()
		})
	}
}

// TestLateQuestionEndsItsSession: this process is paused until the time limit of a
// statement is over, so the driver does not send the statement. The session's lock is
// freed nevertheless, and the session is not used again.
func TestLateQuestionEndsItsSession(t *testing.T) {
	for _, dialect := range []string{"postgres", "mysql"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			opened, err := openSession("", Options{TTL: time.Minute, Database: stocktest.New(t, dialect)})
			require.NoError(t, err)
			s := opened.(*session)
			p, err := s.board.pin(t.Context(), time.Now().Add(time.Minute))
			require.NoError(t, err)
			granted, err := s.ask(t.Context(), p, s.sql.Name("k"), time.Minute)
			require.NoError(t, err)
			require.True(t, granted)
			late, cancel := context.WithCancel(t.Context())
			cancel()
			_, err = p.ExecContext(late, s.board.sql.Undo)
			require.Error(t, err)
			p.discard()

			next, err := s.acquire(t.Context(), "k", time.Now().Add(20*time.Second))
			require.NoError(t, err)
			require.NoError(t, next.release(t.Context()))
			other, err := s.board.pin(t.Context(), time.Now().Add(time.Minute))
			require.NoError(t, err)
			id := other.id
			require.NoError(t, other.back(t.Context()))
			require.NotEqual(t, p.id, id)
		})
	}
}
