package live

import (
	"time"

	"drawsvc/internal/draw"
)

const (
	// rateOver is the period for a rate: the rate follows short changes. forecastOver is the
	// period for a forecast: the forecast does not jump.
	rateOver     = 10 * time.Second
	forecastOver = 5 * time.Minute
)

// past holds the readings of the last period forecastOver.
type past struct{ readings []reading }

type reading struct {
	at time.Time
	of map[string]counts
}

// counts are the counts of one pool.
//
// spent is the spent amount of the budget, in cents.
type counts struct{ awards, issued, spent int64 }

func newPast() *past { return &past{} }

// add adds a reading, and drops readings that are too old. The newest one that is at
// least forecastOver old stays, so that a rate covers the whole period.
func (p *past) add(pools []draw.Overview, now time.Time) {
	r := reading{at: now, of: make(map[string]counts, len(pools))}
	for i := range pools {
		r.of[pools[i].ID] = counts{pools[i].Awards, pools[i].Issued, spentOf(&pools[i])}
	}
	p.readings = append(p.readings, r)
	for len(p.readings) > 2 && now.Sub(p.readings[1].at) >= forecastOver {
		p.readings = p.readings[1:]
	}
}

// rate returns a pool's awards per second over the last period rateOver.
func (p *past) rate(poolID string) float64 {
	return p.over(poolID, rateOver, func(c counts) int64 { return c.awards })
}

// winless is the number of successive awards without a unit of stock after which
// forecasts end.
const winless = 200

// isWinless reports whether the last awards of a pool took no unit of its stock, for
// example because a budget is used up. Earlier units then do not predict the future.
func (p *past) isWinless(poolID string) bool {
	last := p.readings[len(p.readings)-1].of[poolID]
	if first, known := p.readings[0].of[poolID]; known && 0 <= last.awards-first.awards && last.awards-first.awards < winless {
		return false // too few awards, for example because nobody draws
	}
	awards := last.awards
	for i := len(p.readings) - 1; i >= 0; i-- {
		c, known := p.readings[i].of[poolID]
		if !known || c.issued != last.issued {
			break
		}
		awards = c.awards
	}
	return last.awards-awards >= winless
}

func spentOf(o *draw.Overview) int64 {
	if o.Money.Budget == nil {
		return 0
	}
	return o.Money.Budget.Spent
}

// end returns when a pool's stock or its budget ends, whichever is earlier, at the rate
// of the last period forecastOver. It returns zero if no units were issued, or if draws
// no longer win.
func (p *past) end(o *draw.Overview, now time.Time) time.Time {
	if p.isWinless(o.ID) || o.State != draw.StateOpen || o.Money.Nothing != nil {
		return time.Time{}
	}
	stock := forecast(o.Remaining(), p.over(o.ID, forecastOver, func(c counts) int64 { return c.issued }), now)
	if budget := p.budgetEnd(o, now); !budget.IsZero() && (stock.IsZero() || budget.Before(stock)) {
		return budget
	}
	return stock
}

// budgetEnd returns when a pool's budget is used up, if it is spent at the rate of the
// last period forecastOver. It returns zero if nothing was spent, or if the budget's
// period ends before.
func (p *past) budgetEnd(o *draw.Overview, now time.Time) time.Time {
	b := o.Money.Budget
	if b == nil || o.State != draw.StateOpen || o.Money.Nothing != nil {
		return time.Time{}
	}
	end := forecast(b.Left, p.over(o.ID, forecastOver, func(c counts) int64 { return c.spent }), now)
	if !b.ResetsAt.IsZero() && b.ResetsAt.Before(end) {
		return time.Time{}
	}
	return end
}

// forecast returns when nothing is left at a rate per second, zero for never.
func forecast(left int64, rate float64, now time.Time) time.Time {
	const longest = 10 * 365 * 24 * 3600 // seconds; a longer forecast is meaningless
	if seconds := float64(left) / rate; left > 0 && rate > 0 && seconds <= longest {
		return now.Add(time.Duration(seconds * float64(time.Second)))
	}
	return time.Time{}
}

// over returns by how much a count has risen per second over the last d; 0 before there
// are two readings. A pool that was deleted and created again starts at 0.
func (p *past) over(poolID string, d time.Duration, count func(counts) int64) float64 {
	last := p.readings[len(p.readings)-1]
	first := last
	for i := len(p.readings) - 1; i >= 0 && last.at.Sub(first.at) < d; i-- {
		c, known := p.readings[i].of[poolID]
		if !known || count(c) > count(last.of[poolID]) {
			break
		}
		first = p.readings[i]
	}
	seconds := last.at.Sub(first.at).Seconds()
	if seconds <= 0 {
		return 0
	}
	return float64(count(last.of[poolID])-count(first.of[poolID])) / seconds
}
