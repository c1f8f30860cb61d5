package proof

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
)

// lawStock is the stock of the pools of these tests: gold, silver and tin.
var lawStock = []int64{40, 360, 1600}

func units(stock []int64) (sum int64) {
	for _, n := range stock {
		sum += n
	}
	return sum
}

// anyNumbers returns the numbers of a pool that is committed to a new seed.
func anyNumbers(t *testing.T, epochs, length int64) *Numbers {
	seed := NewSeed()
	c := &Commitment{Origin: worldOrigin, Anchor: seed.Before(epochs), Epochs: epochs, EpochLength: length, Size: 1}
	numbers, follows := NewNumbers(c, 2, seed, epochs)
	require.True(t, follows)
	return numbers
}

// takeOf takes the unit with number n from the remaining stock, as the format specifies,
// and returns its prize.
func takeOf(left []int64, n int64) int {
	for i := range left {
		if n < left[i] {
			left[i]--
			return i
		}
		n -= left[i]
	}
	panic("unreachable")
}

// TestLawOverSeeds: over ten thousand seeds, the first version of a pool gives each prize
// in proportion to the stock. So do the thousandth version, and pairs of consecutive
// versions. A rigged source fails the test.
func TestLawOverSeeds(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	const seeds, far = 10_000, 1000
	const uneven = 1 << 60 / 11 * 80 // 2^64 is 2.2 times as large, so a modulo gives rare prizes 3 times in place of 2
	sampleOf := func() drawtest.Sample { return drawtest.Sample{Wins: make([]int64, len(lawStock)), Stock: lawStock} }
	first, thousandth, modulo := sampleOf(), sampleOf(), sampleOf()
	pairs := func() (s drawtest.Sample) {
		for i := range lawStock {
			for j, n := range lawStock {
				if i == j {
					n--
				}
				s.Wins, s.Stock = append(s.Wins, 0), append(s.Stock, lawStock[i]*n)
			}
		}
		return s
	}
	begins, ends := pairs(), pairs()
	for range seeds {
		numbers := anyNumbers(t, 1, 2*far)
		left, before := slices.Clone(lawStock), 0
		for v := range int64(far + 1) {
			prize := takeOf(left, numbers.Of(3+v).Below(units(lawStock)-v))
			switch v {
			case 0:
				first.Wins[prize]++
			case 1:
				begins.Wins[before*len(lawStock)+prize]++
			case far - 1:
				thousandth.Wins[prize]++
			case far:
				ends.Wins[before*len(lawStock)+prize]++
			}
			before = prize
		}
		biased := &brokenWords{modulo: true, counter: 1, key: Key(numbers.seeds[1], numbers.hash, 0, [32]byte{}), version: 3}
		modulo.Wins[takeOf(slices.Clone(lawStock), biased.Below(uneven)/(uneven/units(lawStock)+1))]++
	}
	require.NoError(t, drawtest.Judge(first))
	require.NoError(t, drawtest.Judge(thousandth))
	require.NoError(t, drawtest.Judge(begins))
	require.NoError(t, drawtest.Judge(ends))
	require.Error(t, drawtest.Judge(modulo))
}

// TestLawOfReplays: over pools with different seeds, the code that decides draws turns
// the numbers into prizes in proportion to the stock.
func TestLawOfReplays(t *testing.T) {
	t.Parallel()
	var samples []drawtest.Sample
	for range 200 {
		r := fold.NewRecomputation("spring", anyNumbers(t, 2, 100), nil)
		for i, n := range lawStock {
			require.NoError(t, r.AddPrize(draw.Prize{ID: string(rune('a' + i)), Name: "A prize", Kind: draw.KindPrize, Stocked: n}))
		}
		r.SetState(draw.StateOpen)
		s := drawtest.Sample{Wins: make([]int64, len(lawStock)), Stock: lawStock}
		for v := range int64(150) {
			a, err := r.Next(3+v, draw.Request{PoolID: "spring", UserID: "u", DrawID: "d", Count: 1}, 1, time.Now())
			require.NoError(t, err)
			require.NoError(t, r.Take(&a))
			s.Wins[a.PrizeID[0]-'a']++
		}
		samples = append(samples, s)
	}
	require.NoError(t, drawtest.Judge(samples...))
}

