package proof

import (
	"fmt"

	"drawsvc/internal/draw"
)

// award checks the award of a line, and takes it in.
func (v *verifier) award(l *Line) error {
	if err := v.inDraw(l); err != nil {
		return err
	}
	v.last = l
	a := &draw.Award{
		Version: l.Version, DrawID: l.Draw, Ordinal: l.Ordinal, UserID: l.User, PrizeID: l.PrizeID, Unit: l.Unit, At: l.At, Redirect: l.Redirect,
	}
	if v.isCommitted() {
		if err := v.decide(l, a); err != nil {
			return err
		}
	}
	if err := v.recompute.Take(a); err != nil {
		return findf(l.Version, RuleStock, "%s", draw.DetailOf(err))
	}
	return nil
}

// inDraw checks that an award goes on with the draw before it, or begins one of a
// new name.
func (v *verifier) inDraw(l *Line) error {
	if v.isDrawing() {
		before := v.last
		if l.Draw != before.Draw || l.User != before.User || l.Count != before.Count || l.Ordinal != before.Ordinal+1 || !l.At.Equal(before.At) {
			return findf(l.Version, RuleDraw, "the award is not the next of the draw before it")
		}
		return nil
	}
	known, err := v.isKnown(l)
	if known || l.Ordinal != 1 {
		return findf(l.Version, RuleDraw, "the award begins no draw of a name of its own")
	}
	return err
}

// decide decides the award again.
func (v *verifier) decide(l *Line, logged *draw.Award) error {
	if l.Version > v.lastOfAll() {
		return findf(l.Version, RuleReveal, "the commitment has no seed for the version")
	}
	if !v.numbered(l.Version) {
		if v.options.Live {
			return nil
		}
		return findf(l.Version, RuleReveal, "the seed of the version is not revealed")
	}
	q := draw.Request{PoolID: v.commitment.Pool(), UserID: l.User, DrawID: l.Draw, Named: true, Count: l.Count}
	a, err := v.recompute.Next(l.Version, q, l.Ordinal, l.At)
	if err != nil {
		return findf(l.Version, RuleRefused, "%s", draw.DetailOf(err))
	}
	v.recomputed++
	if a.PrizeID != logged.PrizeID || a.Unit != logged.Unit || redirected(a.Redirect) != redirected(logged.Redirect) {
		return findf(l.Version, RuleAward, "the log has unit %d of %s%s, the seed gives unit %d of %s%s",
			logged.Unit, logged.PrizeID, redirected(logged.Redirect), a.Unit, a.PrizeID, redirected(a.Redirect))
	}
	return nil
}

func redirected(r *draw.Redirect) string {
	switch {
	case r == nil:
		return ""
	case r.Drawn == "":
		return fmt.Sprintf(" instead of nothing (%s)", r.Why)
	}
	return fmt.Sprintf(" instead of %s (%s)", r.Drawn, r.Why)
}
