package drawtest

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundExceedsTheLawAtMostAsOftenAsStated adds up, exactly, the probabilities of all
// outcomes beyond the bound. The sum stays below the stated probability, whether units
// are drawn with replacement or without.
func TestBoundExceedsTheLawAtMostAsOftenAsStated(t *testing.T) {
	lgamma := func(n int64) float64 { v, _ := math.Lgamma(float64(n) + 1); return v }
	choose := func(n, k int64) float64 { return lgamma(n) - lgamma(k) - lgamma(n-k) }
	for _, alarm := range []float64{1e-2, 1e-5, AlarmMax} {
		stock, wins := []int64{900, 90, 10}, int64(100)
		bound := Bound(2, alarm)
		var with, without float64
		for a := range wins + 1 {
			for b := range wins - a + 1 {
				o := []int64{a, b, wins - a - b}
				if G(Sample{Wins: o, Stock: stock}) <= bound {
					continue
				}
				multi, hyper := lgamma(wins), -choose(1000, wins)
				for i, n := range o {
					multi += float64(n)*math.Log(float64(stock[i])/1000) - lgamma(n)
					if n <= stock[i] {
						hyper += choose(stock[i], n)
					} else {
						hyper = math.Inf(-1)
					}
				}
				with += math.Exp(multi)
				without += math.Exp(hyper)
			}
		}
		require.Less(t, with, alarm)
		require.LessOrEqual(t, without, with)
	}
	require.InDelta(t, 46, Bound(2, AlarmMax), 12, "near the chi-square's own 41.4")
}

// drawn draws a tenth of a pool, each unit with take.
func drawn(stock []int64, take func(r *rand.Rand, left []int64) int, r *rand.Rand) Sample {
	left, wins := append([]int64(nil), stock...), make([]int64, len(stock))
	var units int64
	for _, n := range stock {
		units += n
	}
	for range units / 10 {
		i := take(r, left)
		left[i]--
		wins[i]++
	}
	return Sample{Wins: wins, Stock: stock}
}

func fair(r *rand.Rand, left []int64) int {
	var units int64
	for _, n := range left {
		units += n
	}
	u := r.Int64N(units)
	for i, n := range left {
		if u < n {
			return i
		}
		u -= n
	}
	panic("unreachable")
}

// TestJudge: draws that keep the law pass. A rare prize that wins three times as often
// fails, and so do correct sums of incorrect parts.
func TestJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	stock := []int64{900, 90, 10}
	favours := func(r *rand.Rand, left []int64) int {
		if r.IntN(100) < 2 && left[2] > 0 {
			return 2
		}
		return fair(r, left)
	}
	for range 20 {
		var ok, rare []Sample
		for range 40 {
			ok = append(ok, drawn(stock, fair, r))
			rare = append(rare, drawn(stock, favours, r))
		}
		require.NoError(t, Judge(ok...))
		require.ErrorContains(t, Judge(rare...), "G is")
	}
	var turns []Sample
	for range 20 {
		turns = append(turns, Sample{Wins: []int64{100, 0, 0}, Stock: stock}, Sample{Wins: []int64{80, 18, 2}, Stock: stock})
	}
	require.ErrorContains(t, Judge(turns...), "adds up", "together as expected, apart not")
	require.Error(t, Judge(Sample{Wins: []int64{1, 1}, Stock: []int64{5, 0}}), "a win from nothing")
}
