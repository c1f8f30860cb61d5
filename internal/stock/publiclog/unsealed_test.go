package publiclog

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
)

// TestUnsealedIsOfOneCommitment: secrets of another commitment of the same pool are not
// returned, and with many pools only few commitments are kept.
func TestUnsealedIsOfOneCommitment(t *testing.T) {
	var c unsealedCache
	kept := unsealed{note: "first", numbers: &proof.Numbers{}, signing: &signing{}}
	c.keep("p", kept)
	require.Equal(t, kept, c.find("p", "first"))
	require.Equal(t, unsealed{note: "second"}, c.find("p", "second"))
	require.Equal(t, unsealed{note: "first"}, c.find("q", "first"))
	for i := range 10 * unsealedMax {
		pool := fmt.Sprint("p", i)
		c.keep(pool, kept)
		require.Equal(t, kept, c.find(pool, "first"))
		c.noteAway(pool, true)
	}
	require.Len(t, c.byPool, unsealedMax)
	require.Len(t, c.away, unsealedMax)
	require.True(t, c.isAnyAway())
	for pool := range c.away {
		c.noteAway(pool, false)
	}
	require.False(t, c.isAnyAway())
}
