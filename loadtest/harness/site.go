package harness

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
)

// Site provides the parts of a test that package servertest expects: cleaning up,
// failing and skipping. Each measurement or trial has a site, and so has the whole run.
// The embedded interface is nil; only the methods below are called.
type Site struct {
	testing.TB
	name     string
	cleanups []func()
	errors   []error
	ctx      context.Context
}

// Skipped is the error of a site that was left because something is missing, such as a
// server that is not installed.
type Skipped struct{ Reason string }

// Error returns the reason.
func (s Skipped) Error() string { return s.Reason }

// Failed is the error of a site that could not be set up.
type Failed struct{ Reason string }

// Error returns the reason.
func (f Failed) Error() string { return f.Reason }

// On runs fn and cleans up after it, in reverse order. Its error is fn's, or Skipped or
// Failed.
func On(name string, fn func(s *Site) error) (err error) {
	ctx, end := context.WithCancel(context.Background())
	s := &Site{name: name, ctx: ctx}
	defer func() {
		for _, cleanup := range slices.Backward(s.cleanups) {
			cleanup()
		}
		for _, e := range s.errors {
			fmt.Fprintln(os.Stderr, e)
		}
	}()
	defer end()
	return Caught(func() error { return fn(s) })
}

// Caught runs a part of the work on a site. Its error is fn's, or Skipped or Failed.
func Caught(fn func() error) (err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case Skipped:
			err = reason
		case Failed:
			err = reason
		default:
			panic(reason)
		}
	}()
	return fn()
}

// Must ends the work on the site if a step has failed. It is only for the goroutine of
// On and Caught: other goroutines return their errors.
func (s *Site) Must(err error) {
	if err != nil {
		s.Fatal(err)
	}
}

// Try is On, but returns the reason instead of an error if the site was left because
// something is missing.
func Try(name string, fn func(s *Site) error) (skipped string, err error) {
	err = On(name, fn)
	if missing, ok := errors.AsType[Skipped](err); ok {
		return missing.Reason, nil
	}
	return "", err
}

// Helper implements testing.TB.
func (s *Site) Helper() {}

// Name implements testing.TB.
func (s *Site) Name() string { return s.name }

// Context implements testing.TB: it ends before the site is cleaned up.
func (s *Site) Context() context.Context { return s.ctx }

// Cleanup implements testing.TB.
func (s *Site) Cleanup(fn func()) { s.cleanups = append(s.cleanups, fn) }

// TempDir implements testing.TB: an empty folder that only the site uses.
func (s *Site) TempDir() string {
	folder, err := os.MkdirTemp("", "drawsvc-loadtest-")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// Skip implements testing.TB.
func (s *Site) Skip(args ...any) { panic(Skipped{fmt.Sprint(args...)}) }

// Fatal implements testing.TB.
func (s *Site) Fatal(args ...any) { panic(Failed{fmt.Sprint(args...)}) }

// Fatalf implements testing.TB.
func (s *Site) Fatalf(format string, args ...any) { panic(Failed{fmt.Sprintf(format, args...)}) }

// FailNow implements testing.TB.
func (s *Site) FailNow() { panic(Failed{fmt.Sprint(errors.Join(s.errors...))}) }

// Errorf implements testing.TB.
func (s *Site) Errorf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Errorf(format, args...))
}

// Opened returns an opened database, which is closed when the site ends.
func (s *Site) Opened(db *sql.DB, err error) *sql.DB {
	s.Must(err)
	s.Cleanup(func() { _ = db.Close() })
	return db
}
