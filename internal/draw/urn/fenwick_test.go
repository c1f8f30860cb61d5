package urn_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
)

// find returns the count that a unit falls into, by a simple search.
func find(counts []int64, unit int64) int {
	for i, n := range counts {
		if unit < n {
			return i
		}
		unit -= n
	}
	return len(counts)
}

// held returns the id of the prize that contains a unit, by a simple search.
func held(counts []int64, unit int64) string { return fmt.Sprint("p", find(counts, unit)) }

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

func prizeOf(i int, stocked int64) draw.Prize {
	return draw.Prize{ID: fmt.Sprint("p", i), Name: "Prize", Stocked: stocked}
}

func prizesOf(counts []int64) (prizes []draw.Prize) {
	for i, n := range counts {
		prizes = append(prizes, prizeOf(i, n))
	}
	return prizes
}

// TestUnitsAgainstSlice compares the places of an urn's units with a slice, under any
// sequence of changes.
func TestUnitsAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(0, 1000)
		counts := rapid.SliceOfN(count, 0, 40).Draw(t, "counts")
		aim := &aimed{}
		u := urn.NewUrnFrom("p", aim)
		restocked(u, prizesOf(counts)...)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n := count.Draw(t, "count")
				restocked(u, prizeOf(len(counts), n))
				counts = append(counts, n)
			},
			"add": func(t *rapid.T) {
				if len(counts) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(counts)-1).Draw(t, "place")
				counts[i] += rapid.Int64Range(-counts[i], 1000).Draw(t, "delta")
				restocked(u, prizeOf(i, counts[i]))
			},
			"": func(t *rapid.T) {
				sum := total(counts)
				if sum == 0 {
					return
				}
				units := []int64{0, sum - 1, rapid.Int64Range(0, sum-1).Draw(t, "unit")}
				for _, unit := range units {
					if want, got := held(counts, unit), aim.at(u, unit).PrizeID; want != got {
						t.Fatalf("unit %d of %v is of %s, found in %s", unit, counts, want, got)
					}
				}
			},
		})
	})
}

// TestUnitsWhole compares every unit of urns of every small size. Their prizes were added
// one by one, or are shares of fixed odds, which are arranged at once.
func TestUnitsWhole(t *testing.T) {
	for size := range 34 {
		counts := make([]int64, size)
		aim := &aimed{}
		pushed := urn.NewUrnFrom("p", aim)
		for i := range counts {
			counts[i] = int64((i*7 + size) % 4)
			restocked(pushed, prizeOf(i, counts[i]))
		}
		if total(counts) == 0 {
			continue
		}
		built := urn.NewUrnFrom("p", aim)
		built.Seen(urn.Snapshot{
			State: draw.StateOpen, Head: draw.NewHead().Next(1), Rules: drawtest.Rules(t, oddsOf(counts)),
			Prizes: append(prizesOf(slices.Repeat([]int64{9}, size)), drawtest.Campaign()[4]),
		})
		for unit := range total(counts) {
			require.Equal(t, held(counts, unit), aim.at(built, unit).PrizeID, "size %d, unit %d", size, unit)
			require.Equal(t, held(counts, unit), aim.at(pushed, unit).PrizeID, "size %d, unit %d, pushed", size, unit)
		}
	}
}

// oddsOf returns rules with the counts as fixed odds.
func oddsOf(counts []int64) string {
	var shares []string
	for i, n := range counts {
		shares = append(shares, fmt.Sprintf(`"p%d":%d`, i, n))
	}
	return fmt.Sprintf(`{"fallback":"none","odds":{"of":%d,"prizes":{%s}}}`, total(counts), strings.Join(shares, ","))
}

func TestUnitsAtTheEdges(t *testing.T) {
	counts := []int64{0, math.MaxInt64 - 3, 0, 2, 1, 0}
	aim := &aimed{}
	u := urn.NewUrnFrom("p", aim)
	restocked(u, prizesOf(counts)...)
	for unit, want := range map[int64]string{
		0: "p1", math.MaxInt64 - 4: "p1", math.MaxInt64 - 3: "p3", math.MaxInt64 - 2: "p3", math.MaxInt64 - 1: "p4",
	} {
		require.Equal(t, want, aim.at(u, unit).PrizeID, "unit %d", unit)
	}
	restocked(u, prizeOf(1, 0))
	require.Equal(t, "p3", aim.at(u, 0).PrizeID)
	restocked(u, prizeOf(0, math.MaxInt64-3))
	require.Equal(t, "p0", aim.at(u, math.MaxInt64-4).PrizeID)
}
