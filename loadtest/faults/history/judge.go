package history

import (
	"fmt"
	"sync"
	"time"
)

// Violation is one broken rule and where it was broken.
type Violation struct {
	Rule   string `json:"rule"`
	Detail string `json:"detail"`
}

// String returns the rule and the detail.
func (v Violation) String() string { return v.Rule + ": " + v.Detail }

// The rules that this package judges.
const (
	AcknowledgedLost = "acknowledged-lost" // an answer 200 whose draw is not in the rows
	DrawTwice        = "draw-twice"        // a key whose rows are not one draw of one user
	AnswersDiffer    = "answers-differ"    // one key with two answers
	NothingHappened  = "nothing-happened"  // rows of a key that was always refused
	Unasked          = "unasked"           // rows of a key that no client sent
	Unsettled        = "unsettled"         // a doubt that retries did not settle
	OverIssued       = "over-issued"       // more awards than stock
	Counters         = "counters"          // a counter that is not the sum of its log
	UnitTwice        = "unit-twice"        // a unit in two awards
	Versions         = "versions"          // a version that is missing or occurs twice
	Undocumented     = "undocumented"      // an answer that the contract does not list
	SoldOutUnseen    = "sold-out-unseen"   // an answer "sold out" from a pool whose stock never ran low
	Overdue          = "overdue"           // an answer after its deadline
	KnownRefused     = "known-refused"     // a key that was answered 200, and refused at a retry
	NotLinear        = "not-linearizable"  // answers that no order of events explains
)

// The rules that this package cannot judge: the client and the experiments judge them.
const (
	NotRecovered = "not-recovered" // an instance that does not draw again
	LeftOver     = "left-over"     // a thing that the load left behind
	AuditDiffers = "audit-differs" // an audit that contradicts the rows
	EndedBadly   = "ended-badly"   // a program that exits by itself, or with an error
	NodesDiffer  = "nodes-differ"  // a node with other rows than the other nodes
	Odds         = "odds"          // awards that contradict the law of a draw
	Fault        = "fault"         // a failure that the experiment itself reports
)

const perRule = 5

// Verdict collects violations; it is safe for concurrent use.
type Verdict struct {
	Violations []Violation
	mu         sync.Mutex
	counts     map[string]int
}

// Say adds a violation. Only the first few of a rule are kept.
func (v *Verdict) Say(rule, format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.counts == nil {
		v.counts = map[string]int{}
	}
	v.counts[rule]++
	if v.counts[rule] <= perRule {
		v.Violations = append(v.Violations, Violation{rule, fmt.Sprintf(format, args...)})
	}
}

// Count returns how often a rule was broken.
func (v *Verdict) Count(rule string) int { return v.counts[rule] }

// Terms are the conditions that the requests of a history had to meet.
type Terms struct {
	// Deadline is the maximum time of a request, grace included.
	Deadline time.Duration
	// Excused reports whether the experiment halted an instance during a part of the
	// time between from and to.
	Excused func(instance int, from, to time.Duration) bool
	// Internal allows 500 with unknown outcome, because the experiment caused a panic.
	Internal bool
	// Codes are further codes of answers 503, which the experiment causes.
	Codes []string
	// Settled is when the last round of retries began.
	Settled time.Duration
	// Plenty are pools whose stock never ran low.
	Plenty map[string]bool
}

// Answers judges the form and the time of every answer.
func Answers(v *Verdict, ops []Op, t Terms) {
	for i := range ops {
		o := &ops[i]
		if o.Wrong != "" {
			v.Say(Undocumented, "%s: %s", o, o.Wrong)
		}
		if o.Status != 0 && !t.documented(o) {
			v.Say(Undocumented, "%s", o)
		}
		if o.Code == "sold-out" && t.Plenty[o.Pool] {
			v.Say(SoldOutUnseen, "%s", o)
		}
		if o.Return-o.Call > t.Deadline && !t.Excused(o.Instance, o.Call, o.Return) {
			v.Say(Overdue, "%s: %v", o, o.Return-o.Call)
		}
	}
	for _, o := range Again(ops) {
		if o.Refused() {
			v.Say(KnownRefused, "%s", &o)
		}
	}
}

// Again returns the requests that IsAgain reports.
func Again(ops []Op) (again []Op) {
	isAgain := IsAgain(ops)
	for _, o := range ops {
		if isAgain(&o) {
			again = append(again, o)
		}
	}
	return again
}

// IsAgain returns a function that reports whether the key of a request had been answered
// 200 before it was made. It is false for a request that differs from the first one.
func IsAgain(ops []Op) func(o *Op) bool {
	won := map[string]*Op{}
	for i := range ops {
		o := &ops[i]
		if first := won[o.name()]; o.Won() && (first == nil || o.Return < first.Return) {
			won[o.name()] = o
		}
	}
	return func(o *Op) bool {
		first := won[o.name()]
		return first != nil && o.Call > first.Return && o.asks() == first.asks()
	}
}

func (t *Terms) documented(o *Op) bool {
	problem := func(outcome string, codes ...string) bool {
		for _, code := range codes {
			if o.Code == code {
				return o.Outcome == outcome || o.Kind == Stock
			}
		}
		return false
	}
	switch o.Status {
	case 200:
		return true
	case 400:
		return problem("none", "invalid-request") || problem("unknown", "invalid-request")
	case 409:
		return problem("none", "sold-out", "pool-not-open", "stock-below-issued", "limit-reached")
	case 422:
		return problem("none", "idempotency-key-reused")
	case 500:
		return t.Internal && problem("unknown", "internal")
	case 503:
		codes := append([]string{"contended", "overloaded", "store-unavailable", "lock-unavailable", "draining"}, t.Codes...)
		return problem("none", codes...) || problem("unknown", codes...)
	case 504:
		return problem("unknown", "outcome-unknown")
	}
	return false
}
