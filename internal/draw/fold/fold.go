package fold

import (
	"fmt"
	"iter"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// The rules that a fold checks.
const (
	RuleRedirectUnlawful = "redirect-unlawful"
	RuleGuaranteeMissed  = "guarantee-missed"
	RuleOutsideUrn       = "outside-urn"
	RuleBlankValue       = "blank-value"
	RuleLimitPassed      = "limit-passed"
	RuleRulesUnknown     = "rules-unknown"
	RuleMomentMissed     = "moment-missed"
	RuleMomentDouble     = "moment-double"
)

// Fold checks a pool's log, entry by entry, with the code that decides draws. Every award
// and every redirect must follow from the drawn unit and the rules in force. For each
// user and kind of turns, the fold keeps at most as many turns in memory as a limit may
// count.
type Fold struct {
	urn *urn.Urn
	run *urn.Run
	// moments are the moments that became pending in the log. The value is the version of
	// the award that took the moment, 0 for none.
	moments map[int64]int64
}

// New returns a fold before the first entry. Of the pool's prizes it uses only those
// members that never change once a unit is issued. documents are all rules that the log
// puts in force, in any order: they are needed because a later limit counts earlier
// turns.
func New(poolID string, prizes []draw.Prize, documents []*draw.Rules) *Fold {
	u := urn.NewUrn(poolID)
	f := &Fold{urn: u, run: urn.NewRun(u, documents), moments: map[int64]int64{}}
	for _, p := range prizes {
		p.Issued = 0
		if !p.IsEndless() {
			p.Stocked = 0
		}
		f.run.Put(p)
	}
	return f
}

// Add checks the next entry of the log and applies it. Its findings name the entry's
// version.
func (f *Fold) Add(e draw.Entry) []draw.Violation {
	defer func() { f.urn.Version, f.urn.At = e.Version(), e.At() }()
	switch {
	case e.Award != nil:
		return f.award(e.Award)
	case e.Move != nil:
		f.run.SetStock(e.Move.PrizeID, e.Move.Stocked)
		if item := e.Move.Moment(); item != 0 {
			f.moments[item] = 0
			f.run.AddMoment(urn.Moment{Item: item, Done: e.Version(), PrizeID: e.Move.PrizeID})
		}
	case e.Change != nil:
		return f.change(e.Change)
	}
	return nil
}

// Moments returns the moments that became pending in the log. The value is the version of
// the award that took the moment, 0 for a moment that is still pending.
func (f *Fold) Moments() map[int64]int64 { return f.moments }

// LastTurns yields the last turn of each subject and kind that the rules have counted
// so far, in no order. Only Subject, Counted and Seq are set.
func (f *Fold) LastTurns() iter.Seq[draw.Turn] { return f.run.LastTurns() }

func (f *Fold) change(c *draw.Change) []draw.Violation {
	r, set, err := rules.Of(c)
	if err != nil {
		return found(RuleRulesUnknown, c.Version, "%v", err)
	}
	if set {
		f.run.SetRules(r, c.At)
	}
	return nil
}

func (f *Fold) award(a *draw.Award) []draw.Violation {
	v, err := f.run.Judge(a)
	switch {
	case draw.CodeOf(err) == draw.CodePrizeNotFound:
		return found(RuleOutsideUrn, a.Version, "prize %q is none of the pool", a.PrizeID)
	case err != nil:
		return found(RuleRulesUnknown, a.Version, "%v", err)
	}
	if v.Moment != 0 {
		f.moments[v.Moment] = a.Version
	}
	var violations []draw.Violation
	if v.IsBlank && !a.Value.IsZero() {
		violations = found(RuleBlankValue, a.Version, "the blank %q is worth %s", a.PrizeID, a.Value)
	}
	if !v.HasRules {
		return append(violations, withoutRules(a, &v)...)
	}
	return append(violations, underRules(a, &v)...)
}

func withoutRules(a *draw.Award, v *urn.Verdict) []draw.Violation {
	switch {
	case v.IsEndless:
		return found(RuleOutsideUrn, a.Version, "the endless blank %q, and no rules in force", a.PrizeID)
	case a.Redirect != nil && a.Redirect.Why != draw.WhyMoment:
		return found(RuleRedirectUnlawful, a.Version, "redirected for %q, and no rules in force", a.Redirect.Why)
	}
	return ofMoments(a, v)
}

// ofMoments reports an award that took a moment that was not due, or did not take one that
// was due.
func ofMoments(a *draw.Award, v *urn.Verdict) []draw.Violation {
	isGiven := a.Redirect != nil && a.Redirect.Why == draw.WhyMoment
	isDue := v.Why == draw.WhyMoment
	switch {
	case isGiven && v.Moment == 0:
		return found(RuleMomentDouble, a.Version, "%q for a moment, and none of it is pending", a.PrizeID)
	case isGiven && v.IsPossible && (!isDue || v.PrizeID != a.PrizeID):
		return found(RuleRedirectUnlawful, a.Version, "%q for a moment that was not due to this draw", a.PrizeID)
	case isDue && !isGiven:
		return found(RuleMomentMissed, a.Version, "a moment of %q was due, %q was given", v.PrizeID, a.PrizeID)
	case !v.IsPossible && isGiven:
		return found(RuleOutsideUrn, a.Version, "the urn cannot have given what became %q", a.PrizeID)
	}
	return nil
}

// underRules compares an award with the result of the rules for the drawn unit.
func underRules(a *draw.Award, v *urn.Verdict) []draw.Violation {
	recorded := draw.Why("")
	if a.Redirect != nil {
		recorded = a.Redirect.Why
	}
	switch {
	case v.IsEndless && !v.IsFallback:
		return found(RuleOutsideUrn, a.Version, "the endless blank %q is not the fallback", a.PrizeID)
	case v.Passed != nil:
		return found(RuleLimitPassed, a.Version, "beyond %d %s", v.Passed.Max, v.Passed.Counted())
	case !v.IsPossible:
		return found(RuleOutsideUrn, a.Version, "the urn cannot have given what became %q", a.PrizeID)
	case v.Why == draw.WhyMoment || recorded == draw.WhyMoment:
		return ofMoments(a, v)
	case v.PrizeID == a.PrizeID && v.Why == recorded:
		return nil
	case v.Why == draw.WhyGuarantee && v.PrizeID != a.PrizeID:
		return found(RuleGuaranteeMissed, a.Version, "%q was owed, %q was given", v.PrizeID, a.PrizeID)
	}
	wanted := "nothing"
	if v.PrizeID != "" {
		wanted = v.PrizeID
	}
	return found(RuleRedirectUnlawful, a.Version, "%q for %q; the rules make it %q for %q", a.PrizeID, recorded, wanted, v.Why)
}

func found(rule string, version int64, format string, args ...any) []draw.Violation {
	return []draw.Violation{{Rule: rule, Detail: fmt.Sprintf("version %d: ", version) + fmt.Sprintf(format, args...)}}
}
