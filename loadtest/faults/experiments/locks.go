package experiments

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// lockFaults are the faults of the lock service of external mode. Whatever the lock
// service does, the guarded write decides.
func lockFaults() []Experiment {
	all := lockedBy("redis", "redis×3", "zookeeper", "etcd")
	redis := lockedBy("redis")
	return []Experiment{
		{Name: "lock service killed", Number: 15, places: all, soaks: true, run: lockKilled},
		{Name: "lock service halted for 4 s", Number: 15, places: all, soaks: true, run: lockHalted},
		{Name: "lock service slow", Number: 15, places: all, soaks: true, run: lockSlow},
		{Name: "link to the lock service cut", Number: 16, places: all, soaks: true, run: lockLinks((*servertest.Proxy).Cut)},
		{Name: "link to the lock service silent for 4 s, sessions expire", Number: 16, places: all, soaks: true, run: lockLinks((*servertest.Proxy).Hold)},
		{Name: "Redis emptied", Number: 15, places: lockedBy("redis", "redis×3"), soaks: true, run: redisEmptied},
		{Name: "Redis failed over to a replica without the lock", Number: 15, places: redis, soaks: true, run: redisFailedOver},
		{Name: "Redis's clock an hour ahead, then back", Number: 15, places: redis, clock: stage.ClockOfLock, run: clockMoved},
		{Name: "one of three lock servers killed, then silent", Number: 15, places: lockedBy("redis×3"), soaks: true, run: oneLockServer},
		{
			Name: "lock holder stopped past its lease", Number: 14, points: true, soaks: true, run: holderStopped,
			places: lockedBy("redis", "redis×3", "zookeeper", "etcd", "row", "session", "table"),
		},
	}
}

// lockedBy returns external mode on PostgreSQL with each of the locks.
func lockedBy(locks ...string) []place {
	var all []place
	for _, lock := range locks {
		all = append(all, place{"postgres", lockmode.External, lock, 2})
	}
	return all
}

// awayFor is longer than the term of a lock, so that every holder loses it.
const awayFor = 2 * stage.LockTTL

// lockKilled ends the whole lock service. Draws are soon refused as lock-unavailable,
// until it is back.
func lockKilled(t *trial) error {
	return t.withoutLocks(func() error { return t.onlyLockedOut(awayFor) })
}

// withoutLocks kills the lock service, and starts it again after fn.
func (t *trial) withoutLocks(fn func() error) error {
	for _, server := range t.LockServers {
		server.Kill()
	}
	err := fn()
	for _, server := range t.LockServers {
		t.Must(server.Start())
	}
	return err
}

func lockHalted(t *trial) error {
	for _, server := range t.LockServers {
		server.Pause()
		defer server.Resume()
	}
	return t.onlyLockedOut(awayFor)
}

func lockSlow(t *trial) error { return t.slow(t.LockServers...) }

// lockLinks breaks the connections to the lock service for longer than a session lives.
func lockLinks(sever func(*servertest.Proxy)) func(*trial) error {
	return func(t *trial) error {
		for _, link := range t.LockLinks {
			sever(link)
			defer link.Pass()
		}
		return t.onlyLockedOut(awayFor)
	}
}

// onlyLockedOut waits until every term has ended. Draws that are answered after that
// must be refused as busy, because there is no lock, and must not end in doubt. The
// check of every answer also finds answers after the deadline.
func (t *trial) onlyLockedOut(d time.Duration) error {
	began := t.History.Now()
	t.Wait(d)
	from, to := began+stage.LockTTL+stage.Grace, t.History.Now()
	refused, slowest := 0, time.Duration(0)
	for _, o := range t.History.Ops() {
		if o.Call < began || o.Return < from || o.Return > to || o.Kind != history.Draw {
			continue
		}
		switch o.Answer() {
		case "lock-unavailable", "contended", "overloaded":
			refused++
			slowest = max(slowest, o.Return-o.Call)
		default:
			t.Verdict.Say(history.Fault, "without a lock service: %s", &o)
		}
	}
	t.Note("%d refused without a lock, the slowest in %v", refused, slowest.Round(time.Millisecond))
	if refused == 0 {
		return errors.New("nobody was answered while the lock service was away")
	}
	return nil
}

// redisEmptied repeatedly deletes the lock while it is held.
func redisEmptied(t *trial) error {
	for range 20 {
		for _, server := range t.LockServers {
			t.tellRedis(server.Addr(), "FLUSHALL")
		}
		t.Sleep(20, 150)
	}
	return nil
}

// redisFailedOver gives the server the state of a lagging replica, several times: as if
// that replica had taken over at the same address.
func redisFailedOver(t *trial) error {
	replica := t.Ground.Server(t.Site, "redis replica").Addr()
	addr := t.LockServers[0].Addr()
	for range 3 {
		t.copyRedis(replica, addr)
		t.Sleep(200, 600) // the writes that the replica misses
		t.copyRedis(addr, replica)
		t.Sleep(100, 300)
	}
	return nil
}

func (t *trial) copyRedis(to, from string) {
	host, port, err := net.SplitHostPort(from)
	t.Must(err)
	t.tellRedis(from, "CONFIG", "SET", "repl-diskless-sync-delay", "0")
	t.tellRedis(to, "REPLICAOF", host, port)
	t.Must(stage.Within(t.Ctx, 5*time.Second, func() error {
		info, err := stage.RedisDo(t.Ctx, to, "INFO", "replication")
		if err != nil || !strings.Contains(info, "master_link_status:up") {
			return fmt.Errorf("no copy: %w %s", err, info)
		}
		return nil
	}))
	t.tellRedis(to, "REPLICAOF", "NO", "ONE")
}

func (t *trial) tellRedis(addr string, args ...any) {
	_, err := stage.RedisDo(t.Ctx, addr, args...)
	t.Must(err)
}

// oneLockServer silences one lock server. The other servers still form a majority, but
// it may take long to get the lock: if contenders split the votes, they must wait for
// the silent server.
func oneLockServer(t *trial) error {
	server := t.LockServers[t.Rand.IntN(len(t.LockServers))]
	for _, away := range []struct {
		leave func()
		back  func() error
	}{
		{server.Kill, server.Start},
		{server.Pause, func() error { server.Resume(); return nil }},
	} {
		away.leave()
		time.Sleep(stage.LockTTL)
		from := t.History.Now()
		time.Sleep(2 * time.Second)
		won := 0
		for _, o := range t.History.Ops() {
			if o.Return >= from && o.Won() {
				won++
			}
		}
		if won == 0 {
			t.Verdict.Say(history.Fault, "nobody was served with a majority of the lock servers")
		}
		t.Must(away.back())
		t.Sleep(100, 300)
	}
	return nil
}

// holderStopped pauses a holder for longer than its lease while another instance draws;
// then the holder continues with its write.
func holderStopped(t *trial) error {
	stale := func() (n float64) {
		for _, i := range t.Instances {
			n += t.Metrics(i)["drawsvc_stale_locks_total"]
		}
		return n
	}
	before := stale()
	for range 2 {
		t.Must(t.Any().HaltAt(fault.BeforeWrite, stage.LockTTL+time.Second))
		t.Sleep(100, 300)
	}
	t.Note("%.0f late writes rejected by the token", stale()-before)
	return nil
}
