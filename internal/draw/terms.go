package draw

import (
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
)

// none is the place of no prize: nothing was drawn.
const none = -1

// terms are rules with the places of their prizes in one urn.
type terms struct {
	*Rules
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
	Limit
	place, counted int
}

// Spending is the value that was issued under rules with a budget in the window
// that starts at From, in cents. It is written with the plan that makes it.
type Spending struct {
	From  time.Time
	Cents int64
}

// in is what was spent in the window that holds at: nothing yet in a new one.
func (s Spending) in(b *Budget, at time.Time, zone *time.Location) Spending {
	if start := b.Per.Start(at, zone); s.From.Before(start) {
		return Spending{From: start}
	}
	return s
}

// Cents is a value in cents; values carry two decimals at most.
func Cents(value decimal.Decimal) int64 { return value.Shift(2).IntPart() }

// rules are those in force, nil for none.
func (u *Urn) rules() *Rules {
	if u.terms == nil {
		return nil
	}
	return u.terms.Rules
}

// Rules are those in force, nil for none, or where nothing is cached.
func (u *Urn) Rules() *Rules { return u.rules() }

// setTerms puts rules in force. Rules that are in force already are left alone
// unless there are new prizes.
func (u *Urn) setTerms(r *Rules) {
	if r == nil {
		u.terms = nil
		return
	}
	//double:keeps-rules && u.terms.Rules == r && u.terms.prizes == len(u.prizes) =>
	if u.terms != nil && u.terms.Rules == r && u.terms.prizes == len(u.prizes) {
		return
	}
	t := &terms{Rules: r, fallback: u.placeOf(r.Fallback), guarantee: none, miss: none, prizes: len(u.prizes)}
	if r.Guarantee != nil {
		t.guarantee = u.placeOf(r.Guarantee.PrizeID)
		t.miss = slices.Index(r.counted, CountedMiss)
	}
	for _, l := range r.Limits {
		t.limits = append(t.limits, placedLimit{Limit: l, place: u.placeOf(l.PrizeID), counted: slices.Index(r.counted, l.Counted())})
	}
	if r.Odds != nil {
		t.setOdds(u, r.Odds)
	}
	u.terms = t
}

// setOdds lays the shares out in the order in which the prizes were added.
func (t *terms) setOdds(u *Urn, odds *FixedOdds) {
	for _, p := range odds.Prizes {
		if place := u.placeOf(p.PrizeID); place != none {
			t.places = append(t.places, place)
		}
	}
	slices.Sort(t.places)
	for _, place := range t.places {
		share := odds.shareOf(u.prizes[place].id)
		t.shareAt = append(t.shareAt, share)
		t.share += share
	}
	t.shares = newFenwick(t.shareAt)
}

// shareOf is the share of a prize that the odds name. Shares lie in the order of
// the prizes' ids.
func (o *FixedOdds) shareOf(id string) int64 {
	i, _ := slices.BinarySearchFunc(o.Prizes, id, func(p FixedShare, id string) int { return strings.Compare(p.PrizeID, id) })
	return o.Prizes[i].Share
}

// placeOf is the place of a prize, none for one that the urn does not have.
func (u *Urn) placeOf(id string) int {
	if place, known := u.places[id]; known {
		return place
	}
	return none
}
