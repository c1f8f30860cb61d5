package lockertest

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/group"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

const (
	// callers draw at the same time while the speed of external mode is
	// measured, for speedTime after a start of speedWarm.
	callers   = 64
	speedWarm = 500 * time.Millisecond
	speedTime = 2 * time.Second
	loops     = 300
)

// speed measures an uncontended lock, and draws that are decided under it. The
// pool is in the lock's own database, or in PostgreSQL.
func speed(tb testing.TB, b *bench) error {
	b.ctx, b.key = tb.Context(), "speed"
	s := b.Subject
	s.TTL = 10 * time.Second
	if s.Database == "" {
		s.Database = servertest.Postgres(tb)
	}
	store := stocktest.Open(tb, s.Database, stock.Options{})
	l, err := locked(tb, s, store)
	if err != nil {
		return err
	}
	began := time.Now()
	for range loops {
		if err := l.WithLock(b.ctx, b.key, nothing); err != nil {
			return err
		}
	}
	b.result.Uncontended = milliseconds(time.Since(began) / loops)
	b.result.DrawsPerSecond, err = drawsPerSecond(tb, l, s.Scheme(), store)
	b.result.Callers = callers
	return err
}

// silent observes nothing, for lockmode and for draw.
type silent struct{}

// Attempted implements lockmode.Observer.
func (silent) Attempted(string, string, time.Duration) {}

// StaleToken implements lockmode.Observer.
func (silent) StaleToken() {}

// Gathered implements group.Observer.
func (silent) Gathered(int, time.Duration) {}

// Answered implements group.Observer.
func (silent) Answered(string, string, int) {}

// DoubtSettled implements group.Observer.
func (silent) DoubtSettled(int) {}

func drawsPerSecond(tb testing.TB, l lockmode.Locker, name string, store *stock.Store) (float64, error) {
	stocktest.Pool(tb, store, vaultPool, vaultStock)
	issuer, err := lockmode.New(lockmode.Options{
		Store: store, Observer: silent{}, Log: slog.New(slog.DiscardHandler), Mode: lockmode.External,
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
					PoolID: vaultPool, UserID: "u", DrawID: fmt.Sprintf("%d-%d", n, i), Count: 1,
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

// locked opens the subject's lock over a store that is open already.
func locked(tb testing.TB, s Subject, store *stock.Store) (lockmode.Locker, error) {
	l, err := openLock(tb.Context(), s, store, 2*time.Second)
	if err == nil {
		tb.Cleanup(func() { _ = l.Close() })
	}
	return l, err
}
