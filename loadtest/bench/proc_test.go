package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOwnProc reads a /proc that the test wrote. The program's name may contain blanks
// and parentheses. All CPU times count, except idle, iowait, and the times that are
// already part of user.
func TestOwnProc(t *testing.T) {
	const rest = ` S 41 42 42 0 -1 4194304 2500 99 0 0 311 122 7 5 20 0 12 0 8161 1268277248 4721 18446744073709551615` +
		` 1 1 0 0 0 0 0 4096 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0`
	folder := t.TempDir()
	write := func(file, text string) {
		require.NoError(t, os.MkdirAll(filepath.Join(folder, filepath.Dir(file)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600))
	}
	names := []string{"postgres", "a b", "a) S 9 (b", ")(", ""}
	for n, name := range names {
		write(fmt.Sprint(n, "/stat"), fmt.Sprint(n)+" ("+name+")"+rest+"\n")
	}
	write("stat", "cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
	proc, err := procfs.NewFS(folder)
	require.NoError(t, err)
	all, err := processesOf(proc)
	require.NoError(t, err)
	for n, name := range names {
		assert.Equal(t, name, all[n].Comm)
		assert.Equal(t, 41, all[n].PPID)
		assert.Equal(t, 4450*time.Millisecond, cpuOf(all, n))
	}
	busy, err := busyOf(proc)
	require.NoError(t, err)
	assert.Equal(t, 171*tick, busy.Round(time.Microsecond))
	for _, line := range []string{"", "43", "43 (postgres) S 41"} {
		write("43/stat", line)
		_, err := processesOf(proc)
		require.Error(t, err, line)
	}
}

func TestCPUOf(t *testing.T) {
	s := func(parent int, used uint, reaped int) procfs.ProcStat {
		return procfs.ProcStat{PPID: parent, UTime: used, CUTime: reaped}
	}
	all := map[int]procfs.ProcStat{1: s(0, 100, 0), 10: s(1, 1, 2), 11: s(10, 4, 0), 12: s(11, 8, 16), 20: s(1, 1000, 0)}
	assert.Equal(t, 31*tick, cpuOf(all, 10), "the process, its child and grandchild")
	assert.Equal(t, 31*tick, cpuOf(all, 10, 11), "none is counted twice")
	assert.Equal(t, 1031*tick, cpuOf(all, 10, 20))
	assert.Equal(t, 1000*tick, cpuOf(all, 20, 99), "one that has ended is nothing")
}

func TestProcesses(t *testing.T) {
	before, err := processes()
	require.NoError(t, err)
	var after map[int]procfs.ProcStat
	require.Eventually(t, func() bool { // the loop itself uses CPU
		after, err = processes()
		return err == nil && cpuOf(after, os.Getpid())-cpuOf(before, os.Getpid()) > 2*tick
	}, 10*time.Second, time.Millisecond)
	assert.Equal(t, os.Getppid(), after[os.Getpid()].PPID)
	assert.True(t, childrenOf(after, os.Getppid(), after[os.Getpid()].Comm)[os.Getpid()])
	peak, err := peakOf(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, peak, uint64(1<<20))
}
