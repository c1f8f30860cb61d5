package engine

import (
	"sync"
	"time"
)

// Waits adds up how long callers wait. The sum grows while they wait, so that a caller
// that times out is counted too, and at once. A pool that counts only completed waits
// hides a shortage while it lasts. The zero value is ready to use, and safe for
// concurrent use.
type Waits struct {
	mu sync.Mutex
	// waiting is the number of callers that have waited from the time since on. ended is
	// the sum of all waits before that time.
	waiting int64
	since   time.Time
	ended   time.Duration
}

// Begin records that one more caller waits.
func (w *Waits) Begin() { w.add(1) }

// End records that one caller no longer waits.
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

// Total returns the time that all callers have waited so far.
func (w *Waits) Total() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.until(time.Now())
}
