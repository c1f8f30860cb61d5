package urn

import (
	"slices"
	"time"

	"drawsvc/internal/draw"
)

// none is the place of no prize: nothing was drawn.
const none = -1

// terms are rules with the places of their prizes in one urn.
type terms struct {
	*draw.Rules
	// counted are the kinds of turns that the rules count.
	counted   []draw.Counted
	fallback  int
	guarantee int
	// miss is the index of [CountedMiss] among what is counted, none without a
	// guarantee.
	miss   int
	limits []placedLimit
	// places are those of the prizes of fixed odds, shareAt their shares and shares
	// the running sums, in the same order.
	places  []int
	shareAt []int64
	shares  fenwick
	// share is the sum of shares.
	share int64
	// prizes is how many the urn had when the terms were made.
	prizes int
}

// placedLimit is a limit with the place of its prize, none where it has none,
// and the index of what it counts.
type placedLimit struct {
	draw.Limit
	place, counted int
}

// Spending is the value that was issued under rules with a budget in the window
// that starts at From, in cents. It is written with the plan that makes it.
type Spending struct {
	From  time.Time
	Cents int64
}

// in is what was spent in the window that holds at: nothing yet in a new one.
func (s Spending) in(b *draw.Budget, at time.Time, zone *time.Location) Spending {
	if start := b.Per.Start(at, zone); s.From.Before(start) {
		return Spending{From: start}
	}
	return s
}

// rules are those in force, nil for none.
func (u *Urn) rules() *draw.Rules {
	if u.terms == nil {
		return nil
	}
	return u.terms.Rules
}

// Rules are those in force, nil for none, or where nothing is cached.
func (u *Urn) Rules() *draw.Rules { return u.rules() }

// setTerms puts rules in force. Rules that are in force already are left alone
// unless there are new prizes.
func (u *Urn) setTerms(r *draw.Rules) {
	if r == nil {
		u.terms = nil
		return
	}
	if u.terms != nil && u.terms.Rules == r && u.terms.prizes == len(u.prizes) {
		return
	}
	t := &terms{Rules: r, counted: r.Counted(), fallback: u.placeOf(r.Fallback), guarantee: none, miss: none, prizes: len(u.prizes)}
	if r.Guarantee != nil {
		t.guarantee = u.placeOf(r.Guarantee.PrizeID)
		t.miss = slices.Index(t.counted, draw.CountedMiss)
	}
	for _, l := range r.Limits {
		t.limits = append(t.limits, placedLimit{Limit: l, place: u.placeOf(l.PrizeID), counted: slices.Index(t.counted, l.Counted())})
	}
	if r.Odds != nil {
		t.setOdds(u, r.Odds)
	}
	u.terms = t
}

// setOdds lays the shares out in the order in which the prizes were added.
func (t *terms) setOdds(u *Urn, odds *draw.FixedOdds) {
	for _, p := range odds.Prizes {
		if place := u.placeOf(p.PrizeID); place != none {
			t.places = append(t.places, place)
		}
	}
	slices.Sort(t.places)
	for _, place := range t.places {
		share := odds.ShareOf(u.prizes[place].id)
		t.shareAt = append(t.shareAt, share)
		t.share += share
	}
	t.shares = newFenwick(t.shareAt)
}
