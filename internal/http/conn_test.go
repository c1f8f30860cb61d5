package http

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnwatched: only while a draw is decided is a connection not listened to,
// and nothing that was sent meanwhile is lost.
func TestUnwatched(t *testing.T) {
	caller, accepted := net.Pipe()
	defer caller.Close()
	c := &conn{Conn: accepted}
	sent := make(chan error, 1)
	go func() {
		_, err := caller.Write([]byte("next"))
		sent <- err
	}()
	again := unwatched(withConn(t.Context(), c))
	one := make([]byte, 1)
	n, err := c.Read(one)
	require.NoError(t, err)
	require.Zero(t, n, "the watch is told that there is nothing")
	more := make([]byte, 2)
	n, err = c.Read(more)
	require.NoError(t, err)
	require.Equal(t, "ne", string(more[:n]), "what is no watch is read")
	again()
	n, err = c.Read(one)
	require.NoError(t, err)
	require.Equal(t, "x", string(one[:n]))
	_, err = c.Read(one)
	require.NoError(t, err)
	require.NoError(t, <-sent)
	unwatched(t.Context())() // a connection of somebody else's server
}
