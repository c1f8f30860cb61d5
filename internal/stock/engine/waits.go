package engine

import (
	"sync"
	"time"
)

// Waits adds up how long callers wait. It grows while they do: whoever waits
// until his time is over is counted as well, and at once. A pool that counts
// waits where they end well says nothing of a shortage as long as it lasts. The
// zero value is ready, and safe for concurrent use.
type Waits struct {
	mu sync.Mutex
	// waiting callers were there from since on, ended is what was before.
	waiting int64
	since   time.Time
	ended   time.Duration
}

// Begin says that one more waits.
func (w *Waits) Begin() { w.add(1) }

// End says that one no longer waits.
func (w *Waits) End() { w.add(-1) }

func (w *Waits) add(n int64) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = w.until(now)
	w.since, w.waiting = now, w.waiting+n
}

func (w *Waits) until(now time.Time) time.Duration {
	return w.ended + time.Duration(w.waiting)*max(0, now.Sub(w.since))
}

// Total is the time that all have waited so far, together.
func (w *Waits) Total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until(time.Now())
}
