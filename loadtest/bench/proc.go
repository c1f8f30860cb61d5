package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/prometheus/procfs"
)

// tick is the unit of a process's CPU times: USER_HZ is 100 on every Linux.
const tick = 10 * time.Millisecond

func processes() (map[int]procfs.ProcStat, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return nil, err
	}
	return processesOf(proc)
}

func processesOf(proc procfs.FS) (map[int]procfs.ProcStat, error) {
	running, err := proc.AllProcs()
	if err != nil {
		return nil, err
	}
	all := make(map[int]procfs.ProcStat)
	for _, p := range running {
		stat, err := p.Stat()
		if _, ended := errors.AsType[*fs.PathError](err); ended {
			continue // just now
		}
		if err != nil {
			return nil, err
		}
		all[p.PID] = stat
	}
	return all, nil
}

// busyOf is how long all CPUs have worked, for whomever, the machine's other
// guests included.
func busyOf(proc procfs.FS) (time.Duration, error) {
	stat, err := proc.Stat()
	c := stat.CPUTotal
	return time.Duration((c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal) * float64(time.Second)), err
}

// others is how long the CPUs have worked for others than this run, all of
// whose processes descend from this one, and than the kernel's own threads.
func others(all map[int]procfs.ProcStat) (time.Duration, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return 0, err
	}
	busy, err := busyOf(proc)
	ours := []int{os.Getpid()}
	if all[2].Comm == "kthreadd" {
		ours = append(ours, 2)
	}
	return busy - cpuOf(all, ours...), err
}

// cpuOf adds up the processes and all that descend from them. A descendant
// that ends moves what it used to its parent, so nothing is lost.
func cpuOf(all map[int]procfs.ProcStat, pids ...int) time.Duration {
	var sum time.Duration
	within := make(map[int]bool)
	for _, pid := range pids {
		within[pid] = true
	}
	for pid, p := range all {
		if descends(all, pid, within) {
			sum += time.Duration(int(p.UTime+p.STime)+p.CUTime+p.CSTime) * tick //nolint:gosec // ticks are few
		}
	}
	return sum
}

func descends(all map[int]procfs.ProcStat, pid int, set map[int]bool) bool {
	for range len(all) {
		if set[pid] {
			return true
		}
		p, ok := all[pid]
		if !ok {
			return false
		}
		pid = p.PPID
	}
	return false
}

func childrenOf(all map[int]procfs.ProcStat, parent int, program string) map[int]bool {
	found := make(map[int]bool)
	for pid, p := range all {
		if p.PPID == parent && p.Comm == program {
			found[pid] = true
		}
	}
	return found
}

// peakOf adds up the processes' highest resident memory, in bytes.
func peakOf(pids ...int) (uint64, error) {
	var sum uint64
	for _, pid := range pids {
		p, err := procfs.NewProc(pid)
		if err != nil {
			return 0, err
		}
		status, err := p.NewStatus()
		if err != nil {
			return 0, err
		}
		if status.VmHWM == 0 {
			return 0, fmt.Errorf("/proc/%d/status has no VmHWM", pid)
		}
		sum += status.VmHWM
	}
	return sum, nil
}
