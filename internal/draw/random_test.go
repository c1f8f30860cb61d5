package draw

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// source makes the given numbers the only randomness there is.
func source(numbers ...uint64) *random {
	var b []byte
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return newRandomFrom(bytes.NewReader(b))
}

// TestBelowHasNoBias feeds every pattern of the bits that below looks at,
// once each: every result must come out exactly once, and the patterns beyond
// n must be thrown away, not folded back. Higher bits must not matter.
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
		r := source(feed...)
		for want := range n {
			require.Equal(t, want, r.below(n), "below(%d)", n)
		}
		require.Panics(t, func() { r.below(n) }, "below(%d) used a pattern twice", n)
	}
}

func TestBelowRejects(t *testing.T) {
	r := source(7, 6, 5, 3, 4)
	require.Equal(t, int64(3), r.below(5), "7, 6 and 5 are thrown away, a modulo would have said 2")
	require.Equal(t, int64(4), r.below(5))
}

func TestBelowAtTheEdges(t *testing.T) {
	const most = math.MaxInt64
	r := source(math.MaxUint64, most, most-1, 1<<63, math.MaxUint64-1)
	require.Equal(t, int64(most-1), r.below(most), "the two above are thrown away")
	require.Equal(t, int64(0), r.below(most), "the sign bit is never used")
	require.Equal(t, int64(most-1), r.below(most))

	half := int64(1) << 62
	r = source(uint64(half), uint64(half)-1, uint64(half))
	require.Equal(t, int64(0), r.below(half), "a power of two needs no rejection: the bit above is masked")
	require.Equal(t, half-1, r.below(half))
	require.Equal(t, half, r.below(half+1))
}

// TestBelowOfCrypto: the source that urns use fills the range.
func TestBelowOfCrypto(t *testing.T) {
	r := newRandom()
	seen := make([]int, 10)
	for range 2000 { // misses one of ten with probability 10·0.9^2000 < 1e-90
		seen[r.below(10)]++
	}
	require.NotContains(t, seen, 0)
}
