package client

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFloodedCallIsSlow: a call is slow only beyond both bounds, and the slowest role
// is named.
func TestFloodedCallIsSlow(t *testing.T) {
	t.Parallel()
	short := FloodedCall{Usual: 2, Under: map[string]float64{"draw": 499, "stock": 20, "auditor": 499}}
	took, role := short.Worst()
	require.Equal(t, 499.0, took)
	require.Equal(t, "auditor", role)
	require.False(t, short.IsSlow(499))
	require.True(t, short.IsSlow(500))
	long := FloodedCall{Usual: 80}
	require.False(t, long.IsSlow(799))
	require.True(t, long.IsSlow(800))
}
