package conns

import (
	"sync"
	"time"
)

// deadline reduces the number of timers that a connection's reads or writes set.
// net/http sets seven deadlines per request, and each costs a timer, although hardly any
// is reached. So the connection gets only the earliest deadline. When that has passed,
// it gets the deadline that was set last, if that is later.
type deadline struct {
	mu sync.Mutex
	// last is the deadline that was set last, and passed is the one that the connection has.
	// The zero time means no deadline.
	last, passed time.Time
}

// set sets the deadline to t, and passes it to the connection, unless that has an earlier
// one.
func (d *deadline) set(t time.Time, pass func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = t
	if t.IsZero() || !d.passed.IsZero() && !t.Before(d.passed) {
		return nil
	}
	d.passed = t
	return pass(t)
}

// renew reports whether a timeout came before the last deadline. Then it passes that
// deadline to the connection, and the read or write must be repeated.
func (d *deadline) renew(pass func(time.Time) error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.last.IsZero() && !time.Now().Before(d.last) {
		return false
	}
	d.passed = d.last
	return pass(d.last) == nil
}
