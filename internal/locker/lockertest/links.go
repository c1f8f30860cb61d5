package lockertest

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"drawsvc/internal/servertest"
)

// links are the proxies between a lock and its servers, one for each server.
type links []*servertest.Proxy

// linked returns the subject with URLs that lead through new links. If the lock's server
// is a file, there are no links.
func (s Subject) linked(tb testing.TB) (Subject, links) {
	tb.Helper()
	var all links
	through := func(location string) string {
		u, err := url.Parse(strings.ReplaceAll(location, ",", "-")) // Go does not parse a URL with several hosts
		if err != nil || u.Host == "" {
			return location
		}
		_, hosts, _ := strings.Cut(location, "://")
		hosts, _, _ = strings.Cut(hosts, "/")
		hosts = hosts[strings.LastIndex(hosts, "@")+1:]
		var others []string
		for _, host := range strings.Split(hosts, ",") {
			p := servertest.StartProxy(tb, host)
			all = append(all, p)
			others = append(others, p.Addr())
		}
		return strings.Replace(location, hosts, strings.Join(others, ","), 1)
	}
	s.Lock, s.Database = through(s.Lock), through(s.Database)
	return s, all
}

func (l links) turns() (n int64) {
	for _, p := range l {
		n += p.Turns()
	}
	return n
}

// each calls do with all links.
func (l links) each(do func(*servertest.Proxy)) {
	for _, p := range l {
		do(p)
	}
}

const (
	// settleTime is the time for waiters to begin to wait. idleTime is the time for which
	// they are then watched before a release. wakeTime is the time for which they are
	// watched after the first one got the lock.
	settleTime = 400 * time.Millisecond
	idleTime   = 300 * time.Millisecond
	wakeTime   = 40 * time.Millisecond
	// pollsMin is the minimum number of requests per second to one server that counts as
	// polling.
	pollsMin = 10
)

// wakeUps measures the requests of waiters: how often they query the lock service while
// nothing happens, and how many of them send a request after a release.
func wakeUps(b *bench) error {
	long := b.Subject
	long.TTL = 20 * time.Second // so that no renewal counts as a wake-up
	var locks []*opened
	var ways []links
	for range waiters {
		s, way := long.linked(b.tb)
		l, err := b.openAs(s, patience)
		if err != nil {
			return err
		}
		locks, ways = append(locks, l), append(ways, way)
		if err := l.WithLock(b.ctx, b.key, nothing); err != nil { // so that it has connected before
			return err
		}
	}
	if len(ways[0]) == 0 {
		return nil // without links there is nothing to measure: all waiters are in one process
	}
	count := func() (all []int64) {
		for _, w := range ways {
			all = append(all, w.turns())
		}
		return all
	}
	const runs = 2
	asked, woken := int64(0), 0
	for range runs {
		var before []int64
		_, err := queued(b, locks, func(served int) error {
			if served < 0 {
				time.Sleep(settleTime)
				idle := count()
				time.Sleep(idleTime)
				before = count()
				for n := range before {
					asked += before[n] - idle[n]
				}
				return nil
			}
			time.Sleep(wakeTime)
			for n, now := range count() {
				if n == served || now > before[n] {
					woken++
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	perSecond := float64(asked) / runs / waiters / float64(len(ways[0])) / idleTime.Seconds()
	b.result.Wakes = perSecond < pollsMin
	b.result.AsksPerSecond, b.result.Waiters = perSecond, waiters
	b.result.WokenPerRelease = float64(woken) / runs
	if b.result.Wakes && slices.Contains([]string{"zookeeper", "etcd", "postgres", "mysql"}, b.Kind) && b.result.WokenPerRelease > 2 {
		return errHerd(b.result.WokenPerRelease)
	}
	return nil
}
