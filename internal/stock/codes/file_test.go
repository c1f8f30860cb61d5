package codes

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRepeatedLinesTakeLittleMemory: the memory for a file grows with its lines and its
// different codes. The broken double, a map with room for a code of each line, exceeds
// the limit.
func TestRepeatedLinesTakeLittleMemory(t *testing.T) {
	const lines, most = 4 << 20, 140 << 20
	file := strings.Repeat("a\n", lines)
	var read *codeFile
	taken := allocated(func() {
		var err error
		read, err = readFile(strings.NewReader(file), true)
		require.NoError(t, err)
	})
	require.Len(t, read.lines, lines)
	require.Less(t, taken, uint64(most))
	var seen map[string]int
	double := allocated(func() { seen = make(map[string]int, lines) })
	require.Empty(t, seen)
	require.Greater(t, taken+double, uint64(most))
}

// TestCodesTakeLittleMemory: a million codes take only a few times the memory of their
// text. The broken double, a map that keeps each code, exceeds the limit.
func TestCodesTakeLittleMemory(t *testing.T) {
	const lines, most = 1 << 20, 110 << 20
	var text []byte
	for n := range lines {
		text = fmt.Appendf(text, "%016d\n", n)
	}
	text = append(text, "0000000000000007\r\n"...)
	var read *codeFile
	taken := allocated(func() {
		var err error
		read, err = readFile(bytes.NewReader(text), true)
		require.NoError(t, err)
	})
	require.Len(t, read.lines, lines+1)
	require.Equal(t, line{from: lines * 17, length: 16, number: lines + 1, repeats: 8}, read.lines[lines])
	for n := range read.lines[:lines] {
		require.Zero(t, read.lines[n].repeats)
	}
	require.Less(t, taken, uint64(most))
	double := allocated(func() {
		seen := map[string]int32{}
		for n := range read.lines {
			seen[string(read.code(&read.lines[n]))] = read.lines[n].number
		}
		require.Len(t, seen, lines)
	})
	require.Greater(t, taken+double, uint64(most))
}

// allocated returns how many bytes a function allocates.
func allocated(by func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	by()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
