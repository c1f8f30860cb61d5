package serve

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConnectionsDefault(t *testing.T) {
	t.Parallel()
	for limit, want := range map[uint64]int{0: 8192, 1 << 40: 8192, 1_000_000: 8192, 8320: 8192, 1024: 896, 200: 100, 128: 64, 1: 1} {
		require.Equal(t, want, connectionsDefault(limit), limit)
	}
	c := Config{connections: 500}
	require.ErrorContains(t, c.readConnections(400), "must be below the limit of open files, which is 400")
	require.NoError(t, c.readConnections(0))
}
