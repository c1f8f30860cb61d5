package draw

import "fmt"

// Check reports whether the rules fit the prizes of a pool. An error has
// CodeInvalidRequest and names the member, or CodeRulesUnreadable.
func (r *Rules) Check(prizes []Prize) error {
	if r.unreadable != nil {
		return Unreadable("the rules", r.unreadable)
	}
	byID := make(map[string]*Prize, len(prizes))
	for i := range prizes {
		byID[prizes[i].ID] = &prizes[i]
	}
	there := func(member, id string) (*Prize, error) {
		if p := byID[id]; p != nil {
			return p, nil
		}
		return nil, errMember(member, "names %q, which is no prize of the pool", id)
	}
	if r.Fallback != "" {
		p, err := there("fallback", r.Fallback)
		if err != nil {
			return err
		}
		if !p.IsEndless() {
			return errMember("fallback", "names %q, which is not an endless blank", r.Fallback)
		}
	}
	if g := r.Guarantee; g != nil {
		p, err := there("guarantee.prize", g.PrizeID)
		if err != nil {
			return err
		}
		if !p.IsWin() {
			return errMember("guarantee.prize", "names %q, which is a blank", g.PrizeID)
		}
	}
	for i, l := range r.Limits {
		if l.Of != LimitPrize {
			continue
		}
		member := fmt.Sprintf("limits[%d].prize", i)
		p, err := there(member, l.PrizeID)
		if err != nil {
			return err
		}
		if p.IsEndless() {
			return errMember(member, "names %q, an endless blank, which nothing can withhold", l.PrizeID)
		}
	}
	for i, l := range r.Low {
		if _, err := there(fmt.Sprintf("low[%d].prize", i), l.PrizeID); err != nil {
			return err
		}
	}
	return r.checkOdds(prizes, there)
}

func (r *Rules) checkOdds(prizes []Prize, there func(member, id string) (*Prize, error)) error {
	if r.Odds == nil {
		return nil
	}
	named := make(map[string]bool, len(r.Odds.Prizes))
	for _, share := range r.Odds.Prizes {
		member := "odds.prizes." + share.PrizeID
		p, err := there(member, share.PrizeID)
		if err != nil {
			return err
		}
		if p.IsEndless() {
			return errMember(member, "is an endless blank, which is in no urn")
		}
		named[share.PrizeID] = true
	}
	for i := range prizes {
		if id := prizes[i].ID; prizes[i].IsWin() && !named[id] {
			return errMember("odds.prizes", "does not name prize %q; write 0 for no chance", id)
		}
	}
	return nil
}
