package main

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
func (t *trial) leftInLockService() string {
	scheme, _, _ := strings.Cut(t.lock, "×")
	look := map[string]func(addr string) (int, error){"redis": t.redisLocks, "zookeeper": t.zookeeperLocks, "etcd": t.etcdLocks}[scheme]
	if look == nil {
		return ""
	}
	for _, server := range t.lockServers {
		n, err := look(server.Addr())
		if err != nil {
			return "the lock service: " + err.Error()
		}
		if n > 0 {
			return fmt.Sprintf("%d locks or places in a queue are left in %s", n, server.Addr())
		}
	}
	return ""
}

func (t *trial) redisLocks(addr string) (int, error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	keys, err := client.Keys(t.ctx, "drawsvc:lock:*").Result()
	return len(keys), err
}

func (t *trial) etcdLocks(addr string) (int, error) {
	client, err := etcd.New(etcd.Config{Endpoints: []string{addr}, DialTimeout: time.Second})
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithTimeout(t.ctx, 5*time.Second)
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
func (t *trial) zookeeperLocks(addr string) (int, error) {
	conn, _, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_, path, _ := strings.Cut(strings.TrimPrefix(t.lockURL, "zookeeper://"), "/")
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
			continue // it has just gone
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
