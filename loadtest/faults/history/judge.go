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

// String is the rule and the detail.
func (v Violation) String() string { return v.Rule + ": " + v.Detail }

// The rules.
const (
	AcknowledgedLost = "acknowledged-lost" // an answer 200 that the rows do not hold
	DrawTwice        = "draw-twice"        // a key with other rows than one draw of one user
	AnswersDiffer    = "answers-differ"    // one key, two answers
	NothingHappened  = "nothing-happened"  // rows of a key that was always refused
	Unasked          = "unasked"           // rows of a key that nobody sent
	Unsettled        = "unsettled"         // a doubt that retries did not end
	OverIssued       = "over-issued"       // more awards than stock
	Counters         = "counters"          // a counter that is not the sum of its log
	UnitTwice        = "unit-twice"        // a unit that two awards have
	Versions         = "versions"          // a version that is missing or there twice
	Undocumented     = "undocumented"      // an answer that the contract does not have
	SoldOutUnseen    = "sold-out-unseen"   // sold out said of a pool that never was
	Overdue          = "overdue"           // an answer after its deadline
	KnownRefused     = "known-refused"     // a key that was answered 200, and was refused when it was asked for again
	NotLinear        = "not-linearizable"  // answers that no order of events explains
)

// The rules that this package cannot judge: the client and the experiments do.
const (
	NotRecovered = "not-recovered" // an instance that does not draw again
	LeftOver     = "left-over"     // something that the load left behind
	AuditDiffers = "audit-differs" // an audit that says otherwise than the rows
	EndedBadly   = "ended-badly"   // a program that ends by itself, or not well
	NodesDiffer  = "nodes-differ"  // a node that does not hold what the others hold
	Odds         = "odds"          // awards that contradict the law of a draw
	Fault        = "fault"         // what an experiment itself has to say
)

const perRule = 5

// Verdict collects violations, also from several goroutines at once.
type Verdict struct {
	Violations []Violation
	mu         sync.Mutex
	counts     map[string]int
}

// Say adds a violation. Of one rule only the first few are kept.
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

// Count is how often a rule was broken.
func (v *Verdict) Count(rule string) int { return v.counts[rule] }

// Terms are what the requests of a history had to keep to.
type Terms struct {
	// Deadline is the longest that a request may take, grace included.
	Deadline time.Duration
	// Excused says that an instance was halted by the experiment for some of
	// that time.
	Excused func(instance int, from, to time.Duration) bool
	// Internal allows 500, outcome unknown: a panic was made to happen.
	Internal bool
	// Codes are further codes of answers 503: the experiment causes them.
	Codes []string
	// Settled is when the last round of retries began.
	Settled time.Duration
	// Plenty are pools whose stock never ran low.
	Plenty map[string]bool
}

// Answers judges the form of every answer, and its time.
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

// Again returns the requests that were made when their key had been answered
// 200 before, except those that are not the same request.
func Again(ops []Op) (again []Op) {
	won := map[string]*Op{}
	for i := range ops {
		o := &ops[i]
		if first := won[o.name()]; o.Won() && (first == nil || o.Return < first.Return) {
			won[o.name()] = o
		}
	}
	for _, o := range ops {
		first := won[o.name()]
		if first != nil && o.Call > first.Return && o.asks() == first.asks() {
			again = append(again, o)
		}
	}
	return again
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
