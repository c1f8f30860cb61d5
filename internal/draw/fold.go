package draw

import (
	"fmt"
	"iter"
)

// The rules that a fold checks.
const (
	RuleRedirectUnlawful = "redirect-unlawful"
	RuleGuaranteeMissed  = "guarantee-missed"
	RuleOutsideUrn       = "outside-urn"
	RuleBlankValue       = "blank-value"
	RuleLimitPassed      = "limit-passed"
	RuleRulesUnknown     = "rules-unknown"
)

// Fold checks a pool's log, entry by entry, by the code that decides draws:
// given what was drawn, every award and every redirect must be what the rules in
// force make of it. Its memory is, per user and kind of turns, as many turns as
// a limit may count.
type Fold struct{ *walk }

// NewFold begins a fold before the first entry. Of the pool's prizes it uses what
// never changes once a unit is issued. documents are all rules that the log puts
// in force, in any order; a limit that comes later counts turns from before.
func NewFold(poolID string, prizes []Prize, documents []*Rules) *Fold {
	u := NewUrn(poolID)
	for _, p := range prizes {
		p.Issued = 0
		if !p.IsEndless() {
			p.Stocked = 0
		}
		u.put(p)
	}
	f := &Fold{walk: newWalk(u)}
	for _, r := range documents {
		f.expect(r)
	}
	return f
}

// RulesBody is the body of a change of rules, nil for rules that are removed.
func RulesBody(r *Rules) string {
	if r == nil {
		return `{"rules":null}`
	}
	return `{"rules":` + r.Document() + `}`
}

// Add checks the next entry of the log and takes it in. What it finds names the
// entry's version.
func (f *Fold) Add(e Entry) []Violation {
	defer func() { f.urn.Version, f.urn.At = e.Version(), e.At() }()
	switch {
	case e.Award != nil:
		return f.award(e.Award)
	case e.Move != nil:
		f.move(e.Move)
	case e.Change != nil:
		return f.change(e.Change)
	}
	return nil
}

func (f *Fold) move(m *Move) {
	place := f.urn.placeOf(m.PrizeID)
	if place == none || f.urn.prizes[place].endless {
		return
	}
	p := &f.urn.prizes[place]
	delta := m.Stocked - p.stocked
	p.stocked += delta
	f.urn.stocked += delta
	f.urn.units.add(place, delta)
	f.urn.remaining += delta
}

func (f *Fold) change(c *Change) []Violation {
	r, set, err := RulesOf(c)
	if err != nil {
		return found(RuleRulesUnknown, c.Version, "%v", err)
	}
	if set {
		f.setRules(r, c.At)
	}
	return nil
}

func (f *Fold) award(a *Award) []Violation {
	place := f.urn.placeOf(a.PrizeID)
	if place == none {
		return found(RuleOutsideUrn, a.Version, "prize %q is none of the pool", a.PrizeID)
	}
	f.begin(a.Player(), a.At)
	var violations []Violation
	if f.urn.prizes[place].blank && !a.Value.IsZero() {
		violations = found(RuleBlankValue, a.Version, "the blank %q is worth %s", a.PrizeID, a.Value)
	}
	if f.urn.terms == nil {
		violations = append(violations, f.withoutRules(a, place)...)
	} else {
		counts, err := f.plan.countsOf(a.Player())
		if err != nil {
			return found(RuleRulesUnknown, a.Version, "%v", err) // unreachable: begin knows every player
		}
		violations = append(violations, f.underRules(a, place, counts)...)
		f.plan.count(a.Version, counts, place)
	}
	f.urn.move(place, 1)
	f.settle()
	return violations
}

// LastTurns are the last turns of each subject and kind that the rules counted so
// far, in no order. Only Subject, Counted and Seq are set.
func (f *Fold) LastTurns() iter.Seq[Turn] {
	return func(yield func(Turn) bool) {
		for of, t := range f.facts.turns {
			if t.last > 0 && !yield(Turn{Subject: of.subject, Counted: of.counted, Seq: t.last}) {
				return
			}
		}
	}
}

func (f *Fold) withoutRules(a *Award, place int) []Violation {
	switch {
	case f.urn.prizes[place].endless:
		return found(RuleOutsideUrn, a.Version, "the endless blank %q, and no rules in force", a.PrizeID)
	case a.Redirect != nil:
		return found(RuleRedirectUnlawful, a.Version, "redirected for %q, and no rules in force", a.Redirect.Why)
	}
	return nil
}

// underRules compares an award with what the rules make of what was drawn.
func (f *Fold) underRules(a *Award, place int, counts []*tally) []Violation {
	t := f.urn.terms
	if f.urn.prizes[place].endless && place != t.fallback {
		return found(RuleOutsideUrn, a.Version, "the endless blank %q is not the fallback", a.PrizeID)
	}
	if l := f.passed(place, counts); l != nil {
		return found(RuleLimitPassed, a.Version, "beyond %d %s", l.Max, l.Counted())
	}
	drawn, lawful := f.drawnOf(a, place)
	if !lawful {
		return found(RuleOutsideUrn, a.Version, "the urn cannot have given what became %q", a.PrizeID)
	}
	want, why := f.plan.outcome(drawn, counts)
	recorded := Why("")
	if a.Redirect != nil {
		recorded = a.Redirect.Why
	}
	switch {
	case want == place && why == recorded:
		return nil
	case why == WhyGuarantee && want != place:
		return found(RuleGuaranteeMissed, a.Version, "%q was owed, %q was given", t.Guarantee.PrizeID, a.PrizeID)
	}
	wanted := "nothing"
	if want != none {
		wanted = f.urn.prizes[want].id
	}
	return found(RuleRedirectUnlawful, a.Version, "%q for %q; the rules make it %q for %q", a.PrizeID, recorded, wanted, why)
}

// passed is a limit that the award of the prize at place passes, nil for none.
func (f *Fold) passed(place int, counts []*tally) *Limit {
	t := f.urn.terms
	for i := range t.limits {
		l := &t.limits[i]
		if l.counts(place, &f.urn.prizes[place]) && !counts[l.counted].allows(1, l.Max, f.plan.starts[i]) {
			return &l.Limit
		}
	}
	return nil
}

// drawnOf is the place of what the urn gave for an award, none for nothing, and
// whether the urn could have given it.
func (f *Fold) drawnOf(a *Award, place int) (drawn int, lawful bool) {
	t := f.urn.terms
	drawn = place
	switch {
	case a.Redirect != nil && a.Redirect.Drawn == "", a.Redirect == nil && place == t.fallback:
		drawn = none
	case a.Redirect != nil:
		if drawn = f.urn.placeOf(a.Redirect.Drawn); drawn == none {
			return none, false
		}
	}
	switch {
	case drawn == none && t.Odds != nil:
		return none, t.share < t.Odds.Of
	case drawn == none:
		return none, !t.Win.IsOne() || f.urn.remaining == 0
	case t.Odds != nil:
		return drawn, t.shareOf(drawn) > 0
	}
	return drawn, f.urn.prizes[drawn].weight() > 0
}

func (t *terms) shareOf(place int) int64 {
	for i, p := range t.places {
		if p == place {
			return t.shareAt[i]
		}
	}
	return 0
}

func found(rule string, version int64, format string, args ...any) []Violation {
	return []Violation{{Rule: rule, Detail: fmt.Sprintf("version %d: ", version) + fmt.Sprintf(format, args...)}}
}
