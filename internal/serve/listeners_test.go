package serve

import (
	"net"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/setting"
)

// TestLoopbackIsJudgedOnTheAddress: the bound address decides, not the name that resolved
// to it.
func TestLoopbackIsJudgedOnTheAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"127.0.0.1": true, "127.1.2.3": true, "::1": true, "::ffff:127.0.0.1": true, "0.0.0.0": false, "::": false, "192.0.2.1": false,
	} {
		require.Equal(t, want, isLoopbackAddr(&net.TCPAddr{IP: net.ParseIP(address), Port: 1}), address)
	}
	require.False(t, isLoopbackAddr(&net.UnixAddr{}))
	cmd := &cobra.Command{}
	new(Config).Flags(cmd, setting.Environment{})
	c := Config{listen: "localhost:0"}
	var err error
	c.tokens, err = c.readTokens()
	require.NoError(t, err)
	require.NoError(t, c.validateAddress(true, cmd.Flags()))
	require.ErrorContains(t, c.validateAddress(false, cmd.Flags()), "is open to others", "a name that led elsewhere")
}
