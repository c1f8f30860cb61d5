package http

import (
	"sync"
	"time"
)

// deadline spares a connection's timers: net/http sets four deadlines for
// every request, each a little later than the one before, and next to none is
// ever met. The connection keeps the earliest; when that is over and a later
// one holds by then, it is set again.
type deadline struct {
	mu sync.Mutex
	// want is what was asked for last, set what the connection has; zero
	// is no deadline.
	want, set time.Time
}

// ask notes that t holds from now, and tells the connection if t comes before
// what it knows.
func (d *deadline) ask(t time.Time, tell func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.want = t
	if t.Equal(d.set) || !d.set.IsZero() && (t.IsZero() || t.After(d.set)) {
		return nil
	}
	d.set = t
	return tell(t)
}

// early says that a timeout came before the deadline that holds by now, and
// tells the connection that one.
func (d *deadline) early(tell func(time.Time) error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.want.IsZero() && !time.Now().Before(d.want) {
		return false
	}
	d.set = d.want
	return tell(d.want) == nil
}
