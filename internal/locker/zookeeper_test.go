package locker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
)

// anonymous opens a connection to the ZooKeeper server of a URL without a user.
func anonymous(t *testing.T, address string) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect([]string{address}, 10*time.Second, zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// takesAway tries to take a lock away from its holder: it removes the holder's node, and
// changes the node's access list.
func takesAway(t *testing.T, conn *zk.Conn, folder string) (refusals []error) {
	t.Helper()
	keys, _, err := conn.Children(folder)
	if err != nil {
		return []error{err}
	}
	for _, key := range keys {
		nodes, _, err := conn.Children(folder + "/" + key)
		refusals = append(refusals, err)
		for _, node := range nodes {
			refusals = append(refusals, conn.Delete(folder+"/"+key+"/"+node, -1))
		}
	}
	_, err = conn.SetACL(folder, zk.WorldACL(zk.PermAll), -1)
	return append(refusals, err)
}

// TestZooKeeperUser: with a user in the URL, no other user can take a lock away.
// Processes with the same user share the lock. The control is a lock without a user.
func TestZooKeeperUser(t *testing.T) {
	t.Parallel()
	open := func(url string) locker.Lock {
		l, err := locker.Open(t.Context(), url, locker.Options{TTL: time.Minute})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	for user, isSafe := range map[string]bool{"": false, "ann:p%40ss%3Aw%2Frd@": true} {
		url := servertest.ZooKeeper(t)
		address, path, _ := strings.Cut(strings.TrimPrefix(url, "zookeeper://"), "/")
		with := "zookeeper://" + user + address + "/" + path
		conn := anonymous(t, address)
		first, second := open(with), open(with)
		require.NoError(t, first.Ping(t.Context()))
		err := first.WithLock(t.Context(), "k", func(_ context.Context, token int64) error {
			require.Equal(t, draw.CodeContended, draw.CodeOf(second.WithLock(t.Context(), "k", nil)))
			refusals := takesAway(t, conn, "/"+path)
			if isSafe {
				for _, refusal := range refusals {
					require.ErrorIs(t, refusal, zk.ErrNoAuth)
				}
				return nil
			}
			for _, refusal := range refusals {
				require.NoError(t, refusal)
			}
			return second.WithLock(t.Context(), "k", func(_ context.Context, next int64) error {
				require.Greater(t, next, token)
				return nil
			})
		})
		require.NoError(t, err, "while the first still has it, where it is not safe")
		require.NoError(t, second.WithLock(t.Context(), "k", func(context.Context, int64) error { return nil }))
		if isSafe {
			other := open("zookeeper://ann:other@" + address + "/" + path)
			require.ErrorIs(t, other.Ping(t.Context()), zk.ErrNoAuth)
			proxy := servertest.StartProxy(t, "zookeeper://"+address)
			cut := open("zookeeper://" + user + proxy.Addr() + "/" + path)
			require.NoError(t, cut.Ping(t.Context()))
			proxy.Cut()
			proxy.Pass()
			require.Eventually(t, func() bool {
				return cut.WithLock(t.Context(), "k", func(context.Context, int64) error { return nil }) == nil
			}, time.Minute, 10*time.Millisecond, "the user is named again on a further connection")
			continue
		}
		require.ErrorContains(t, open("zookeeper://ann:pass@"+address+"/"+path).Ping(t.Context()), "everybody may change the nodes")
	}
}
