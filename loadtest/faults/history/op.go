package history

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Kind is what an operation asks for.
type Kind string

// The kinds.
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
	// Prize and Delta are a stock move's.
	Prize string `json:"prize,omitempty"`
	Delta int64  `json:"delta,omitempty"`
	// Call and Return are times since the history began.
	Call   time.Duration `json:"call"`
	Return time.Duration `json:"return"`

	// Status is 0 when no answer came; Sent says whether the service may have
	// seen the request then.
	Status int  `json:"status"`
	Sent   bool `json:"sent"`
	// Code, Outcome and Detail are a problem's.
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
	// Wrong says what is not in order with the form of the answer.
	Wrong string `json:"wrong,omitempty"`
	// Err is why no answer came.
	Err string `json:"err,omitempty"`
}

// name tells what is named by a key from everything else.
func (o *Op) name() string { return string(o.Kind) + " " + o.Pool + " " + o.Key }

// asks is what is asked for under the key.
func (o *Op) asks() string { return fmt.Sprint(o.User, o.Count, o.Prize, o.Delta) }

// Won says that the request was answered 200.
func (o *Op) Won() bool { return o.Status == 200 }

// Unknown says that the request may or may not have happened.
func (o *Op) Unknown() bool {
	switch o.Status {
	case 0:
		return o.Sent
	case 500, 502, 504: // a balancer says 502 of a connection that ended
		return true
	}
	return false
}

// Refused says that a rule refused the request: sent again now, it would be
// refused again.
func (o *Op) Refused() bool { return o.Status >= 400 && o.Status < 500 }

// Busy says that the request was refused for the moment.
func (o *Op) Busy() bool { return o.Status == 503 || o.Status == 0 && !o.Sent }

// Answer names the answer in a word, for counting.
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

// sameAwards says that two answers to one draw name the same units.
func sameAwards(a, b []Award) bool { return slices.Equal(a, b) }
