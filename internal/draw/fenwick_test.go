package draw

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// find is the plain way of fenwick.find.
func find(counts []int64, unit int64) int {
	for i, n := range counts {
		if unit < n {
			return i
		}
		unit -= n
	}
	return len(counts)
}

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// TestFenwickAgainstSlice holds the tree to a slice under any sequence of
// changes.
func TestFenwickAgainstSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.Int64Range(0, 1000)
		counts := rapid.SliceOfN(count, 0, 40).Draw(t, "counts")
		tree := newFenwick(counts)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				n := count.Draw(t, "count")
				counts = append(counts, n)
				tree.push(n)
			},
			"add": func(t *rapid.T) {
				if len(counts) == 0 {
					t.Skip("empty")
				}
				i := rapid.IntRange(0, len(counts)-1).Draw(t, "place")
				delta := rapid.Int64Range(-counts[i], 1000).Draw(t, "delta")
				counts[i] += delta
				tree.add(i, delta)
			},
			"": func(t *rapid.T) {
				sum := total(counts)
				if sum == 0 {
					return
				}
				units := []int64{0, sum - 1, rapid.Int64Range(0, sum-1).Draw(t, "unit")}
				for _, unit := range units {
					if want, got := find(counts, unit), tree.find(unit); want != got {
						t.Fatalf("unit %d of %v is at %d, found at %d", unit, counts, want, got)
					}
				}
			},
		})
	})
}

// TestFenwickWhole compares every unit of trees of every small size, built at
// once and by pushing.
func TestFenwickWhole(t *testing.T) {
	for size := range 34 {
		counts := make([]int64, size)
		var pushed fenwick
		for i := range counts {
			counts[i] = int64((i*7 + size) % 4)
			pushed.push(counts[i])
		}
		built := newFenwick(counts)
		for unit := range total(counts) {
			require.Equal(t, find(counts, unit), built.find(unit), "size %d, unit %d", size, unit)
			require.Equal(t, find(counts, unit), pushed.find(unit), "size %d, unit %d, pushed", size, unit)
		}
	}
}

func TestFenwickAtTheEdges(t *testing.T) {
	counts := []int64{0, math.MaxInt64 - 3, 0, 2, 1, 0}
	tree := newFenwick(counts)
	for unit, want := range map[int64]int{
		0: 1, math.MaxInt64 - 4: 1, math.MaxInt64 - 3: 3, math.MaxInt64 - 2: 3, math.MaxInt64 - 1: 4,
	} {
		require.Equal(t, want, tree.find(unit), "unit %d", unit)
	}
	tree.add(1, -(math.MaxInt64 - 3))
	require.Equal(t, 3, tree.find(0))
	tree.add(0, math.MaxInt64-3)
	require.Equal(t, 0, tree.find(math.MaxInt64-4))
}
