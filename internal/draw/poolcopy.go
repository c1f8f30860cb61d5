package draw

import "time"

// CopyDaysMax is the maximum number of days by which a copy shifts an agenda, forwards or
// backwards.
const CopyDaysMax = 36_600

// PoolCopy describes the copy of a pool.
type PoolCopy struct {
	ID, Name string
	// Days, if it is set, copies the agenda too: each item so many calendar days later, at
	// the same time of day.
	Days *int
	// Zone decides the time of day; nil means that of the pool's rules.
	Zone *time.Location
}

// Check returns CodeInvalidRequest unless the copy may be made.
func (c *PoolCopy) Check() error {
	if err := CheckID("id", c.ID); err != nil {
		return err
	}
	if err := CheckName("name", c.Name); err != nil {
		return err
	}
	if c.Days != nil && (*c.Days < -CopyDaysMax || *c.Days > CopyDaysMax) {
		return Errorf(CodeInvalidRequest, "days must be from -%d to %d", CopyDaysMax, CopyDaysMax)
	}
	return nil
}

// ShiftBy returns what gives an item of the copy its time; rules are those of the pool, nil
// for none.
func (c *PoolCopy) ShiftBy(rules *Rules) func(time.Time) time.Time {
	zone := c.Zone
	if zone == nil && rules != nil {
		zone = rules.Zone
	}
	if zone == nil {
		zone = time.UTC
	}
	return func(at time.Time) time.Time { return at.In(zone).AddDate(0, 0, *c.Days) }
}

// CopyOf returns the pool that a copy begins as: paused, with the prizes of p and what is
// shown of them. moved is what done items of the agenda have added to the stock of each
// prize, which the copy's agenda will add again. A prize with codes begins without stock,
// because each code is given once. The page of fairness is off, and no commitment is copied.
func (c *PoolCopy) CopyOf(p *Pool, rules *Rules, moved map[string]int64) Pool {
	to := Pool{ID: c.ID, Name: c.Name, State: StatePaused, Mode: p.Mode, Currency: p.Currency, Text: p.Text, Rules: rules}
	for i := range p.Prizes {
		prize := p.Prizes[i]
		prize.Issued, prize.Places = 0, 0
		switch {
		case prize.HasCodes:
			prize.Stocked = 0
		case !prize.IsEndless():
			prize.Stocked = max(0, prize.Stocked-moved[prize.ID])
		}
		to.Prizes = append(to.Prizes, prize)
	}
	return to
}
