package draw

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// readLaw reads win, odds and fallback.
func (r *Rules) readLaw(d *rulesDocument) (err error) {
	if d.Fallback != nil {
		if r.Fallback, err = prizeID("fallback", d.Fallback); err != nil {
			return err
		}
	}
	r.Win = Fraction{A: 1, B: 1}
	if d.Win != nil {
		if r.Win, err = parseFraction("win", *d.Win); err != nil {
			return err
		}
	}
	if d.Odds == nil {
		return nil
	}
	if d.Win != nil {
		return errMember("win", "and \"odds\" exclude each other")
	}
	return r.readOdds(d.Odds)
}

func (r *Rules) readOdds(d *oddsDocument) error {
	of, err := within("odds.of", d.Of, 1, FractionMax)
	if err != nil {
		return err
	}
	if d.Prizes == nil {
		return errMember("odds.prizes", "is missing")
	}
	if len(d.Prizes) > OddsMax {
		return errMember("odds.prizes", "names more than %d prizes", OddsMax)
	}
	r.Odds = &FixedOdds{Of: of}
	for id, share := range d.Prizes {
		member := "odds.prizes." + id
		if err := CheckID("the name of a member of \"odds.prizes\"", id); err != nil {
			return err
		}
		if _, err := within(member, &share, 0, of); err != nil {
			return err
		}
		if id == r.Fallback {
			return errMember(member, "is the fallback, which has what the others leave")
		}
		r.Odds.Prizes = append(r.Odds.Prizes, FixedShare{PrizeID: id, Share: share})
	}
	slices.SortFunc(r.Odds.Prizes, func(a, b FixedShare) int { return strings.Compare(a.PrizeID, b.PrizeID) })
	var sum int64 // at most OddsMax · FractionMax
	for _, p := range r.Odds.Prizes {
		sum += p.Share
	}
	if sum > of {
		return errMember("odds.prizes", "add up to %d, above \"odds.of\", which is %d", sum, of)
	}
	return nil
}

func (r *Rules) readGuarantee(d *rulesDocument) error {
	if d.Guarantee == nil {
		return nil
	}
	after, err := within("guarantee.after", d.Guarantee.After, 0, AfterMax)
	if err != nil {
		return err
	}
	id, err := prizeID("guarantee.prize", d.Guarantee.Prize)
	if err != nil {
		return err
	}
	r.Guarantee = &Guarantee{After: after, PrizeID: id}
	r.count(CountedMiss)
	return nil
}

func (r *Rules) readLimits(d *rulesDocument) error {
	if len(d.Limits) > LimitsMax {
		return errMember("limits", "has more than %d limits", LimitsMax)
	}
	for i := range d.Limits {
		member := fmt.Sprintf("limits[%d]", i)
		l, err := readLimit(member, &d.Limits[i])
		if err != nil {
			return err
		}
		for j, other := range r.Limits {
			if other.Of == l.Of && other.By == l.By && other.PrizeID == l.PrizeID && other.Per.same(l.Per) {
				return errMember(member, "limits the same as \"limits[%d]\"", j)
			}
		}
		r.Limits = append(r.Limits, l)
		r.count(l.Counted())
	}
	return nil
}

func readLimit(member string, d *limitDocument) (l Limit, err error) {
	if d.Of == nil {
		return l, errMember(member+".of", "is missing")
	}
	switch l.Of = LimitOf(*d.Of); l.Of {
	case LimitPrize:
		if l.PrizeID, err = prizeID(member+".prize", d.Prize); err != nil {
			return l, err
		}
	case LimitDraws, LimitWins:
		if d.Prize != nil {
			return l, errMember(member+".prize", "belongs to a limit of \"prize\"")
		}
	default:
		return l, errMember(member+".of", "must be draws, wins or prize")
	}
	if l.Max, err = within(member+".max", d.Max, 1, LimitMax); err != nil {
		return l, err
	}
	if d.Per != nil {
		l.Per, err = parsePer(fmt.Sprintf("%q", member+".per"), *d.Per)
	}
	return l, err
}

func (r *Rules) readBudget(d *rulesDocument) error {
	if d.Budget == nil {
		return nil
	}
	if d.Budget.Max == nil {
		return errMember("budget.max", "is missing")
	}
	value, err := ParseValue(*d.Budget.Max)
	if err != nil || *d.Budget.Max == "" {
		return errMember("budget.max", "must be an amount such as \"5000.00\", 0 to %s", ValueMax())
	}
	r.Budget = &Budget{Max: Cents(value)}
	if d.Budget.Per == nil {
		return nil
	}
	if r.Budget.Per, err = parsePer("\"budget.per\"", *d.Budget.Per); err != nil || r.Budget.Per.rolling > 0 {
		return errMember("budget.per", "must be hour, day, week or month")
	}
	return nil
}

func (r *Rules) readZone(d *rulesDocument) (err error) {
	r.Zone = time.UTC
	if d.Zone != nil {
		r.Zone, err = ParseZone(*d.Zone)
	}
	return err
}

func (r *Rules) readBlocked(d *rulesDocument) error {
	if len(d.Blocked) > BlockedMax {
		return errMember("blocked", "names more than %d users", BlockedMax)
	}
	for i, user := range d.Blocked {
		member := fmt.Sprintf("blocked[%d]", i)
		if err := CheckUser(user); err != nil {
			return errMember(member, "is no user: 1 to %d printable characters, no blank at either end", UserMax)
		}
		if r.Blocked[user] {
			return errMember(member, "is there twice")
		}
		if r.Blocked == nil {
			r.Blocked = make(map[string]bool, len(d.Blocked))
		}
		r.Blocked[user] = true
	}
	return nil
}

func (r *Rules) readLow(d *rulesDocument) error {
	for i := range d.Low {
		member := fmt.Sprintf("low[%d]", i)
		id, err := prizeID(member+".prize", d.Low[i].Prize)
		if err != nil {
			return err
		}
		below, err := within(member+".below", d.Low[i].Below, 1, StockMax)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(r.Low, func(l Low) bool { return l.PrizeID == id }) {
			return errMember(member+".prize", "is there twice")
		}
		r.Low = append(r.Low, Low{PrizeID: id, Below: below})
	}
	return nil
}

// checkFallback refuses rules that may leave a draw with nothing, and do not
// say what nothing is.
func (r *Rules) checkFallback() error {
	if r.Fallback != "" {
		return nil
	}
	member := ""
	switch {
	case !r.Win.IsOne():
		member = "\"win\" below 1"
	case r.Odds != nil:
		member = "\"odds\""
	case r.Guarantee != nil:
		member = "\"guarantee\""
	case r.Budget != nil:
		member = "\"budget\""
	}
	for i, l := range r.Limits {
		if member == "" && l.Of != LimitDraws {
			member = fmt.Sprintf("\"limits[%d]\", of %s,", i, l.Of)
		}
	}
	if member == "" {
		return nil
	}
	return errMember("fallback", "is missing: %s needs an endless blank to fall back to", member)
}
