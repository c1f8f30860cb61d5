package urn

import (
	"cmp"
	"slices"

	"drawsvc/internal/draw"
)

// Moment is a pending winning moment of a pool: its item is done, and no draw has taken
// it.
type Moment struct {
	// Item is its number in the agenda. Done is the version of the move that was written
	// when the item was done.
	Item, Done int64
	PrizeID    string
}

// Taking records that the award of a version takes a moment.
type Taking struct{ Item, Version int64 }

// moments are the pending moments of an urn: one queue for each prize, in the order of
// their first moments. Empty queues are last.
type moments []*momentQueue

// momentQueue holds the moments of the prize at place, in order. The moments before index
// next are taken.
type momentQueue struct {
	place int
	all   []Moment
	next  int
}

// first returns the earliest moment that is pending, nil for none.
func (q *momentQueue) first() *Moment {
	if q.next == len(q.all) {
		return nil
	}
	return &q.all[q.next]
}

// compare orders moments in the order in which draws get them.
func (m *Moment) compare(other *Moment) int {
	switch {
	case m == nil && other == nil:
		return 0
	case m == nil:
		return 1
	case other == nil:
		return -1
	}
	return cmp.Or(cmp.Compare(m.Done, other.Done), cmp.Compare(m.Item, other.Item))
}

func (all moments) sort() {
	slices.SortStableFunc(all, func(a, b *momentQueue) int { return a.first().compare(b.first()) })
}

// of returns the queue of the prize at place, nil for none.
func (all moments) of(place int) *momentQueue {
	for _, q := range all {
		if q.place == place {
			return q
		}
	}
	return nil
}

// move takes the first moment of a prize if by is 1. If by is -1, it puts back the moment
// that was taken last.
func (all moments) move(place, by int) {
	if q := all.of(place); q != nil && q.next+by >= 0 && q.next+by <= len(q.all) {
		q.next += by
		all.sort()
	}
}

// addMoment adds a moment after the others of its prize. It ignores a moment of a prize
// that the urn does not have.
func (u *Urn) addMoment(m Moment) {
	place := u.placeOf(m.PrizeID)
	if place == none {
		return
	}
	q := u.moments.of(place)
	if q == nil {
		q = &momentQueue{place: place}
		u.moments = append(u.moments, q)
	}
	q.all = append(q.all, m)
}

// setMoments replaces the pending moments. all must be in order.
func (u *Urn) setMoments(all []Moment) {
	u.moments = nil
	for _, m := range all {
		u.addMoment(m)
	}
	u.moments.sort()
}

// HasMoments reports whether moments are pending, according to the cached copy.
func (u *Urn) HasMoments() bool { return len(u.moments) > 0 && u.moments[0].first() != nil }

// dueMoment returns the place of the prize that a moment gives to the next unit of a
// player, none if no moment does. It considers only the earliest moment of each prize, in
// order. The first one whose prize has a unit and is not withheld from the player gives
// its prize.
func (p *Plan) dueMoment(counts []*tally) int {
	for _, q := range p.urn.moments {
		if q.first() == nil {
			break
		}
		if p.withheld(q.place, counts) == "" {
			return q.place
		}
	}
	return none
}

// takeMoment records that the award of a version takes the first moment of the prize at
// place.
func (p *Plan) takeMoment(place int, version int64) {
	p.Takes = append(p.Takes, Taking{p.urn.moments.of(place).first().Item, version})
	p.urn.moments.move(place, 1)
}

// AddMoment adds a pending moment.
func (r *Run) AddMoment(m Moment) {
	r.urn.addMoment(m)
	r.urn.moments.sort()
}

// HasMoment reports whether a moment of a prize is pending.
func (r *Run) HasMoment(prizeID string) bool {
	q := r.urn.moments.of(r.urn.placeOf(prizeID))
	return q != nil && q.first() != nil
}

// giveMoment applies an award that was redirected for a moment, without checking the
// redirect. It returns the item of the moment, 0 if no moment of the prize was pending.
func (r *Run) giveMoment(a *draw.Award, place int) (item int64) {
	if a.Redirect == nil || a.Redirect.Why != draw.WhyMoment {
		return 0
	}
	if q := r.urn.moments.of(place); q != nil && q.first() != nil {
		item = q.first().Item
		r.urn.moments.move(place, 1)
	}
	return item
}
