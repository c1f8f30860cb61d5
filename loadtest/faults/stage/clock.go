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

// The owners of the clock that an experiment moves.
const (
	ClockOfDatabase = "database"
	ClockOfLock     = "lock"
)

// clock is a clock that can be set: programs that start with its environment read the
// time through libfaketime.
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
	s.Must(os.Chmod(folder, 0o755)) // servers run under another account
	file := filepath.Join(folder, "clock")
	return clockOf(s, file,
		// The C library's malloc must come before jemalloc, which reads the time before
		// libfaketime is ready.
		"LD_PRELOAD="+libraries[0]+":libc.so.6", "FAKETIME_TIMESTAMP_FILE="+file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	)
}

// newOwnClock returns the clock of an instance, whose program has fault points. The
// program reads the time without the C library.
func newOwnClock(s *harness.Site) *clock {
	file := filepath.Join(s.TempDir(), "clock")
	return clockOf(s, file, "DRAWSVC_CLOCK="+file)
}

func clockOf(s *harness.Site, file string, environ ...string) *clock {
	c := &clock{file: file, environ: environ}
	s.Must(c.Set("+0s"))
	return c
}

// Set sets the clock's difference from the machine's, such as "+3600s", atomically: the
// server may read the file whenever it reads the time.
func (c *clock) Set(amount string) error {
	return Replace(c.file, amount, 0o644)
}

// Replace replaces a file's content atomically.
func Replace(file, content string, mode fs.FileMode) error {
	if err := os.WriteFile(file+".new", []byte(content), mode); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// ownClock returns the environment of an instance whose clock is moved; its program has
// fault points. An embedded database uses the instance's clock. With a server, each
// instance has a different wrong clock.
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

// clocked starts a server only for this world, with a clock that can be moved.
func (w *World) clocked(kind string) *servertest.Server {
	w.ClockMoved = newClock(w.Site)
	return servertest.Start(w.Site, kind, servertest.Args(place.Of(kind).Small...), servertest.Environ(w.ClockMoved.environ...))
}
