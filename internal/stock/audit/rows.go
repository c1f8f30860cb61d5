package audit

import (
	"encoding/json"
	"fmt"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
)

// The rules of an audit about the rows.
const (
	ruleOverIssued      = "over-issued"       // no prize has more awards, or a higher issued count, than units in stock
	ruleIssuedIsAwards  = "issued-is-awards"  // the issued count of a prize is the number of its awards
	ruleStockedIsMoves  = "stocked-is-moves"  // the stocked count of a prize is the sum of its moves
	ruleUnitsCountUp    = "units-count-up"    // the units of a prize's awards are 1, 2, 3 … in the order of versions
	ruleVersionDouble   = "version-double"    // each version has one entry
	ruleVersionGap      = "version-gap"       // the versions are 1 to the pool's version, without gaps
	rulePrizeUnknown    = "prize-unknown"     // each entry belongs to a prize of the pool
	ruleTimeBackwards   = "time-backwards"    // from the first change on, times do not decrease
	ruleDrewWhileClosed = "drew-while-closed" // awards are made only while the pool is open
	ruleStateIsChanges  = "state-is-changes"  // a pool's state is the one that its changes set last
	ruleTurnGap         = "turn-gap"          // the turns of a user and kind are 1, 2, 3 … at rising versions
	ruleTurnStray       = "turn-stray"        // a turn belongs to an award of its user, has its time, and counts the misses up to it
	ruleTurnMissing     = "turn-missing"      // the last turns of a user are the ones that follow from the log
	ruleSpentIsAwards   = "spent-is-awards"   // the spent amount of a budget is the value of the awards
	ruleBudgetPassed    = "budget-passed"     // no award exceeds the budget at its time
	ruleDrawWhole       = "draw-whole"        // a draw has ordinals 1, 2, 3 … at consecutive versions, for one user
)

// rowAuditor checks a pool's history, entry by entry.
type rowAuditor struct {
	all   []*auditedPrize
	byID  map[string]*auditedPrize
	found findings
	// version is the highest version so far, and kind is the kind of the entry with that
	// version.
	version int64
	kind    string
	// award is the last award so far. at is the time of the last entry.
	award draw.Award
	at    time.Time
	// ruled means that there was a change. state is the state that the last change of
	// state set, "" for none.
	ruled bool
	state draw.State
	// rules is the version of the rules that are in force after the changes, 0 for none.
	rules int64
}

// auditedPrize holds a prize's counters, and the same numbers computed from its history.
type auditedPrize struct {
	id              string
	kind            draw.Kind
	cents           int64 // its value in cents
	stocked, issued int64
	moved, awards   int64
	// unit is the unit of the prize's last award. skips counts the awards whose unit is
	// not the next one, and firstSkip describes the first of them.
	unit, skips int64
	firstSkip   string
}

func newRowAuditor(prizes []*auditedPrize) *rowAuditor {
	a := &rowAuditor{all: prizes, byID: make(map[string]*auditedPrize, len(prizes))}
	for _, p := range prizes {
		a.byID[p.id] = p
	}
	return a
}

// take checks the next entry.
func (a *rowAuditor) take(e draw.Entry) {
	kind := kindOf(e)
	a.follow(kind, e.Version())
	a.rises(kind, e)
	switch {
	case e.Change != nil:
		a.changed(e.Change)
	case e.Move != nil:
		if p := a.prize(kind, e.Move.Version, e.Move.PrizeID); p != nil {
			p.moved += e.Move.Delta
		}
	default:
		a.awarded(e.Award)
	}
}

func kindOf(e draw.Entry) string {
	switch {
	case e.Change != nil:
		return "change"
	case e.Move != nil:
		return "move"
	}
	return "award"
}

// rises checks that times do not decrease. It does not check entries before the first
// change: they may come from binaries of an earlier schema, which used the clocks of
// their machines.
func (a *rowAuditor) rises(kind string, e draw.Entry) {
	if at := e.At(); a.ruled && at.Before(a.at) {
		a.found.add(ruleTimeBackwards, "the %s of version %d is of %s, the entry before it of %s",
			kind, e.Version(), at.Format(draw.TimeFormat), a.at.Format(draw.TimeFormat))
	}
	a.at = e.At()
}

// changed records the state or the rules that a change has set.
func (a *rowAuditor) changed(c *draw.Change) {
	a.ruled = true
	var body struct {
		State draw.State
		Rules *struct{}
	}
	_ = json.Unmarshal([]byte(c.Body), &body) // a damaged body changes nothing
	switch c.What {
	case draw.WhatCreated, draw.WhatState:
		a.state = body.State
	case draw.WhatRules:
		if a.rules = 0; body.Rules != nil {
			a.rules = c.Version
		}
	default:
	}
}

func (a *rowAuditor) awarded(w *draw.Award) {
	if a.state != "" && a.state != draw.StateOpen {
		a.found.add(ruleDrewWhileClosed, "the award of version %d was made while the pool was %s", w.Version, a.state)
	}
	a.continues(w)
	if p := a.prize("award", w.Version, w.PrizeID); p != nil {
		p.take(w)
	}
	a.award = *w
}

// follow checks that a version is the next one.
func (a *rowAuditor) follow(kind string, version int64) {
	switch {
	case version < 1:
		a.found.add(ruleVersionGap, "the %s of version %d is before version 1", kind, version)
		return
	case version == a.version:
		a.found.add(ruleVersionDouble, "version %d is there twice, as %s and as %s", version, a.kind, kind)
	default:
		a.missing(version - 1)
	}
	a.version, a.kind = version, kind
}

