package odds

import (
	"math/big"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// Law is how a unit is drawn.
type Law string

// The laws: by the units that remain, or by fixed odds.
const (
	LawStock Law = "stock"
	LawFixed Law = "fixed"
)

// Statement has the chances of one draw of one unit, as exact fractions. The sum of
// Odds and None is 1.
type Statement struct {
	Version int64
	Law     Law
	// IsDisclosed means that players may read it.
	IsDisclosed bool
	// Win is the chance that a draw takes a unit of the urn.
	Win *big.Rat
	// Odds are the chances of all prizes except endless blanks, in the pool's order.
	Odds []Chance
	// None is the chance of the fallback.
	None *big.Rat
	// Guarantee is nil for rules without one.
	Guarantee *GuaranteeOdds
	// HasMoments means that the agenda has contained a moment at some time. A draw may
	// also get a prize by a moment, which the chances leave out.
	HasMoments bool
}

// Chance is the chance that a draw gets a prize.
type Chance struct {
	PrizeID string
	Chance  *big.Rat
}

// GuaranteeOdds is a guarantee and its effect on the share of wins.
type GuaranteeOdds struct {
	draw.Guarantee
	// Rate is the share of wins among many draws of one user. It is nil if the chance
	// of a win depends on earlier draws, or if the fraction has more than rateMax bits.
	Rate *big.Rat
}

// rateMax is the maximum size of the parts of an exact rate, in bits.
const rateMax = 10_000

// Of returns the chances, at a time, of a player who has no turns, has reached no limit
// and has missed nothing. A prize without units, or whose value exceeds the rest of the
// budget, has chance 0. The urn must have a unit, or the rules a fallback.
func Of(u *urn.Urn, at time.Time) Statement { return newTable(u).statement(u.Outlook(at)) }

// OfPlayer returns the chances of a player's next draw at a time, from the facts that
// [urn.Urn.NeedsOf] names. It uses no random number. Errors: those that would refuse
// the draw; the draw is assumed to have a ticket.
func OfPlayer(u *urn.Urn, player draw.Player, facts *urn.Facts, at time.Time) (Statement, error) {
	outlook, err := u.OutlookOf(player, facts, at)
	if err != nil {
		return Statement{}, err
	}
	return newTable(u).statement(outlook), nil
}

// table is an urn with the values that its odds depend on.
type table struct {
	urn    *urn.Urn
	prizes []draw.Prize
	// places are the places of the prizes, by their ids.
	places map[string]int
	// rules are the rules in force, or rules without effect.
	rules *draw.Rules
}

func newTable(u *urn.Urn) *table {
	t := &table{urn: u, prizes: slices.Collect(u.EachPrize()), places: map[string]int{}, rules: u.Rules()}
	if t.rules == nil {
		t.rules = &draw.Rules{Win: draw.Fraction{A: 1, B: 1}}
	}
	for i := range t.prizes {
		t.places[t.prizes[i].ID] = i
	}
	return t
}

// weight returns the number of units that a prize has in the urn.
func weight(p *draw.Prize) int64 {
	if p.IsEndless() {
		return 0
	}
	return p.Remaining()
}

func (t *table) statement(outlook urn.Outlook) Statement {
	s := Statement{Version: t.urn.Version, Law: LawStock, Win: t.rules.Win.Rat(), IsDisclosed: t.rules.Disclose}
	if t.rules.Odds != nil {
		s.Law = LawFixed
	}
	given := make([]*big.Rat, len(t.prizes))
	give := func(drawn string, chance *big.Rat) {
		place := t.places[outlook.Given(drawn)]
		if given[place] == nil {
			given[place] = new(big.Rat)
		}
		given[place].Add(given[place], chance)
	}
	drawn, nothing := t.drawn()
	for place, chance := range drawn {
		if chance != nil {
			give(t.prizes[place].ID, chance)
		}
	}
	if _, has := t.places[t.rules.Fallback]; has && nothing.Sign() > 0 {
		give("", nothing)
	}
	s.None = new(big.Rat)
	for i := range t.prizes {
		chance := given[i]
		if chance == nil {
			chance = new(big.Rat)
		}
		if t.prizes[i].IsEndless() {
			s.None.Add(s.None, chance)
			continue
		}
		s.Odds = append(s.Odds, Chance{PrizeID: t.prizes[i].ID, Chance: chance})
	}
	if g := t.rules.Guarantee; g != nil {
		s.Guarantee = &GuaranteeOdds{Guarantee: *g, Rate: t.guaranteeRate()}
	}
	return s
}

// drawn returns the chance that the urn gives the prize at each place, nil for 0, and the
// chance that the urn gives nothing.
func (t *table) drawn() (chances []*big.Rat, nothing *big.Rat) {
	chances, nothing = make([]*big.Rat, len(t.prizes)), big.NewRat(1, 1)
	set := func(place int, chance *big.Rat) {
		chances[place] = chance
		nothing.Sub(nothing, chance)
	}
	if fixed := t.rules.Odds; fixed != nil {
		for _, p := range fixed.Prizes {
			if place, has := t.places[p.PrizeID]; has && p.Share > 0 {
				set(place, big.NewRat(p.Share, fixed.Of))
			}
		}
		return chances, nothing
	}
	if t.urn.Remaining() == 0 {
		return chances, nothing
	}
	win := t.rules.Win.Rat()
	for i := range t.prizes {
		if n := weight(&t.prizes[i]); n > 0 {
			chances[i] = new(big.Rat).Mul(win, big.NewRat(n, t.urn.Remaining()))
		}
	}
	return chances, nothing.Sub(nothing, win)
}

// winChance returns the chance that a draw wins without the guarantee, and whether it
// is the same for all draws.
func (t *table) winChance() (p *big.Rat, constant bool) {
	p, constant = new(big.Rat), t.rules.Budget == nil && weight(&t.prizes[t.places[t.rules.Guarantee.PrizeID]]) > 0
	chances, _ := t.drawn()
	for i, chance := range chances {
		switch {
		case chance == nil:
		case !t.prizes[i].IsWin():
			constant = constant && t.rules.Odds != nil
		case weight(&t.prizes[i]) > 0:
			p.Add(p, chance)
		}
	}
	for _, l := range t.rules.Limits {
		constant = constant && l.Of == draw.LimitDraws
	}
	return p, constant
}

// guaranteeRate returns p / (1 - (1-p)^(after+1)): of after+1 draws in a row, the last
// one always wins, and each other one wins with chance p.
func (t *table) guaranteeRate() *big.Rat {
	if _, has := t.places[t.rules.Guarantee.PrizeID]; !has {
		return nil
	}
	p, constant := t.winChance()
	cycle := t.rules.Guarantee.After + 1
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
