package stage

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// Whose clock an experiment moves.
const (
	ClockOfDatabase = "database"
	ClockOfLock     = "lock"
)

// clock is one that can be set: programs that start with its environment read
// the time by way of libfaketime.
type clock struct {
	file    string
	environ []string
}

func newClock(s *harness.Site) *clock {
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
	if err != nil || len(libraries) == 0 {
		s.Skip("libfaketime is not installed")
	}
	folder := s.TempDir()
	s.Must(os.Chmod(folder, 0o755)) // servers have an account of their own
	file := filepath.Join(folder, "clock")
	return clockOf(s, file,
		// The C library's malloc comes before jemalloc, which asks for the time
		// before libfaketime can say it.
		"LD_PRELOAD="+libraries[0]+":libc.so.6", "FAKETIME_TIMESTAMP_FILE="+file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
}

// newOwnClock is that of an instance, whose program has fault points. It reads
// the time without the C library.
func newOwnClock(s *harness.Site) *clock {
	file := filepath.Join(s.TempDir(), "clock")
	return clockOf(s, file, "DRAWSVC_CLOCK="+file)
}

func clockOf(s *harness.Site, file string, environ ...string) *clock {
	c := &clock{file: file, environ: environ}
	s.Must(c.Set("+0s"))
	return c
}

// Set moves the clock to an amount such as "+3600s" from the machine's, in one
// step: the server reads it whenever it asks for the time.
func (c *clock) Set(amount string) error {
	return Replace(c.file, amount, 0o644)
}

// Replace gives a file another content in one step.
func Replace(file, content string, mode fs.FileMode) error {
	if err := os.WriteFile(file+".new", []byte(content), mode); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// ownClock is the environment of an instance of a program with fault points,
// where a clock is moved: that of an embedded database is the instance's, and
// beside a server each instance has one that is wrong.
func (w *World) ownClock(n int) []string {
	if w.Clock != ClockOfDatabase || !w.Points {
		return nil
	}
	if w.Database == "sqlite" {
		return w.ClockMoved.environ
	}
	c := newOwnClock(w.Site)
	w.Must(c.Set(fmt.Sprintf("%+ds", 90*(n-1))))
	return c.environ
}

// clocked starts a server of the world's own whose clock can be moved.
func (w *World) clocked(kind string) *servertest.Server {
	w.ClockMoved = newClock(w.Site)
	return servertest.Start(w.Site, kind, servertest.Args(place.Of(kind).Small...), servertest.Environ(w.ClockMoved.environ...))
}
