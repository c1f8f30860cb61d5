package main

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	const rest = ` S 41 42 42 0 -1 4194304 2500 99 0 0 311 122 7 5 20 0 12 0 8161 1268277248 4721 18446744073709551615`
	for _, name := range []string{"postgres", "a b", "a) S 9 (b", ")(", ""} {
		s, err := parseStat([]byte("43 (" + name + ")" + rest + "\n"))
		require.NoError(t, err, name)
		assert.Equal(t, procStat{name: name, parent: 41, used: 4330 * time.Millisecond, reaped: 120 * time.Millisecond}, s)
	}
	for _, line := range []string{"", "43", "43 (postgres", ") 43 (", "43 (postgres) S 41", "43 (x) S x 42 42 0 -1 0 0 0 0 0 1 2 3 4 20"} {
		_, err := parseStat([]byte(line))
		require.ErrorIs(t, err, errStat, line)
	}
}

func TestCPUOf(t *testing.T) {
	s := func(parent int, used, reaped time.Duration) procStat {
		return procStat{parent: parent, used: used, reaped: reaped}
	}
	all := map[int]procStat{1: s(0, 100, 0), 10: s(1, 1, 2), 11: s(10, 4, 0), 12: s(11, 8, 16), 20: s(1, 1000, 0)}
	assert.Equal(t, time.Duration(31), cpuOf(all, 10), "the process, its child and grandchild")
	assert.Equal(t, time.Duration(31), cpuOf(all, 10, 11), "none is counted twice")
	assert.Equal(t, time.Duration(1031), cpuOf(all, 10, 20))
	assert.Equal(t, time.Duration(1000), cpuOf(all, 20, 99), "one that has ended is nothing")
}

func TestProcesses(t *testing.T) {
	before, err := processes()
	require.NoError(t, err)
	var after map[int]procStat
	require.Eventually(t, func() bool { // it works meanwhile
		after, err = processes()
		return err == nil && cpuOf(after, os.Getpid())-cpuOf(before, os.Getpid()) > 2*tick
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, os.Getppid(), after[os.Getpid()].parent)
	assert.True(t, childrenOf(after, os.Getppid(), after[os.Getpid()].name)[os.Getpid()])
	peak, err := peakOf([]int{os.Getpid()})
	require.NoError(t, err)
	assert.Greater(t, peak, int64(1<<20))
}

func TestParsePeak(t *testing.T) {
	peak, err := parsePeak([]byte("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t   48 kB\nVmRSS:\t  12 kB\n"))
	require.NoError(t, err)
	assert.Equal(t, int64(48<<10), peak)
	for _, status := range []string{"", "VmHWM:\n", "VmHWM:\t1 MB\n", "VmHWM:\tx kB\n"} {
		_, err := parsePeak([]byte(status))
		require.Error(t, err, status)
	}
}

func TestParseBusy(t *testing.T) {
	busy, err := parseBusy([]byte("cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n"))
	require.NoError(t, err)
	assert.Equal(t, 171*tick, busy, "all but idle, iowait and what user has in it already")
	_, err = parseBusy([]byte("intr 1 2 3\n"))
	require.Error(t, err)
}
