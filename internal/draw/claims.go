package draw

import (
	"fmt"
	"slices"
	"time"
)

// WithinMin and WithinMax bound the time in which an award is to be claimed.
const (
	WithinMin = time.Second
	WithinMax = 8760 * time.Hour
)

// Claims are the rules about claims: which awards must be claimed, and until when.
type Claims struct {
	// Within is the time from the award to its deadline, 0 for no deadline.
	Within time.Duration
	// Prizes are the prizes whose awards need a claim, nil for all of kind prize.
	Prizes []string
	// Return puts the units of expired awards back into stock.
	Return bool
}

// check returns an error unless the claims fit the prizes of a pool.
func (c *Claims) check(there func(member, id string) (*Prize, error)) error {
	if c == nil {
		return nil
	}
	for i, id := range c.Prizes {
		member := fmt.Sprintf("claims.prizes[%d]", i)
		p, err := there(member, id)
		if err != nil {
			return err
		}
		if !p.IsWin() {
			return ErrorOfMember(member, "names %q, which is a blank", id)
		}
	}
	return nil
}

// Cover reports whether awards of a prize of kind prize need a claim.
func (c *Claims) Cover(prizeID string) bool {
	return c != nil && (c.Prizes == nil || slices.Contains(c.Prizes, prizeID))
}

// ClaimsOf returns the claims of rules, nil for none.
func ClaimsOf(r *Rules) *Claims {
	if r == nil {
		return nil
	}
	return r.Claims
}

// NeedsClaim reports whether an award that was made under the claims needs a claim.
func (c *Claims) NeedsClaim(a *Award) bool { return a.Win() && c.Cover(a.PrizeID) }

// Deadline returns the time until which an award that was made under the claims can be
// claimed, the zero time for no deadline. now are the current claims: they can only
// extend the time.
func (c *Claims) Deadline(a *Award, now *Claims) time.Time {
	if c.Within == 0 {
		return time.Time{}
	}
	within := c.Within
	if now.Cover(a.PrizeID) {
		if now.Within == 0 {
			return time.Time{}
		}
		within = max(within, now.Within)
	}
	return a.At.Add(within)
}

// MarkClaim sets the fields of an award that depend on the claims under which it was
// made. An award that needs a claim shows no code.
func (c *Claims) MarkClaim(a *Award) {
	a.AsksClaims = false
	if !c.NeedsClaim(a) {
		return
	}
	a.NeedsClaim, a.HasCode, a.ClaimUntil = true, false, c.Deadline(a, nil)
}
