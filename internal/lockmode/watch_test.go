package lockmode_test

import (
	"context"
	"sync"
	"time"

	"drawsvc/internal/group"
)

// watch observes a service: it is the service's Observer, and wraps its Issuer.
type watch struct {
	mu       sync.Mutex
	gathered []int
	answered map[string]int
	modes    map[string]int
	retries  map[string]int
	failures map[string]int
	stale    int
	settled  int
	// issuing, if set, is called when a batch is passed to its mode. The function that it
	// returns is called when the mode returns.
	issuing func(poolID string) (back func())
	// settling, if set, is called when a batch is settled, before its draws are
	// answered.
	settling func()
}

func newWatch() *watch {
	return &watch{answered: map[string]int{}, modes: map[string]int{}, retries: map[string]int{}, failures: map[string]int{}}
}

func (w *watch) Gathered(draws, _ int, _ time.Duration) {
	if w.settling != nil {
		w.settling()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gathered = append(w.gathered, draws)
}

func (w *watch) Answered(_, outcome string, draws int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answered[outcome] += draws
}

func (w *watch) DoubtSettled(draws int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settled += draws
}

func (w *watch) Attempted(mode, reason string, _ time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.modes[mode]++
	if reason != "" {
		w.retries[reason]++
	}
}

func (w *watch) DatabaseFailed(reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures[reason]++
}

func (w *watch) StaleToken() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stale++
}

// in runs check while the counts of the watch cannot change.
func (w *watch) in(check func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	check()
}

// around returns an Issuer that notifies the watch, and then calls issuer.
func (w *watch) around(issuer group.Issuer) group.Issuer { return &watched{issuer, w} }

type watched struct {
	group.Issuer
	watch *watch
}

func (w *watched) Issue(ctx context.Context, b *group.Batch) error {
	if w.watch.issuing != nil {
		defer w.watch.issuing(b.Urn.PoolID)()
	}
	return w.Issuer.Issue(ctx, b)
}

// most returns the highest of some numbers, 0 if there are none.
func most(numbers []int) (n int) {
	for _, m := range numbers {
		n = max(n, m)
	}
	return n
}
