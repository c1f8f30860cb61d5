package urn

import (
	"iter"
	"time"

	"drawsvc/internal/draw"
)

// Verdict compares one award of a log with the decision of the code that decides draws.
type Verdict struct {
	// IsBlank and IsEndless belong to the prize that was given.
	IsBlank, IsEndless bool
	// HasRules reports whether rules are in force. IsFallback and Passed are set only then.
	HasRules bool
	// IsFallback reports whether the prize is the fallback of the rules.
	IsFallback bool
	// Passed is a limit that the award exceeds, nil for none.
	Passed *draw.Limit
	// IsPossible reports whether the urn can have given the drawn unit.
	IsPossible bool
	// PrizeID is the prize that the rules give for the drawn unit, "" for none; Why is
	// the reason for a redirect.
	PrizeID string
	Why     draw.Why
	// Moment is the item of the moment that the award took, 0 for none.
	Moment int64
}

// Judge compares an award with the result that the rules in force give for the drawn
// unit. Then it applies the award. Errors: CodePrizeNotFound for a prize that the urn
// does not have; CodeInternal.
func (r *Run) Judge(a *draw.Award) (v Verdict, err error) {
	place := r.urn.placeOf(a.PrizeID)
	if place == none {
		return v, errNoPrize(a.PrizeID)
	}
	r.begin(a.At)
	prize, t := &r.urn.prizes[place], r.urn.terms
	v.IsBlank, v.IsEndless, v.HasRules = prize.blank, prize.endless, t != nil
	var counts []*tally
	if t != nil {
		if counts, err = r.plan.countsOf(a.Player()); err != nil {
			return v, err // unreachable: the plan of a run has turns for every player
		}
		v.IsFallback = place == t.fallback
		v.Passed = r.passed(place, counts)
	}
	var drawn int
	if drawn, v.IsPossible = r.drawnOf(a, place); v.IsPossible {
		var want int
		if want, v.Why = r.plan.outcome(drawn, counts); want != none {
			v.PrizeID = r.urn.prizes[want].id
		}
	}
	if t != nil {
		r.plan.count(a.Version, counts, place)
	}
	v.Moment = r.giveMoment(a, place)
	r.urn.move(place, 1)
	r.settle()
	return v, nil
}

func errNoPrize(id string) error {
	return draw.Errorf(draw.CodePrizeNotFound, "there is no prize %q", id)
}

// passed returns a limit that the award of the prize at place exceeds, nil for none.
func (r *Run) passed(place int, counts []*tally) *draw.Limit {
	t := r.urn.terms
	for i := range t.limits {
		l := &t.limits[i]
		if l.counts(place, &r.urn.prizes[place]) && !counts[l.counted].allows(1, l.Max, r.plan.starts[i]) {
			return &l.Limit
		}
	}
	return nil
}

// drawnOf returns the place of the prize that the urn gave for an award, none if it
// gave no unit. lawful reports whether the urn could have given it.
func (r *Run) drawnOf(a *draw.Award, place int) (drawn int, lawful bool) {
	t := r.urn.terms
	drawn = place
	switch {
	case a.Redirect != nil && a.Redirect.Drawn == "", a.Redirect == nil && t != nil && place == t.fallback:
		drawn = none
	case a.Redirect != nil:
		if drawn = r.urn.placeOf(a.Redirect.Drawn); drawn == none {
			return none, false
		}
	}
	switch {
	case t == nil && drawn == none:
		return none, false
	case t == nil:
		return drawn, r.urn.prizes[drawn].weight() > 0
	case drawn == none && t.Odds != nil:
		return none, t.share < t.Odds.Of
	case drawn == none:
		return none, !t.Win.IsOne() || r.urn.remaining == 0
	case t.Odds != nil:
		return drawn, t.shareOf(drawn) > 0
	}
	return drawn, r.urn.prizes[drawn].weight() > 0
}

func (t *terms) shareOf(place int) int64 {
	for i, p := range t.places {
		if p == place {
			return t.shareAt[i]
		}
	}
	return 0
}

// LastTurns yields the last turn of each subject and kind that the rules have counted
// so far, in no order. Only Subject, Counted and Seq are set.
func (r *Run) LastTurns() iter.Seq[draw.Turn] {
	return func(yield func(draw.Turn) bool) {
		for of, t := range r.facts.turns {
			if t.last > 0 && !yield(draw.Turn{Subject: of.subject, Counted: of.counted, Seq: t.last}) {
				return
			}
		}
	}
}

// Next returns the award of a version for the ordinal-th unit of a request. The gates
// check the request once, at its first unit; it is assumed to have a ticket. Next does
// not apply the award: [Run.Take] does. Errors: those that refuse the request.
func (r *Run) Next(version int64, q draw.Request, ordinal int, at time.Time) (draw.Award, error) {
	p := r.plan
	r.urn.Version = version - 1
	r.begin(at)
	if r.urn.terms != nil {
		if _, err := p.countsOf(q.Player()); err != nil {
			return draw.Award{}, err
		}
	}
	if ordinal == 1 {
		if err := p.refusal(&Ask{Request: withTicket(q, at)}); err != nil {
			return draw.Award{}, err
		}
	}
	if !r.urn.hasFallback() && r.urn.remaining == 0 {
		return draw.Award{}, draw.ErrorSoldOut(r.urn.PoolID)
	}
	drawn := r.urn.pick(r.urn.numbers(version))
	place, why := p.outcome(drawn, p.players[q.Player()])
	prize := &r.urn.prizes[place]
	return draw.Award{
		Version: version, DrawID: q.DrawID, Ordinal: ordinal, UserID: q.UserID, PrizeID: prize.id, PrizeName: prize.name,
		Value: prize.value, Blank: prize.blank, Unit: prize.issued + 1, At: p.At, Redirect: p.redirect(drawn, why),
	}, nil
}

func withTicket(q draw.Request, at time.Time) draw.Request {
	q.TicketUntil = at.Add(time.Hour)
	return q
}

// Take applies an award without checking how it was decided. Errors: CodePrizeNotFound,
// CodeInternal.
func (r *Run) Take(a *draw.Award) error {
	place := r.urn.placeOf(a.PrizeID)
	if place == none {
		return errNoPrize(a.PrizeID)
	}
	r.urn.Version = a.Version - 1
	r.begin(a.At)
	if r.urn.terms != nil {
		counts, err := r.plan.countsOf(a.Player())
		if err != nil {
			return err
		}
		r.plan.count(a.Version, counts, place)
	}
	r.giveMoment(a, place)
	r.urn.move(place, 1)
	r.settle()
	return nil
}
