package urn

import (
	"time"

	"drawsvc/internal/draw"
)

// IsDueAt says that an item of the pool's agenda is due at a time, so that
// nothing may be planned from the cached copy.
func (u *Urn) IsDueAt(now time.Time) bool {
	return u.due || !u.DueAt.IsZero() && !now.Before(u.DueAt)
}

// IsDue says that the read found an item of the pool's agenda to be due.
func (u *Urn) IsDue() bool { return u.due }

// timeOf is the time of a plan that is made now, and whether an item of the
// agenda comes before it. The time is never before that of the last entry. It
// is before the next item's: where the read found that item not to be due, and
// the estimate of the clock says otherwise, the plan is near the edge. The
// write then asks the clock itself.
func (u *Urn) timeOf(now time.Time) (at time.Time, due, edge bool) {
	if at = now.UTC().Truncate(draw.TimeStep); at.Before(u.At) {
		at = u.At
	}
	switch {
	case u.due:
		return at, true, false
	case u.DueAt.IsZero() || at.Before(u.DueAt):
		return at, false, false
	case !u.At.Before(u.DueAt): // a clock that was set back
		return at, true, false
	}
	return u.DueAt.Add(-draw.TimeStep), false, true
}

// IsDue says that the plan has left draws undecided, because an item of the
// pool's agenda comes first. Such a plan is undone.
func (p *Plan) IsDue() bool { return p.waits }

// wait leaves a draw undecided: the item that is due may move every gate.
func (p *Plan) wait(a *Ask) error {
	p.waits = true
	return draw.Errorf(draw.CodeContended, "an item of the agenda of pool %q is due; nothing happened", a.PoolID)
}

// waitAtEdge has the draws wait that are refused near the edge of an item: a
// refusal is not written, so that no write asks the clock.
func (p *Plan) waitAtEdge() {
	for i := range p.outcomes {
		p.waits = p.waits || p.edge && p.outcomes[i].err != nil
	}
}

// DueIn is how long after the plan the next item of the agenda is due; it is
// false where there is none.
func (p *Plan) DueIn() (time.Duration, bool) {
	due := p.urn.DueAt
	return due.Sub(p.At), !due.IsZero()
}
