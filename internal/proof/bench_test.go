package proof

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkNumber measures the time for the number of one unit of a committed pool. It
// may take at most 150 ns.
func BenchmarkNumber(b *testing.B) {
	seed := NewSeed()
	c := &Commitment{Origin: worldOrigin, Anchor: seed.Before(256), Epochs: 256, EpochLength: 1 << 20, Size: 1}
	numbers, follows := NewNumbers(c, 2, seed, 256)
	require.True(b, follows)
	var sum int64
	for version := int64(3); b.Loop(); version++ {
		sum += numbers.Of(version%(1<<27) + 3).Below(1_000_003)
	}
	require.Positive(b, sum)
}