// pOf returns the p-value of Pearson's chi-square test: the probability that equally
// likely counts deviate at least as much by chance. The number of degrees of freedom must
// be even, because only then is there a closed form.
func pOf(counts []int64) float64 {
	mean, x := float64(units(counts))/float64(len(counts)), 0.0
	for _, n := range counts {
		x += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	term, sum := 1.0, 0.0
	for k := range (len(counts) - 1) / 2 {
		if k > 0 {
			term *= x / 2 / float64(k)
		}
		sum += term
	}
	return math.Exp(-x/2) * sum
}

// distance returns the Kolmogorov-Smirnov distance between values and the uniform
// distribution.
func distance(values []float64) (d float64) {
	slices.Sort(values)
	for i, v := range values {
		d = max(d, float64(i+1)/float64(len(values))-v, v-float64(i)/float64(len(values)))
	}
	return d
}

// TestPoolsAreAsUniformAsChance: some of a thousand pools have less even numbers than
// others, as chance predicts. No other test detects numbers that are too even.
func TestPoolsAreAsUniformAsChance(t *testing.T) {
	t.Parallel()
	const pools, cells = 1000, 17
	farthest := math.Sqrt(-math.Log(drawtest.AlarmMax/2) / 2 / pools) // the bound of Dvoretzky, Kiefer, Wolfowitz and Massart
	var chance, even []float64
	for range pools {
		numbers, counts, dealt := anyNumbers(t, 1, 5000), make([]int64, cells), make([]int64, cells)
		for v := range int64(2000) {
			counts[numbers.Of(3+v).Below(cells)]++
			if v%2 == 0 { // every other number is evenly distributed
				dealt[v/2%cells]++
			} else {
				dealt[numbers.Of(3+v).Below(cells)]++
			}
		}
		chance, even = append(chance, pOf(counts)), append(even, pOf(dealt))
	}
	require.Less(t, distance(chance), farthest)
	require.Greater(t, distance(even), farthest)
}

// TestNobodyPredicts: nobody can predict the first prize of the next epoch better than
// the odds of the stock allow. This holds even with the pool's commitment, all revealed
// seeds and all earlier draws. The control knows the next seed, and always predicts the
// prize.
func TestNobodyPredicts(t *testing.T) {
	t.Parallel()
	const kinds = 4 // each has the same number of units, so every guess has the same odds
	guesses := map[string]func(n *Numbers, before []int64) int64{
		"the key of the seed before": func(n *Numbers, _ []int64) int64 { return kindBy(Key(n.seeds[1], n.hash, 1, [32]byte{})) },
		"the anchor":                 func(n *Numbers, _ []int64) int64 { return kindBy(Key(n.seeds[0], n.hash, 1, [32]byte{})) },
		"the seed's own hash": func(n *Numbers, _ []int64) int64 {
			return kindBy(Key(sha256.Sum256(n.seeds[1][:]), n.hash, 1, [32]byte{}))
		},
		"the last prize again": func(_ *Numbers, before []int64) int64 { return before[len(before)-1] },
		"the rarest so far": func(_ *Numbers, before []int64) int64 {
			counts := make([]int64, kinds)
			for _, k := range before {
				counts[k]++
			}
			return int64(slices.Index(counts, slices.Min(counts)))
		},
		"the commitment":        func(n *Numbers, _ []int64) int64 { return int64(binary.BigEndian.Uint64(n.hash[:]) % kinds) },
		"a coin":                func(*Numbers, []int64) int64 { return rand.Int64N(kinds) }, //nolint:gosec // any will do
		"CONTROL the next seed": func(n *Numbers, _ []int64) int64 { return kindBy(Key(n.seeds[2], n.hash, 1, [32]byte{})) },
	}
	pools, hits := int64(few(20_000, 100_000)), map[string]int64{}
	for range pools {
		n := anyNumbers(t, 2, 5)
		var before []int64
		for v := range int64(5) {
			before = append(before, n.Of(3+v).Below(kinds))
		}
		next := n.Of(nextEpoch).Below(kinds)
		for name, guess := range guesses {
			if guess(n, before) == next {
				hits[name]++
			}
		}
	}
	for name := range guesses {
		err := drawtest.Judge(drawtest.Sample{Wins: []int64{hits[name], pools - hits[name]}, Stock: []int64{1, kinds - 1}})
		require.Equal(t, name == "CONTROL the next seed", err != nil, "%s: %v", name, err)
	}
}

// nextEpoch is the first version that the second seed covers.
const nextEpoch = 8

// kindBy returns the prize at the version nextEpoch, given a key.
func kindBy(key [32]byte) int64 {
	var k urn.Keyed
	k.SetKey(key)
	return k.Of(nextEpoch).Below(4)
}
