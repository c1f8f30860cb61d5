package proof

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

func isMoment(r *draw.Redirect) bool { return r != nil && r.Why == draw.WhyMoment }

// pend applies the line of a moment, which is pending from then on.
func (v *verifier) pend(l *Line) error {
	if l.Item == 0 {
		return nil
	}
	if p := v.recompute.Prize(l.PrizeID); v.moments[l.Item] || !p.IsWin() {
		return findf(l.Version, RuleMoment, "moment %d was done before, or is of a blank", l.Item)
	}
	if v.moments == nil {
		v.moments = map[int64]bool{}
	}
	v.moments[l.Item] = true
	v.recompute.AddMoment(urn.Moment{Item: l.Item, Done: l.Version, PrizeID: l.PrizeID})
	return nil
}
