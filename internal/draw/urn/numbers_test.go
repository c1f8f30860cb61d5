package urn_test

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// source returns a source that yields only the given words.
func source(words ...uint64) func() uint64 {
	return func() uint64 {
		word := words[0] // panics if there are no more numbers
		words = words[1:]
		return word
	}
}

// TestBelowHasNoBias gives Below every pattern of the bits that it reads, once each.
// Every result must occur exactly once. Patterns beyond n must be rejected, not reduced.
// Higher bits must have no effect.
func TestBelowHasNoBias(t *testing.T) {
	for n := int64(1); n <= 70; n++ {
		patterns := uint64(1)
		for patterns < uint64(n) {
			patterns *= 2
		}
		var feed []uint64
		for v := range patterns {
			feed = append(feed, v|^(patterns-1))
		}
		next := source(feed...)
		for want := range n {
			require.Equal(t, want, urn.Below(n, next), "below(%d)", n)
		}
		require.Panics(t, func() { urn.Below(n, next) }, "below(%d) used a pattern twice", n)
	}
}

func TestBelowRejects(t *testing.T) {
	next := source(7, 6, 5, 3, 4)
	require.Equal(t, int64(3), urn.Below(5, next), "7, 6 and 5 are thrown away, a modulo would have said 2")
	require.Equal(t, int64(4), urn.Below(5, next))
}

func TestBelowAtTheEdges(t *testing.T) {
	const most = math.MaxInt64
	next := source(math.MaxUint64, most, most-1, 1<<63, math.MaxUint64-1)
	require.Equal(t, int64(most-1), urn.Below(most, next), "the two above are thrown away")
	require.Equal(t, int64(0), urn.Below(most, next), "the sign bit is never used")
	require.Equal(t, int64(most-1), urn.Below(most, next))

	half := int64(1) << 62
	next = source(uint64(half), uint64(half)-1, uint64(half))
	require.Equal(t, int64(0), urn.Below(half, next), "a power of two needs no rejection: the bit above is masked")
	require.Equal(t, half-1, urn.Below(half, next))
	require.Equal(t, half, urn.Below(half+1, next))
}

// TestNumbersAreOfTheirVersion: a version has one sequence of numbers, however often it
// is requested, and no two versions or keys share one.
func TestNumbersAreOfTheirVersion(t *testing.T) {
	const limit = 1 << 62
	k, same, other := keyed(1), keyed(1), keyed(2)
	seen := map[int64]bool{}
	for version := range int64(1000) {
		first, again, others := k.Of(version), same.Of(version), other.Of(version)
		for range 9 { // beyond the words of two hashes
			word := first.Below(limit)
			require.Equal(t, word, again.Below(limit))
			require.False(t, seen[word], "a word came twice")
			seen[word] = true
			require.NotEqual(t, word, others.Below(limit))
		}
	}
}

// TestNumbersByVector: the first numbers of eight versions under a known key equal
// those that two independent programs computed.
func TestNumbersByVector(t *testing.T) {
	key, err := hex.DecodeString("953f6d33bbbbfcf6bddc15c8712fd9d85e3ab29c8f0afb49642130220debe6fa")
	require.NoError(t, err)
	k := &urn.Keyed{}
	k.SetKey([32]byte(key))
	for range 2 { // the numbers depend only on key and version
		for i, c := range []struct{ limit, want int64 }{
			{1, 0}, {2, 0}, {3, 0}, {10, 3}, {1000, 727}, {1 << 32, 3690500704}, {1<<62 + 1, 3926863250237900055}, {999999999999, 190610077323},
		} {
			require.Equal(t, c.want, k.Of(int64(i+1)).Below(c.limit), "version %d", i+1)
		}
	}
}

// TestNumbersFillTheirRange: over many versions of an urn every number occurs.
func TestNumbersFillTheirRange(t *testing.T) {
	u := urnOf(draw.StateOpen, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)
	seen := map[string]bool{}
	for version := range int64(2000) { // misses one of ten with probability 10·0.9^2000 < 1e-90
		p := taken(u, version+1)
		seen[p.Awards[0].PrizeID] = true
		p.Undo()
	}
	require.Len(t, seen, 10)
}
