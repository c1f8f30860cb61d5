package odds

import (
	"math"

	"drawsvc/internal/draw"
)

// expectations adds the expected values to the results.
func (s *simulator) expectations() {
	n := s.result.Draws
	if n == 0 || s.happened {
		return
	}
	mean := s.mean()
	for i := range s.result.Prizes {
		p := &s.result.Prizes[i]
		expected, variance, known := mean(i, float64(n))
		if !known {
			continue
		}
		share, z := expected/float64(n), Deviations(float64(p.Drawn), expected, variance, float64(n))
		p.Expected, p.Z = &share, &z
	}
	s.expectGuarantee()
}

// mean returns a function that gives the mean and the variance of how often the prize at
// a place is drawn in n draws. Under the fixed law all draws have the same chances. Under
// the stock law units are drawn without replacement, and the number of draws that take a
// unit is binomial. The result is not known if redirects may leave units in the urn, or
// if the urn may become empty.
func (s *simulator) mean() func(place int, n float64) (mean, variance float64, known bool) {
	t := newTable(s.urn)
	fallback, hasFallback := t.places[t.rules.Fallback]
	if !hasFallback {
		fallback = -1
	}
	if fixed := t.rules.Odds; fixed != nil {
		shares, rest := make([]float64, len(s.begun)), fixed.Of
		for _, p := range fixed.Prizes {
			if place, has := t.places[p.PrizeID]; has {
				shares[place] = float64(p.Share) / float64(fixed.Of)
				rest -= p.Share
			}
		}
		shares[fallback] = float64(rest) / float64(fixed.Of)
		return func(place int, n float64) (float64, float64, bool) {
			p := shares[place]
			return n * p, n * p * (1 - p), !s.begun[place].IsEndless() || place == fallback
		}
	}
	win, units := float64(t.rules.Win.A)/float64(t.rules.Win.B), 0.0
	redirects := t.rules.Guarantee != nil || t.rules.Budget != nil
	for _, l := range t.rules.Limits {
		redirects = redirects || l.Of != draw.LimitDraws
	}
	for i := range s.begun {
		units += float64(weight(&s.begun[i]))
	}
	return func(place int, n float64) (float64, float64, bool) {
		hits, spread := n*win, n*win*(1-win)
		switch {
		case redirects || n > units || s.begun[place].IsEndless() && place != fallback:
			return 0, 0, false
		case place == fallback:
			return n - hits, spread, true
		}
		q := float64(weight(&s.begun[place])) / units
		variance := spread * q * q
		if units > 1 {
			variance += q * (1 - q) * (units*hits - spread - hits*hits) / (units - 1)
		}
		return hits * q, variance, true
	}
}

// renewalMax limits the work of computing the mean of wins under a guarantee.
const renewalMax = 50_000_000

// expectGuarantee compares the wins with their mean. The state of a user is the current
// run of misses. [renewal] computes, from draw to draw, the probability of each state. It
// also computes the means of the wins so far and of their square.
func (s *simulator) expectGuarantee() {
	t := newTable(s.urn)
	if t.rules.Guarantee == nil || s.result.Redirects[draw.WhySoldOut]+s.result.Redirects[draw.WhyLimit]+s.result.Redirects[draw.WhyBudget]+s.result.Redirects[draw.WhyMoment] > 0 {
		return
	}
	for i := range s.result.Prizes {
		if t.rules.Odds != nil && s.result.Prizes[i].SoldOutAfter > 0 {
			return
		}
	}
	if t.rules.Odds == nil && s.urn.Remaining() == 0 {
		return
	}
	p, constant := t.winChance()
	draws, states := int32(0), int(t.rules.Guarantee.After)+1
	for _, n := range s.turns {
		draws = max(draws, n)
	}
	if !constant || int64(draws)*int64(states) > renewalMax {
		return
	}
	chance, _ := p.Float64()
	means, variances := renewal(chance, states, int(draws))
	var mean, variance float64
	for _, n := range s.turns {
		mean += means[n]
		variance += variances[n]
	}
	n := float64(s.result.Draws)
	s.result.Guarantee = &SimulatedGuarantee{
		Wins: s.wins, Rate: float64(s.wins) / n, Expected: mean / n, Z: Deviations(float64(s.wins), mean, variance, n),
	}
}

// Deviations returns the distance of a count, from 0 to n, from its mean, in standard
// deviations. Near 0 or n, plain standard deviations overstate it: one win in 10,000
// draws of a prize with chance 1 in a million is 9.9 standard deviations off, although
// one run in a hundred has such a win. So the distance is derived from the deviance
// instead, which is larger the less likely the count is.
func Deviations(count, mean, variance, n float64) float64 {
	off := count - mean
	if math.Abs(off) < 1e-6 { // caused by rounding
		return 0
	}
	z, spread := off/math.Sqrt(variance), mean*(1-mean/n)
	if math.IsInf(z, 0) || spread <= 0 {
		return z
	}
	part := func(count, mean float64) float64 {
		if count == 0 {
			return 0
		}
		return count * math.Log(count/mean)
	}
	deviance := 2 * (part(count, mean) + part(n-count, n-mean))
	return z * math.Sqrt(max(deviance, 0)*spread) / math.Abs(off)
}

// renewal returns the mean and the variance of the wins of a user in 0, 1, … draws.
// Each draw wins with chance p, and always after states-1 misses.
func renewal(p float64, states, draws int) (means, variances []float64) {
	type moments struct{ chance, wins, squares float64 }
	now, next := make([]moments, states), make([]moments, states)
	now[0].chance = 1
	means, variances = make([]float64, draws+1), make([]float64, draws+1)
	for n := 1; n <= draws; n++ {
		clear(next)
		for run, m := range now {
			win := p
			if run == states-1 {
				win = 1
			}
			next[0].chance += win * m.chance
			next[0].wins += win * (m.wins + m.chance)
			next[0].squares += win * (m.squares + 2*m.wins + m.chance)
			if win < 1 {
				next[run+1] = moments{(1 - win) * m.chance, (1 - win) * m.wins, (1 - win) * m.squares}
			}
		}
		now, next = next, now
		var square float64
		for _, m := range now {
			means[n] += m.wins
			square += m.squares
		}
		variances[n] = square - means[n]*means[n]
	}
	return means, variances
}
