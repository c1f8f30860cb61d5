package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/locker"
	"drawsvc/internal/locker/lockertest"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/report"
)

const (
	// callers is the number of callers that draw at the same time while the speed of
	// external mode is measured, for speedTime after a warm-up of speedWarm.
	callers   = 64
	speedWarm = 500 * time.Millisecond
	speedTime = 2 * time.Second
	loops     = 300

	// lease is longer than any measurement; waitMax is the maximum time that a caller
	// waits for the lock.
	lease   = 10 * time.Second
	waitMax = 2 * time.Second

	pool      = "speed"
	poolStock = 1_000_000
)

// speed is the cost of a lock.
type speed struct {
	// Uncontended is the time of acquire and release, in milliseconds; DrawsPerSecond
	// is the rate of external mode with the given number of Callers.
	Uncontended    float64 `json:",omitzero"`
	DrawsPerSecond float64 `json:",omitzero"`
	Callers        int     `json:",omitzero"`
}

// speeds measures every lock of the registry on every server that it can use, in
// sequence, and passes each result to add. It names servers that are not installed.
func speeds(ctx context.Context, only *regexp.Regexp, out io.Writer, add func(any) error) error {
	return harness.On("locks", func(whole *harness.Site) error {
		for _, subject := range lockertest.Registered(whole) {
			if !only.MatchString(subject.Name()) {
				continue
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var m measured
			skipped, err := harness.Try(subject.Name(), func(s *harness.Site) (err error) {
				m, err = measure(s, subject.On(s, subject.Shared(s)))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", subject.Name(), err)
			}
			if skipped != "" {
				harness.Say(out, "%-28s SKIPPED: %s\n", subject.Name(), skipped)
				continue
			}
			harness.Say(out, "%-28s %.2f ms, %.0f draws/s\n", subject.Name(), m.Uncontended, m.DrawsPerSecond)
			if err := add(m); err != nil {
				return err
			}
		}
		return nil
	})
}

// measure measures an uncontended lock, and draws that are decided under the lock. The
// pool is in the lock's own database, or in PostgreSQL.
func measure(tb testing.TB, s lockertest.Subject) (m measured, err error) {
	m.Lock, m.Server, m.Cores, m.Callers = s.Scheme(), s.Kind, runtime.NumCPU(), callers
	if s.Database == "" {
		s.Database = servertest.Postgres(tb)
	}
	store := stocktest.Open(tb, s.Database, stock.Options{})
	l, err := locker.Open(tb.Context(), s.Lock, locker.Options{TTL: lease, Wait: waitMax, Database: store})
	if err != nil {
		return m, err
	}
	tb.Cleanup(func() { _ = l.Close() })
	began := time.Now()
	for range loops {
		if err := l.WithLock(tb.Context(), pool, func(context.Context, int64) error { return nil }); err != nil {
			return m, err
		}
	}
	m.Uncontended = report.Milliseconds(time.Since(began) / loops)
	m.DrawsPerSecond, err = drawsPerSecond(tb, l, m.Lock, store)
	return m, err
}

// silent is an observer of lockmode and of draw that does nothing.
type silent struct{}

// Attempted implements lockmode.Observer.
func (silent) Attempted(string, string, time.Duration) {}

// DatabaseFailed implements lockmode.Observer.
func (silent) DatabaseFailed(string) {}

// StaleToken implements lockmode.Observer.
func (silent) StaleToken() {}

// Gathered implements group.Observer.
func (silent) Gathered(int, int, time.Duration) {}

// Answered implements group.Observer.
func (silent) Answered(string, string, int) {}

// DoubtSettled implements group.Observer.
func (silent) DoubtSettled(int) {}

func drawsPerSecond(tb testing.TB, l lockmode.Locker, name string, store *stock.Store) (float64, error) {
	stocktest.Pool(tb, store, pool, poolStock)
	issuer, err := lockmode.New(lockmode.Options{
		Store: store, Agendas: store, Observer: silent{}, Log: slog.New(slog.DiscardHandler), Mode: lockmode.External,
		Budget: time.Second, Settle: 3 * time.Second, Locker: l, LockName: name,
	})
	if err != nil {
		return 0, err
	}
	batcher := group.NewBatcher(issuer, silent{}, group.Limits{BatchMax: 512, QueueMax: 4096, Timeout: 5 * time.Second})
	ctx, cancel := context.WithTimeout(tb.Context(), speedWarm+speedTime)
	defer cancel()
	start := time.Now()
	var mu sync.Mutex
	var wg sync.WaitGroup
	draws := 0
	for n := range callers {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, failed := batcher.Draw(context.WithoutCancel(ctx), draw.Request{
					PoolID: pool, UserID: "u", DrawID: fmt.Sprintf("%d-%d", n, i), Count: 1,
				})
				mu.Lock()
				if failed != nil {
					err = failed
				}
				if time.Since(start) > speedWarm {
					draws++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return float64(draws) / (time.Since(start) - speedWarm).Seconds(), err
}
