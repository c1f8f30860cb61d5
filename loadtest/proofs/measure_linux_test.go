package main

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMemoryIsTheVerifiers: the measured memory is the verifier's own, not that of the
// program that wrote the files and started it.
func TestMemoryIsTheVerifiers(t *testing.T) {
	const own = 256 << 20
	room := make([]byte, own)
	for i := range room {
		room[i] = 1
	}
	v := verifier{name: "sleep", command: []string{"sleep"}}
	m, err := v.run(t.Context(), "0.5")
	require.NoError(t, err)
	require.NotZero(t, m.memory)
	require.Less(t, m.memory, int64(own/4))
	runtime.KeepAlive(room)
}
