package drawtest

import (
	"fmt"
	"math"
)

// Sample is the result of draws from one pool: how often each prize was won, and how many
// units of it there were before the first draw.
type Sample struct{ Wins, Stock []int64 }

// AlarmMax is the maximum probability that [Judge] rejects draws although they keep the
// law.
const AlarmMax = 1e-9

// Judge returns an error if the samples, of equally stocked pools, contradict the law of
// a draw. It computes the likelihood-ratio chi-square, G = 2 Σ wins·ln(wins/expected), in
// two ways, each with half of AlarmMax. G, computed from the wins of all samples
// together, finds a prize that is favoured in all of them. The sum of G over the samples
// finds differences between samples that are too large for chance.
func Judge(samples ...Sample) error {
	var all Sample
	var summed float64
	var freedoms int
	for _, s := range samples {
		summed += G(s)
		freedoms += len(s.Stock) - 1
		all.Wins, all.Stock = plus(all.Wins, s.Wins), plus(all.Stock, s.Stock)
	}
	if g, bound := G(all), Bound(len(all.Stock)-1, AlarmMax/2); g > bound {
		return fmt.Errorf("won %v of %v: G is %.1f, chance explains %.1f at most", all.Wins, all.Stock, g, bound)
	}
	if bound := Bound(freedoms, AlarmMax/2); summed > bound {
		return fmt.Errorf("%d samples: G adds up to %.1f, chance explains %.1f at most", len(samples), summed, bound)
	}
	return nil
}

// G returns the likelihood-ratio chi-square of a sample's wins. A win of a prize
// without units makes it infinite.
func G(s Sample) float64 {
	var wins, units float64
	for i := range s.Wins {
		wins += float64(s.Wins[i])
		units += float64(s.Stock[i])
	}
	var g float64
	for i, n := range s.Wins {
		if n > 0 {
			g += 2 * float64(n) * math.Log(float64(n)*units/(wins*float64(s.Stock[i])))
		}
	}
	return g
}

// Bound returns a value that G exceeds with a probability of at most alarm if draws keep
// the law. It does not depend on the number of wins. d are the degrees of freedom: the
// prizes minus one, summed over independent samples.
//
// For wins drawn with replacement, E exp(λG/2) ≤ (1-λ)^-d for 0 ≤ λ < 1 (R. Agrawal,
// "Finite-Sample Concentration of the Multinomial in Relative Entropy", IEEE Transactions
// on Information Theory 66(10), 2020). Markov's inequality at λ = 1-d/t gives P(G ≥ 2t) ≤
// exp(-t)·(e·t/d)^d for t ≥ d. Bound returns the 2t for which the right side equals
// alarm. Units are drawn without replacement, which only lowers the probability:
// exp(λG/2) is convex in the counts, and the mean of a convex function is not greater
// then (W. Hoeffding, "Probability Inequalities for Sums of Bounded Random Variables",
// 1963, theorem 4).
func Bound(d int, alarm float64) float64 {
	f := float64(d)
	low, high := f, f-4*math.Log(alarm)+4*f
	for range 100 {
		t := (low + high) / 2
		if t-f-f*math.Log(t/f) < -math.Log(alarm) {
			low = t
		} else {
			high = t
		}
	}
	return 2 * high
}

func plus(a, b []int64) []int64 {
	if a == nil {
		a = make([]int64, len(b))
	}
	for i := range b {
		a[i] += b[i]
	}
	return a
}
