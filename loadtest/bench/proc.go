package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// tick is the unit of /proc/PID/stat: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

// procStat is what is needed of /proc/PID/stat.
type procStat struct {
	name   string
	parent int
	// used is the CPU time of all threads, reaped that of the children that
	// have ended and were waited for.
	used, reaped time.Duration
}

var errStat = errors.New("/proc/PID/stat cannot be read")

// parseStat reads the one line of /proc/PID/stat. The program's name stands in
// parentheses and may itself hold blanks and parentheses.
func parseStat(line []byte) (procStat, error) {
	from, to := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if from < 0 || to < from {
		return procStat{}, errStat
	}
	fields := bytes.Fields(line[to+1:]) // the first is the third of proc(5)
	if len(fields) < 15 {
		return procStat{}, errStat
	}
	var err error
	number := func(proc5 int) int64 {
		n, e := strconv.ParseInt(string(fields[proc5-3]), 10, 64)
		err = errors.Join(err, e)
		return n
	}
	s := procStat{
		name: string(line[from+1 : to]), parent: int(number(4)),
		used:   time.Duration(number(14)+number(15)) * tick,
		reaped: time.Duration(number(16)+number(17)) * tick,
	}
	if err != nil {
		return procStat{}, fmt.Errorf("%w: %w", errStat, err)
	}
	return s, nil
}

// processes reads all that run.
func processes() (map[int]procStat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := make(map[int]procStat)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has just ended
		}
		if all[pid], err = parseStat(line); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// parseBusy reads from /proc/stat how long all CPUs have worked, for whomever,
// the machine's other guests included.
func parseBusy(text []byte) (time.Duration, error) {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	fields := bytes.Fields(line) // cpu user nice system idle iowait irq softirq steal …
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return 0, errors.New("/proc/stat cannot be read")
	}
	var sum time.Duration
	for _, k := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(string(fields[k]), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat cannot be read: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// others is how long the CPUs have worked for others than this run, all of
// whose processes descend from this one, and than the kernel's own threads.
func others(all map[int]procStat) (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	busy, err := parseBusy(text)
	ours := []int{os.Getpid()}
	if all[2].name == "kthreadd" {
		ours = append(ours, 2)
	}
	return busy - cpuOf(all, ours...), err
}

// cpuOf adds up the processes and all that descend from them. A descendant
// that ends moves what it used to its parent, so nothing is lost.
func cpuOf(all map[int]procStat, pids ...int) time.Duration {
	var sum time.Duration
	within := make(map[int]bool)
	for _, pid := range pids {
		within[pid] = true
	}
	for pid, p := range all {
		if descends(all, pid, within) {
			sum += p.used + p.reaped
		}
	}
	return sum
}

// descends says whether a process or one of its ancestors is in the set.
func descends(all map[int]procStat, pid int, set map[int]bool) bool {
	for range len(all) {
		if set[pid] {
			return true
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.parent
	}
	return false
}

// childrenOf lists the direct children that run the program.
func childrenOf(all map[int]procStat, parent int, program string) map[int]bool {
	found := make(map[int]bool)
	for pid, p := range all {
		if p.parent == parent && p.name == program {
			found[pid] = true
		}
	}
	return found
}

// parsePeak reads the highest resident memory, in bytes, of /proc/PID/status.
func parsePeak(status []byte) (int64, error) {
	for line := range bytes.Lines(status) {
		rest, ok := bytes.CutPrefix(line, []byte("VmHWM:"))
		if !ok {
			continue
		}
		fields := bytes.Fields(rest)
		if len(fields) != 2 || string(fields[1]) != "kB" {
			break
		}
		kib, err := strconv.ParseInt(string(fields[0]), 10, 64)
		return kib << 10, err
	}
	return 0, errors.New("/proc/PID/status has no VmHWM")
}

// peakOf adds up the processes' highest resident memory, in bytes.
func peakOf(pids []int) (int64, error) {
	var sum int64
	for _, pid := range pids {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		peak, err := parsePeak(status)
		if err != nil {
			return 0, err
		}
		sum += peak
	}
	return sum, nil
}
