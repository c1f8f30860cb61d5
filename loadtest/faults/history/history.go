package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// History holds the requests and answers of clients, in the order in which the requests
// ended. It is only appended to, and safe for concurrent use.
type History struct {
	begin time.Time
	mu    sync.Mutex
	ops   []Op
}

// New begins a history.
func New() *History { return &History{begin: time.Now()} }

// Now returns the time since the history began.
func (h *History) Now() time.Duration { return time.Since(h.begin) }

// Time returns the time of day of a moment in the history.
func (h *History) Time(d time.Duration) time.Time { return h.begin.Add(d) }

// Add records an operation.
func (h *History) Add(o Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ops = append(h.ops, o)
}

// Len returns the number of operations so far.
func (h *History) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.ops)
}

// Ops returns the operations so far. The returned slice is no longer written to.
func (h *History) Ops() []Op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ops[:len(h.ops):len(h.ops)]
}

// Doubtful returns one operation for each key that has an unknown or missing answer,
// and no clear answer to a request made at the given time or later.
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

// Kind is the kind of an operation.
type Kind string

// The kinds of operations.
const (
	Draw  Kind = "draw"
	Stock Kind = "stock"
)

// Award is one unit as an answer to a draw names it.
type Award struct {
	Prize   string `json:"prize"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Unit    int64  `json:"unit"`
	Version int64  `json:"version"`
	At      string `json:"at"`
	// Code is the award's code, "" for none.
	Code string `json:"code,omitempty"`
}

// Op is one request and its answer.
type Op struct {
	Client   int    `json:"client"`
	Instance int    `json:"instance"`
	Kind     Kind   `json:"kind"`
	Pool     string `json:"pool"`
	Key      string `json:"key"`
	User     string `json:"user,omitempty"`
	Count    int    `json:"count,omitempty"`
	// Prize and Delta belong to a stock move.
	Prize string `json:"prize,omitempty"`
	Delta int64  `json:"delta,omitempty"`
	// Call and Return are times since the history began.
	Call   time.Duration `json:"call"`
	Return time.Duration `json:"return"`

	// Status is 0 if no answer came; then Sent reports whether the service may have
	// received the request.
	Status int  `json:"status"`
	Sent   bool `json:"sent"`
	// Code, Outcome and Detail belong to a problem.
	Code     string  `json:"code,omitempty"`
	Outcome  string  `json:"outcome,omitempty"`
	Detail   string  `json:"detail,omitempty"`
	Replayed bool    `json:"replayed,omitempty"`
	Awards   []Award `json:"awards,omitempty"`
	// Receipt is the signed receipt of a draw.
	Receipt json.RawMessage `json:"receipt,omitempty"`
	// Version, Stocked and Issued are the answer to a stock move.
	Version int64 `json:"version,omitempty"`
	Stocked int64 `json:"stocked,omitempty"`
	Issued  int64 `json:"issued,omitempty"`
	// Wrong describes what is wrong with the form of the answer.
	Wrong string `json:"wrong,omitempty"`
	// Err is why no answer came.
	Err string `json:"err,omitempty"`
}

func (o *Op) name() string { return string(o.Kind) + " " + o.Pool + " " + o.Key }

func (o *Op) asks() string { return fmt.Sprint(o.User, o.Count, o.Prize, o.Delta) }

// Won reports whether the request was answered 200.
func (o *Op) Won() bool { return o.Status == 200 }

// Unknown reports whether the answer leaves open if the request was carried out.
func (o *Op) Unknown() bool {
	switch o.Status {
	case 0:
		return o.Sent
	case 500, 502, 504: // a balancer answers 502 if a connection has ended
		return true
	}
	return false
}

// Refused reports whether a rule refused the request: a retry would be refused too.
func (o *Op) Refused() bool { return o.Status >= 400 && o.Status < 500 }

// Busy reports whether the request was refused only temporarily.
func (o *Op) Busy() bool { return o.Status == 503 || o.Status == 0 && !o.Sent }

// Answer describes the answer in a word, for counting.
func (o *Op) Answer() string {
	switch {
	case o.Won() && o.Replayed:
		return "replayed"
	case o.Won():
		return "won"
	case o.Status == 0 && !o.Sent:
		return "no-connection"
	case o.Status == 0:
		return "no-answer"
	}
	return o.Code
}

// String describes the operation in one line.
func (o *Op) String() string {
	what := fmt.Sprintf("%s %s key %s user %s count %d", o.Kind, o.Pool, o.Key, o.User, o.Count)
	if o.Kind == Stock {
		what = fmt.Sprintf("%s %s/%s %+d key %s", o.Kind, o.Pool, o.Prize, o.Delta, o.Key)
	}
	return fmt.Sprintf("%s on instance %d at %v, after %v: %d %s %s%s", what, o.Instance, o.Call.Round(time.Millisecond),
		(o.Return - o.Call).Round(time.Millisecond), o.Status, o.Answer(), o.Outcome, o.Err)
}

func sameAwards(a, b []Award) bool { return slices.Equal(a, b) }
