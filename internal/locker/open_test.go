package locker_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
	"drawsvc/internal/locker/lockertest"
	"drawsvc/internal/locker/locksql"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// dialect is a database that is never queried.
type dialect struct {
	name string
	db   *sql.DB
}

func (d dialect) LockDB() *sql.DB { return d.db }

func (d dialect) LockStatements() locksql.Statements { return stock.LockStatements(d.name) }

func (d dialect) SharesSessions() bool { return false }

func TestOpenRefuses(t *testing.T) {
	single, err := sql.Open("pgx", "postgres://127.0.0.1:1/none")
	require.NoError(t, err)
	defer single.Close()
	single.SetMaxOpenConns(1)
	for url, db := range map[string]locker.Database{
		"":                                 nil,
		"table":                            nil,
		"lock:":                            nil,
		"table:":                           nil,
		"table:x":                          dialect{"postgres", single},
		"row:":                             dialect{"sqlite", single},
		"session:":                         dialect{"sqlite", single},
		"session:x":                        dialect{"mysql", single},
		"row: ":                            dialect{"postgres", single},
		"redis:":                           nil,
		"redis://":                         nil,
		"redis://user:hunter2@a:1,b:2/0":   nil,
		"redis://user:hunter2@a:1/x":       nil,
		"redis://user:hunter2@a:1,,c:1/0":  nil,
		"redis://user:hun%ter2@a:1/0":      nil,
		"zookeeper:":                       nil,
		"zookeeper://":                     nil,
		"zookeeper://a:1,,b:1/locks":       nil,
		"zookeeper://user@a:1/":            nil,
		"zookeeper://:hunter2@a:1/":        nil,
		"zookeeper://us%3Aer:hunter2@a:1/": nil,
		"zookeeper://user:hun%ter2@a:1/":   nil,
		"zookeeper://user:hunter2@a:1/x@y": nil,
		"etcd://":                          nil,
		"etcd://a:1/path":                  nil,
		"etcd://a.b:x":                     nil,
		"etcd://a:1,:2":                    nil,
		"etcd://user:hunter2@a:1":          nil,
		"Redis://127.0.0.1:1/0":            nil,
		"postgres://user:hunter2@a:1/none": nil,
	} {
		_, err := locker.Open(t.Context(), url, locker.Options{TTL: time.Second, Database: db})
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%q: %v", url, err)
		require.NotContains(t, err.Error(), "hun", "a secret in %q", url)
		require.NotContains(t, err.Error(), "\n", "more than a line about %q", url)
	}
	_, err = locker.Open(t.Context(), "row:", locker.Options{TTL: time.Second, Database: dialect{"postgres", single}})
	require.ErrorContains(t, err, "two connections", "a holder would wait for itself")
	for _, o := range []locker.Options{{}, {TTL: time.Millisecond}, {TTL: time.Second, Wait: -1}} {
		_, err := locker.Open(t.Context(), "etcd://127.0.0.1:1", o)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%+v", o)
	}
}

func TestKeyBounds(t *testing.T) {
	l, err := locker.Open(t.Context(), "redis://127.0.0.1:1/0", locker.Options{TTL: time.Second})
	require.NoError(t, err, "a lock whose server is down opens")
	defer l.Close()
	for _, key := range []string{"", strings.Repeat("k", locker.KeyMax+1)} {
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(l.WithLock(t.Context(), key, nil)))
	}
	require.Equal(t, draw.CodeLockUnavailable, draw.CodeOf(l.WithLock(t.Context(), "k", nil)))
	require.Equal(t, draw.CodeLockUnavailable, draw.CodeOf(l.Ping(t.Context())))
}

// TestClosedLockLeavesNothing: a closed lock leaves no goroutine and no connection.
func TestClosedLockLeavesNothing(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		t.Run(s.Name(), func(t *testing.T) {
			s := s.On(t, s.Shared(t))
			s.TTL = time.Minute // a busy machine must not lose a lease
			leaks := goleak.IgnoreCurrent()
			l, err := lockertest.Open(t.Context(), s, 50*time.Millisecond)
			require.NoError(t, err)
			var _ lockmode.Locker = l
			other, err := lockertest.Open(t.Context(), s, 50*time.Millisecond)
			require.NoError(t, err)
			require.NoError(t, l.Ping(t.Context()))
			require.NoError(t, l.WithLock(t.Context(), "k", func(ctx context.Context, _ int64) error {
				require.Equal(t, draw.CodeContended, draw.CodeOf(other.WithLock(t.Context(), "k", nil)))
				return nil
			}))
			require.NoError(t, l.Close())
			require.NoError(t, other.Close())
			goleak.VerifyNone(t, leaks)
		})
	}
}
