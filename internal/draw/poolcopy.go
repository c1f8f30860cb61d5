package draw

import "time"

// CopyDaysMax is the maximum number of days by which a copy shifts an agenda, forwards or
// backwards.
const CopyDaysMax = 36_600

// PoolCopy describes the copy of a pool.
type PoolCopy struct {
	ID, Name string
	// Days, if set, also copies the agenda: each item is moved by so many calendar days,
	// and keeps its time of day.
	Days *int
	// Zone decides the time of day; nil means the zone of the rules: see ZoneOf.
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

// ZoneOf returns the zone of the first of several rules that name one, UTC for none.
func ZoneOf(all ...*Rules) *time.Location {
	for _, r := range all {
		if r.NamesZone() {
			return r.Zone
		}
	}
	return time.UTC
}

// Shift returns the time of an item of the copy, at the same time of day in zone. If
// clocks show that time twice on the new day, it keeps its offset from UTC if possible.
// If clocks skip it, it is later by the length of the jump. time.AddDate guarantees
// neither.
func (c *PoolCopy) Shift(at time.Time, zone *time.Location) time.Time {
	at = at.In(zone)
	year, month, day := at.Date()
	wall := time.Date(year, month, day+*c.Days, at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
	offset := func(t time.Time) time.Duration {
		_, seconds := t.In(zone).Zone()
		return time.Duration(seconds) * time.Second
	}
	before := offset(wall.AddDate(0, 0, -1))
	for _, o := range []time.Duration{offset(at), before, offset(wall.AddDate(0, 0, 1))} {
		if shifted := wall.Add(-o); offset(shifted) == o {
			return shifted.In(zone)
		}
	}
	return wall.Add(-before).In(zone)
}

// CopyOf returns the initial state of a copy: paused, with the prizes of p and their
// display texts. moved is the part of each prize's stock that the copy leaves out:
// returned units, and units from done items of the agenda, which the agenda of the copy
// adds again. A prize with codes begins without stock, because each code is given once.
// The page of fairness is off, and no commitment is copied. Error: CodeInvalidRequest for
// a prize that would begin with a negative stock, or with more than StockMax.
func (c *PoolCopy) CopyOf(p *Pool, rules *Rules, moved map[string]int64) (Pool, error) {
	to := Pool{ID: c.ID, Name: c.Name, State: StatePaused, Mode: p.Mode, Currency: p.Currency, Text: p.Text, Rules: rules}
	for i := range p.Prizes {
		prize := p.Prizes[i]
		prize.Issued, prize.Places = 0, 0
		switch {
		case prize.HasCodes:
			prize.Stocked = 0
		case !prize.IsEndless():
			if prize.Stocked -= moved[prize.ID]; prize.Stocked < 0 || prize.Stocked > StockMax {
				return Pool{}, Errorf(CodeInvalidRequest, "prize %q would begin with %d units: its stock is %d, and %d of that returned or were added by the agenda; "+
					"copy the pool without days, and plan its agenda", prize.ID, prize.Stocked, p.Prizes[i].Stocked, moved[prize.ID])
			}
		}
		to.Prizes = append(to.Prizes, prize)
	}
	return to, nil
}
