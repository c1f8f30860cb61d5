package conns

import (
	"sync"
	"time"
)

// deadline passes the deadline of a connection's reads or writes on when it is needed:
// at once to those that are waiting, else with the next one. net/http sets seven
// deadlines per request, and one read and one write follow; each costs a timer.
type deadline struct {
	mu sync.Mutex
	// last is the deadline that was set last, and due reports that the connection does
	// not know it yet.
	last time.Time
	due  bool
	// waiting is the number of reads or writes in progress.
	waiting int
}

// set sets the deadline to t; pass passes it to the connection.
func (d *deadline) set(t time.Time, pass func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting > 0 {
		d.due = false
		return pass(t)
	}
	d.last, d.due = t, true
	return nil
}

// begin comes before a read or write, and end after it.
func (d *deadline) begin(pass func(time.Time) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due {
		if err := pass(d.last); err != nil {
			return err
		}
	}
	d.due = false
	d.waiting++
	return nil
}

func (d *deadline) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waiting--
}