// missing reports the versions that are missing up to a given version.
func (a *rowAuditor) missing(to int64) {
	switch from := a.version + 1; {
	case from == to:
		a.found.add(ruleVersionGap, "version %d is missing", from)
	case from < to:
		a.found.add(ruleVersionGap, "versions %d to %d are missing", from, to)
	}
}

// continues checks that an award begins a draw or continues the draw of the award before
// it. The schema excludes duplicate ordinals of a draw.
func (a *rowAuditor) continues(w *draw.Award) {
	last := &a.award
	switch {
	case w.DrawID != last.DrawID || w.Version != last.Version+1:
		if w.Ordinal != 1 {
			a.found.add(ruleDrawWhole, "version %d is award %d of its draw, the version before is not its award %d",
				w.Version, w.Ordinal, w.Ordinal-1)
		}
	case w.Ordinal != last.Ordinal+1:
		a.found.add(ruleDrawWhole, "versions %d and %d are awards %d and %d of one draw", last.Version, w.Version, last.Ordinal, w.Ordinal)
	case w.UserID != last.UserID:
		a.found.add(ruleDrawWhole, "versions %d and %d are awards of one draw to different users", last.Version, w.Version)
	}
}

// prize returns the prize of an entry, nil if the pool does not have it.
func (a *rowAuditor) prize(kind string, version int64, id string) *auditedPrize {
	p := a.byID[id]
	if p == nil {
		a.found.add(rulePrizeUnknown, "the %s of version %d is of prize %q, which the pool does not have", kind, version, id)
	}
	return p
}

// take counts an award of the prize.
func (p *auditedPrize) take(w *draw.Award) {
	p.awards++
	if w.Unit != p.unit+1 {
		if p.skips == 0 {
			p.firstSkip = fmt.Sprintf("unit %d behind unit %d at version %d", w.Unit, p.unit, w.Version)
		}
		p.skips++
	}
	p.unit = w.Unit
}

// end makes the checks that need the whole history, for a pool at the given version.
func (a *rowAuditor) end(version int64) {
	if a.version <= version {
		a.missing(version)
	} else {
		a.found.add(ruleVersionGap, "the pool is at version %d, its last entry is version %d", version, a.version)
	}
	for _, p := range a.all {
		p.check(&a.found)
	}
}

// check compares the prize's counters with the history.
func (p *auditedPrize) check(found *findings) {
	if max(p.awards, p.issued) > p.stocked {
		found.add(ruleOverIssued, "prize %q has %d awards and %d issued, but %d stocked", p.id, p.awards, p.issued, p.stocked)
	}
	if p.awards != p.issued {
		found.add(ruleIssuedIsAwards, "prize %q says %d issued, its awards are %d", p.id, p.issued, p.awards)
	}
	if p.moved != p.stocked {
		found.add(ruleStockedIsMoves, "prize %q says %d stocked, its moves add up to %d", p.id, p.stocked, p.moved)
	}
	if p.kind == draw.KindBlank && p.cents != 0 {
		found.add(fold.RuleBlankValue, "the blank %q is worth %d cents", p.id, p.cents)
	}
	if p.skips > 0 {
		found.add(ruleUnitsCountUp, "prize %q has %s; of its %d awards %d are not the next unit", p.id, p.firstSkip, p.awards, p.skips)
	}
}

// prizes returns the report on each prize.
func (a *rowAuditor) prizes() []draw.PrizeAudit {
	all := make([]draw.PrizeAudit, 0, len(a.all))
	for _, p := range a.all {
		all = append(all, draw.PrizeAudit{
			PrizeID: p.id, IsEndless: (&draw.Prize{Kind: p.kind, Stocked: p.stocked}).IsEndless(), Stocked: p.stocked, Issued: p.issued, Awards: p.awards,
			Remaining: p.stocked - p.issued, OverIssued: max(0, max(p.awards, p.issued)-p.stocked),
		})
	}
	return all
}

// findings collects violations: for each rule the first few, and their number.
type findings struct{ rules []finding }

type finding struct {
	rule    string
	details []string
	more    int64
}

// violationsMax is the maximum number of violations of one rule that a report lists.
// Without it, if every entry of a pool is wrong, the report would be as long as the
// history.
const violationsMax = 20

func (f *findings) add(rule, format string, args ...any) {
	at := -1
	for i := range f.rules {
		if f.rules[i].rule == rule {
			at = i
		}
	}
	if at < 0 {
		f.rules = append(f.rules, finding{rule: rule})
		at = len(f.rules) - 1
	}
	if r := &f.rules[at]; len(r.details) < violationsMax {
		r.details = append(r.details, fmt.Sprintf(format, args...))
	} else {
		r.more++
	}
}

// list returns the violations by rule. For a rule with more violations than are listed,
// it adds how many more there are. found is the total number.
func (f *findings) list() (listed []draw.Violation, found int64) {
	for _, r := range f.rules {
		for _, detail := range r.details {
			listed = append(listed, draw.Violation{Rule: r.rule, Detail: detail})
		}
		if r.more > 0 {
			listed = append(listed, draw.Violation{Rule: r.rule, Detail: fmt.Sprintf("and %d more", r.more)})
		}
		found += int64(len(r.details)) + r.more
	}
	return listed, found
}
