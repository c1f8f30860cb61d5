package servertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

const (
	// throttlePeriod is the kernel's default period. In each period, a server gets its part
	// of a core.
	throttlePeriod = 100 * time.Millisecond
	// dutyTurn is the period if the server is stopped and resumed instead.
	dutyTurn = 40 * time.Millisecond
	// cgroupEndMax is the maximum time until a cgroup is empty.
	cgroupEndMax = 10 * time.Second
)

// cgroupRoots returns the folders for cgroups with a quota of processor time: both usual
// folders of version 1, and the one of version 2.
func cgroupRoots() []string {
	return []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"}
}

// Throttle gives the server a part of one core until undo is called. It uses a cgroup if
// it can create one. Otherwise it stops the server most of the time. how states which of
// the two it uses.
func (s *Server) Throttle(part float64) (undo func(), how string) {
	for _, root := range cgroupRoots() {
		if undo, err := s.throttleIn(root, part); err == nil {
			return undo, "cgroup"
		}
	}
	return s.throttleByStops(part), "stopped and resumed"
}

// throttleIn moves the server into a new cgroup below root. Processes that the server
// starts later are in the cgroup too.
func (s *Server) throttleIn(root string, part float64) (undo func(), err error) {
	folder, err := os.MkdirTemp(root, "drawsvc-test-")
	if err != nil {
		return nil, err
	}
	undo = sync.OnceFunc(func() {
		for end := time.Now().Add(cgroupEndMax); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			s.act(func(p *process) { _ = p.moveTo(root) }) // an error means that processes have ended
			if os.Remove(folder) == nil {
				return
			}
		}
	})
	period, quota := strconv.FormatInt(throttlePeriod.Microseconds(), 10), strconv.FormatInt(int64(part*float64(throttlePeriod.Microseconds())), 10)
	if err = write(filepath.Join(folder, "cpu.cfs_period_us"), period); err == nil {
		err = write(filepath.Join(folder, "cpu.cfs_quota_us"), quota)
	} else {
		err = write(filepath.Join(folder, "cpu.max"), quota+" "+period)
	}
	if err == nil {
		s.act(func(p *process) { err = p.moveTo(folder) })
	}
	if err != nil {
		undo()
		return nil, err
	}
	return undo, nil
}

// write writes to a file of the kernel.
func write(file, text string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// throttleByStops stops the server for most of each period.
func (s *Server) throttleByStops(part float64) (undo func()) {
	runs := time.Duration(part * float64(dutyTurn))
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			s.Pause()
			time.Sleep(dutyTurn - runs)
			s.Resume()
			time.Sleep(runs)
		}
	}()
	return func() { end(); <-ended }
}
