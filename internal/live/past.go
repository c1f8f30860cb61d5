package live

import (
	"time"

	"drawsvc/internal/draw"
)

const (
	// rateOver is the time that a rate is of, and forecastOver that of a
	// forecast: the first follows what happens, the second does not jump.
	rateOver     = 10 * time.Second
	forecastOver = 5 * time.Minute
)

// past is what was read within forecastOver.
type past struct{ readings []reading }

type reading struct {
	at time.Time
	of map[string]counts
}

// counts are of one pool.
type counts struct{ awards, issued int64 }

func newPast() *past { return &past{} }

// add keeps a reading, and drops those that are too old. One that is exactly
// forecastOver old or older stays, so that a rate spans all of it.
func (p *past) add(pools []draw.Overview, now time.Time) {
	r := reading{at: now, of: make(map[string]counts, len(pools))}
	for i := range pools {
		r.of[pools[i].ID] = counts{pools[i].Awards, pools[i].Issued}
	}
	p.readings = append(p.readings, r)
	for len(p.readings) > 2 && now.Sub(p.readings[1].at) >= forecastOver {
		p.readings = p.readings[1:]
	}
}

// rate is awards per second of a pool, over the last rateOver.
func (p *past) rate(poolID string) float64 {
	return p.over(poolID, rateOver, func(c counts) int64 { return c.awards })
}

// winless is how many awards without a unit of stock end a forecast.
const winless = 200

// isWinless reports whether the last awards of a pool took no unit of its stock, as
// when a budget is used up: the units of before say nothing of the time from now on.
func (p *past) isWinless(poolID string) bool {
	last := p.readings[len(p.readings)-1].of[poolID]
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

// end is when a pool's stock ends if units go on being issued as they were over
// the last forecastOver; zero where none were, and where draws have ceased to win.
func (p *past) end(o *draw.Overview, now time.Time) time.Time {
	rate := p.over(o.ID, forecastOver, func(c counts) int64 { return c.issued })
	if rate <= 0 || o.Remaining() <= 0 || o.State != draw.StateOpen || p.isWinless(o.ID) {
		return time.Time{}
	}
	const longest = 10 * 365 * 24 * 3600 // seconds; who knows what comes after
	seconds := float64(o.Remaining()) / rate
	if seconds > longest {
		return time.Time{}
	}
	return now.Add(time.Duration(seconds * float64(time.Second)))
}

// over is how fast a count has risen over the last d, per second; 0 before there
// are two readings. A pool that was made again under its name begins anew.
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
