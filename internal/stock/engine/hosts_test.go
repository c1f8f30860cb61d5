package engine

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHostsInOrder: the host that accepted the last connection comes first. Hosts that
// failed come last for a while, and the others keep their order.
func TestHostsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h Hosts
		order := func() []string {
			return InOrder(&h, []string{"a", "b", "c", "d"}, func(host string) string { return host })
		}
		h.Leave()
		require.Equal(t, []string{"a", "b", "c", "d"}, order(), "nothing is known")
		h.Failed("a")
		h.Took("c")
		require.Equal(t, []string{"c", "b", "d", "a"}, order())
		h.Leave()
		require.Equal(t, []string{"b", "d", "a", "c"}, order())
		h.Leave()
		h.Took("a")
		require.Equal(t, []string{"a", "b", "d", "c"}, order(), "it has come back")
		time.Sleep(hostFailed)
		require.Equal(t, []string{"a", "b", "c", "d"}, order())
	})
}
