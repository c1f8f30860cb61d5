package stage

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/redis/go-redis/v9"
	etcd "go.etcd.io/etcd/client/v3"

	"drawsvc/loadtest/place"
)

// goroutinesMore is how many goroutines an idle instance may have in addition to those
// at its start, for connections and recently used pools. A real leak grows with every
// request.
const goroutinesMore = 40

// leftoverMax is the maximum time that something may be left over, in addition to the
// term of a lock whose holder died. The term of the jobs' lock is jobsLockTTL, which is
// longer than [LockTTL] and has no flag.
const (
	leftoverMax = 5 * time.Second
	jobsLockTTL = 10 * time.Second
)

// Leftovers finds things that are left behind in the instances, in the database and in
// the lock service after the time that each of them may take to clear them. It makes
// runs of the catalogue short, because the lock of a run that is under way is not a
// leftover.
func (w *World) Leftovers() (all []error) {
	if w.Source != nil {
		w.Source.isQuick.Store(true)
	}
	for _, left := range []func() error{w.leftInInstances, w.leftInDatabase, w.leftLocks, w.leftInLockService} {
		if err := Within(w.Ctx, leftoverMax+jobsLockTTL, left); err != nil {
			all = append(all, err)
		}
	}
	return all
}

func (w *World) leftInInstances() error {
	if w.Program == Textbook {
		return nil
	}
	for n, i := range w.Instances {
		m := w.Metrics(i)
		if len(m) == 0 {
			return fmt.Errorf("instance %d has no metrics", n)
		}
		if inUse := m["drawsvc_database_connections_in_use"]; inUse > 0 {
			return fmt.Errorf("instance %d has %.0f connections in use", n, inUse)
		}
		if now := m["go_goroutines"]; now > w.calm[n]+goroutinesMore {
			return fmt.Errorf("instance %d has %.0f goroutines, %.0f at its start", n, now, w.calm[n])
		}
	}
	return nil
}

func (w *World) leftInDatabase() error {
	for name, node := range w.everyNode() {
		for _, query := range place.Of(w.Kind).Left {
			n, err := CountOn(w.Ctx, node, query)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if n > 0 {
				return fmt.Errorf("%d are left in %s by %s", n, name, query)
			}
		}
	}
	return nil
}

// leftLocks searches the database's table of locks for leases that still run.
func (w *World) leftLocks() error {
	if w.Program == Textbook {
		return nil
	}
	var key string
	err := w.Base.Admin.QueryRowContext(w.Ctx, `SELECT COALESCE(MIN(key_id), '') FROM locks WHERE expires_at > `+place.Of(w.Kind).Micros).Scan(&key)
	if err == nil && key != "" {
		err = fmt.Errorf("the lease of %q still runs", key)
	}
	return err
}

// leftInLockService searches the lock service for locks that are still held.
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

// silent is a logger that discards everything.
type silent struct{}

// Printf implements zk.Logger.
func (silent) Printf(string, ...any) {}

// zookeeperLocks counts the ephemeral nodes.
func (w *World) zookeeperLocks(addr string) (int, error) {
	conn, _, err := zk.Connect([]string{addr}, 5*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	_, path, _ := strings.Cut(strings.TrimPrefix(w.lockURL, "zookeeper://"), "/")
	return ephemerals(conn, "/"+path)
}

func ephemerals(conn *zk.Conn, path string) (int, error) {
	children, _, err := conn.Children(path)
	if err != nil {
		return 0, err
	}
	found := 0
	for _, child := range children {
		_, stat, err := conn.Get(path + "/" + child)
		if err != nil {
			continue // the lock has just ended
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
