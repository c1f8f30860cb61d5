package draw

import (
	"math/big"
	"time"
)

// Law names how a unit is drawn.
type Law string

// The laws: by the units that remain, or by fixed odds.
const (
	LawStock Law = "stock"
	LawFixed Law = "fixed"
)

// Statement is the chances of one draw of one unit, as exact fractions. They and
// None add up to 1.
type Statement struct {
	Version int64
	Law     Law
	// IsDisclosed says that players may read it.
	IsDisclosed bool
	// Win is the chance that the urn is asked.
	Win *big.Rat
	// Odds are of all prizes but endless blanks, in the pool's order.
	Odds []Chance
	// None is the chance of the fallback.
	None *big.Rat
	// Guarantee is nil for rules without one.
	Guarantee *GuaranteeOdds
}

// Chance is the chance that a draw is given a prize.
type Chance struct {
	PrizeID string
	Chance  *big.Rat
}

// GuaranteeOdds is a guarantee with what it does to the share of wins.
type GuaranteeOdds struct {
	Guarantee
	// Rate is the share of wins among many draws of one user, nil where the
	// chance of a win depends on what was drawn before, or where the fraction has
	// more than rateMax bits.
	Rate *big.Rat
}

// rateMax is how long the parts of an exact rate may be, in bits.
const rateMax = 10_000

// Odds states the chances of a user without turns at a time: he has reached no
// limit and missed nothing. A prize without units, or above what is left of the
// budget, has chance 0. The urn must hold a unit, or the rules have a fallback.
func (u *Urn) Odds(at time.Time) Statement {
	p := u.newPlan(nil)
	p.begin(at)
	var counts []*tally
	if u.terms != nil {
		counts = make([]*tally, len(u.terms.counted))
		for i := range counts {
			counts[i] = &tally{turns: &turns{}}
		}
	}
	return p.statement(counts)
}

// OddsOf states the chances of a player's next draw at a time, from the facts that
// [Urn.NeedsOf] names. No number is used. Errors: what would refuse the draw; a
// ticket is taken as given.
func (u *Urn) OddsOf(player Player, facts *Facts, at time.Time) (Statement, error) {
	p := u.newPlan(nil)
	p.facts = facts
	p.begin(at)
	a := &Ask{Request: withTicket(player.request(u.PoolID), p.At)}
	if err := p.refusal(a); err != nil {
		return Statement{}, err
	}
	return p.statement(p.players[player]), nil
}

func (p *Plan) statement(counts []*tally) Statement {
	u := p.urn
	s := Statement{Version: u.Version, Law: LawStock, Win: big.NewRat(1, 1)}
	if t := u.terms; t != nil {
		s.Win, s.IsDisclosed = t.Win.Rat(), t.Disclose
		if t.Odds != nil {
			s.Law = LawFixed
		}
	}
	drawn, nothing := u.drawn()
	given := make([]*big.Rat, len(u.prizes))
	give := func(drawn int, chance *big.Rat) {
		place, _ := p.outcome(drawn, counts)
		if given[place] == nil {
			given[place] = new(big.Rat)
		}
		given[place].Add(given[place], chance)
	}
	for place, chance := range drawn {
		if chance != nil {
			give(place, chance)
		}
	}
	if nothing.Sign() > 0 && u.hasFallback() {
		give(none, nothing)
	}
	s.None = new(big.Rat)
	for i := range u.prizes {
		chance := given[i]
		if chance == nil {
			chance = new(big.Rat)
		}
		if u.prizes[i].endless {
			s.None.Add(s.None, chance)
			continue
		}
		s.Odds = append(s.Odds, Chance{PrizeID: u.prizes[i].id, Chance: chance})
	}
	if t := u.terms; t != nil && t.Guarantee != nil {
		s.Guarantee = &GuaranteeOdds{Guarantee: *t.Guarantee, Rate: u.guaranteeRate()}
	}
	return s
}

// drawn are the chances that the urn gives the prize at each place, nil for 0,
// and that it gives nothing.
func (u *Urn) drawn() (chances []*big.Rat, nothing *big.Rat) {
	chances, nothing = make([]*big.Rat, len(u.prizes)), big.NewRat(1, 1)
	set := func(place int, chance *big.Rat) {
		chances[place] = chance
		nothing.Sub(nothing, chance)
	}
	if t := u.terms; t != nil && t.Odds != nil {
		for _, p := range t.Odds.Prizes {
			if place := u.placeOf(p.PrizeID); place != none && p.Share > 0 {
				set(place, big.NewRat(p.Share, t.Odds.Of))
			}
		}
		return chances, nothing
	}
	if u.remaining == 0 {
		return chances, nothing
	}
	win := big.NewRat(1, 1)
	if u.terms != nil {
		win = u.terms.Win.Rat()
	}
	for i := range u.prizes {
		if n := u.prizes[i].weight(); n > 0 {
			chances[i] = new(big.Rat).Mul(win, big.NewRat(n, u.remaining))
		}
	}
	return chances, nothing.Sub(nothing, win)
}

// winChance is the chance that a draw wins without the guarantee, and whether it
// stays so from draw to draw.
func (u *Urn) winChance() (p *big.Rat, constant bool) {
	p, constant = new(big.Rat), true
	chances, _ := u.drawn()
	for i, chance := range chances {
		switch {
		case chance == nil:
		case u.prizes[i].blank:
			constant = constant && u.terms.Odds != nil
		case u.prizes[i].weight() > 0:
			p.Add(p, chance)
		}
	}
	for i := range u.terms.limits {
		constant = constant && u.terms.limits[i].Of == LimitDraws
	}
	constant = constant && u.terms.Budget == nil && u.prizes[u.terms.guarantee].weight() > 0
	return p, constant
}

// guaranteeRate is p / (1 - (1-p)^(after+1)): draws 1 to after win with p, the
// next surely.
func (u *Urn) guaranteeRate() *big.Rat {
	if u.terms.guarantee == none {
		return nil
	}
	p, constant := u.winChance()
	cycle := u.terms.Guarantee.After + 1
	if !constant || int64(p.Denom().BitLen())*cycle > rateMax {
		return nil
	}
	if p.Sign() == 0 {
		return big.NewRat(1, cycle)
	}
	miss := new(big.Rat).Sub(big.NewRat(1, 1), p)
	n := big.NewInt(cycle)
	misses := new(big.Rat).SetFrac(new(big.Int).Exp(miss.Num(), n, nil), new(big.Int).Exp(miss.Denom(), n, nil))
	return new(big.Rat).Quo(p, misses.Sub(big.NewRat(1, 1), misses))
}
