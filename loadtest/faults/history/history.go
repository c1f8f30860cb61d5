package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"
)

// History is what clients saw, in the order in which their requests ended. It
// is only appended to, and safe for concurrent use.
type History struct {
	begin time.Time
	mu    sync.Mutex
	ops   []Op
}

// New begins a history.
func New() *History { return &History{begin: time.Now()} }

// Now is the time since the history began.
func (h *History) Now() time.Duration { return time.Since(h.begin) }

// Time is the time of day of a moment in the history.
func (h *History) Time(d time.Duration) time.Time { return h.begin.Add(d) }

// Add writes an operation down.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Len is the number of operations so far.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ops)
}

// Ops returns the operations so far. The slice is not written to any more.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ops[:len(h.ops):len(h.ops)]
}

// Doubtful returns one operation for each key of which some answer was unknown
// or missing, and which has no clear answer to a request made since then.
func (h *History) Doubtful(since time.Duration) []Op {
	var order []string
	clear, doubtful := map[string]bool{}, map[string]Op{}
	for _, o := range h.Ops() {
		name := o.name()
		if _, known := doubtful[name]; o.Unknown() && !known {
			doubtful[name] = o
			order = append(order, name)
		}
		clear[name] = clear[name] || o.Call >= since && (o.Won() || o.Refused())
	}
	var open []Op
	for _, name := range order {
		if !clear[name] {
			open = append(open, doubtful[name])
		}
	}
	return open
}

// Write writes the operations to a file, a JSON object on each line.
func (h *History) Write(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	lines := json.NewEncoder(w)
	for _, o := range h.Ops() {
		if err = lines.Encode(o); err != nil {
			break
		}
	}
	return errors.Join(err, w.Flush(), f.Close())
}
