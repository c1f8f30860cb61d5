package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
)

// Whose clock an experiment moves.
const (
	clockOfDatabase = "database"
	clockOfLock     = "lock"
)

// clockFaults move the clock of a database server by an hour. The clocks of the
// service and of an SQLite file, which is the service's own, are the machine's
// and are not moved.
func clockFaults() []experiment {
	return []experiment{{
		name: "database's clock an hour ahead, then back", number: 15, clock: clockOfDatabase, run: clockMoved,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"postgres", lockmode.Optimistic, "", 2}, {"postgres", lockmode.External, "table", 2},
			{"mysql", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.Optimistic, "", 2}, {"mysql", lockmode.External, "table", 2},
		},
	}}
}

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
	if err := os.Chmod(folder, 0o755); err != nil { // servers have an account of their own
		s.Fatal(err)
	}
	c := &clock{file: filepath.Join(folder, "clock")}
	c.environ = []string{
		// The C library's malloc comes before jemalloc, which asks for the time
		// before libfaketime can say it.
		"LD_PRELOAD=" + libraries[0] + ":libc.so.6", "FAKETIME_TIMESTAMP_FILE=" + c.file,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
	if err := c.set("+0s"); err != nil {
		s.Fatal(err)
	}
	return c
}

// set moves the clock to an amount such as "+3600s" from the machine's, in one
// step: the server reads it whenever it looks at its clock.
func (c *clock) set(amount string) error {
	if err := os.WriteFile(c.file+".new", []byte(amount), 0o644); err != nil {
		return err
	}
	return os.Rename(c.file+".new", c.file)
}

// clocked starts a server of the world's own whose clock can be moved.
func (w *world) clocked(kind string) *servertest.Server {
	w.clockMoved = newClock(w.Site)
	return servertest.Start(w.Site, kind, servertest.Args(serverArgs(kind)...), servertest.Environ(w.clockMoved.environ...))
}

// clockMoved moves the clock ahead, right again, back, and right again.
func clockMoved(t *trial) error {
	for _, seconds := range []int64{3600, 0, -3600, 0} {
		if err := t.clockMoved.set(fmt.Sprintf("%+ds", seconds)); err != nil {
			return err
		}
		if err := t.clockIsOff(seconds); err != nil {
			return err
		}
		t.ended = time.Now()
		if seconds != 0 {
			t.sleep(1000, 1500)
		}
	}
	return nil
}

// clockIsOff wants the server to tell the time that it was given.
func (t *trial) clockIsOff(seconds int64) error {
	var told int64
	var err error
	if t.clock == clockOfLock {
		var answer string
		if answer, err = redisDo(t.ctx, t.lockServers[0].Addr(), "TIME"); err == nil {
			_, err = fmt.Sscanf(answer, "[%d", &told)
		}
	} else {
		told, err = t.count(t.ctx, map[string]string{
			"postgres": `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS BIGINT)`, "mysql": `SELECT UNIX_TIMESTAMP()`,
		}[t.kind])
	}
	if err != nil {
		return err
	}
	if off := told - time.Now().Unix() - seconds; off < -60 || off > 60 {
		return fmt.Errorf("the clock is %d s from where it should be", off)
	}
	return nil
}
