package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	etcd "go.etcd.io/etcd/client/v3"
)

// leftInLockService looks for locks that are still held there.
func (w *World) leftInLockService() error {
	scheme, _, _ := strings.Cut(w.Lock, "×")
	count := map[string]func(addr string) (int, error){"redis": w.redisLocks, "zookeeper": w.zookeeperLocks, "etcd": w.etcdLocks}[scheme]
	if count == nil {
		return nil
	}
	for _, server := range w.LockServers {
		n, err := count(server.Addr())
		if err != nil {
			return fmt.Errorf("the lock service: %w", err)
		}
		if n > 0 {
			return fmt.Errorf("%d locks or places in a queue are left in %s", n, server.Addr())
		}
	}
	return nil
}

func (w *World) redisLocks(addr string) (int, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	keys, err := client.Keys(w.Ctx, "drawsvc:lock:*").Result()
	return len(keys), err
}

func (w *World) etcdLocks(addr string) (int, error) {
	client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: time.Second})
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(w.Ctx, 5*time.Second)
	defer cancel()
	found, err := client.Get(ctx, "drawsvc/lock/", etcd.WithPrefix(), etcd.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return int(found.Count), nil
}

// silent is a log that nobody reads.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}

// zookeeperLocks counts the nodes that live as long as their session.
func (w *World) zookeeperLocks(addr string) (int, error) {
	conn, _, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_, path, _ := strings.Cut(strings.TrimPrefix(w.lockURL, "zookeeper://"), "/")
	return ephemerals(conn, "/"+path)
}

// ephemerals counts the nodes below a path that end with their session.
func ephemerals(conn *zk.Conn, path string) (int, error) {
	children, _, err := conn.Children(path)
	if err != nil {
		return 0, err
	}
	found := 0
	for _, child := range children {
		_, stat, err := conn.Get(path + "/" + child)
		if err != nil {
			continue // it has just ended
		}
		if stat.EphemeralOwner != 0 {
			found++
			continue
		}
		below, err := ephemerals(conn, path+"/"+child)
		if err != nil {
			return 0, err
		}
		found += below
	}
	return found, nil
}
