package stock

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHashesAreBounded: of more pools than are kept, the one that was used longest
// ago goes; hashes that led to another root are read anew once in a while alone.
func TestHashesAreBounded(t *testing.T) {
	var h hashes
	first, second := h.of("p0"), h.of("p1")
	for i := 2; i < 10*hashedPoolsMax; i++ {
		h.of(fmt.Sprint("p", i))
		require.Same(t, first, h.of("p0"), "it is used")
		require.LessOrEqual(t, len(h.byPool), hashedPoolsMax)
	}
	require.NotSame(t, second, h.of("p1"))

	require.True(t, h.drop("p0", first))
	again := h.of("p0")
	require.NotSame(t, first, again)
	require.False(t, h.drop("p0", first), "another caller has dropped it")
	require.False(t, h.drop("p0", again), "it was read anew just now")
	h.reread["p0"] = h.reread["p0"].Add(-2 * rereadEvery)
	require.True(t, h.drop("p0", again))

	for i := range 2 * rereadPoolsMax {
		pool := fmt.Sprint("forked", i)
		dropped := h.drop(pool, h.of(pool))
		require.Equal(t, i < rereadPoolsMax-1, dropped, "%d: p0 is one of them", i)
	}
	require.Len(t, h.reread, rereadPoolsMax)
	for pool := range h.reread {
		h.reread[pool] = h.reread[pool].Add(-2 * rereadEvery)
	}
	require.True(t, h.drop("late", h.of("late")))
	require.Len(t, h.reread, 1, "those of before are forgotten")
}
