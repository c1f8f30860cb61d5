package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
)

// site is what package servertest asks of a test: a place to clean up after,
// to fail and to skip. A cell is one, and so is the whole run.
// The embedded interface is nil; only the methods below are called.
type site struct {
	testing.TB
	name     string
	cleanups []func()
	errors   []error
}

// skipped and failed end a site from within.
type (
	skipped struct{ reason string }
	failed  struct{ reason string }
)

func (s skipped) Error() string { return s.reason }
func (f failed) Error() string  { return f.reason }

// onSite runs fn and cleans up after it, the last thing first.
func onSite(name string, fn func(s *site) error) (err error) {
	s := &site{name: name}
	defer func() {
		for _, cleanup := range slices.Backward(s.cleanups) {
			cleanup()
		}
		for _, e := range s.errors {
			fmt.Fprintln(os.Stderr, e)
		}
	}()
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case skipped:
			err = reason
		case failed:
			err = reason
		default:
			panic(reason)
		}
	}()
	return fn(s)
}

// Helper implements testing.TB.
func (s *site) Helper() {}

// Name implements testing.TB.
func (s *site) Name() string { return s.name }

// Cleanup implements testing.TB.
func (s *site) Cleanup(fn func()) { s.cleanups = append(s.cleanups, fn) }

// Skip implements testing.TB.
func (s *site) Skip(args ...any) { panic(skipped{fmt.Sprint(args...)}) }

// Fatal implements testing.TB.
func (s *site) Fatal(args ...any) { panic(failed{fmt.Sprint(args...)}) }

// Fatalf implements testing.TB.
func (s *site) Fatalf(format string, args ...any) { panic(failed{fmt.Sprintf(format, args...)}) }

// Errorf implements testing.TB.
func (s *site) Errorf(format string, args ...any) {
	s.errors = append(s.errors, fmt.Errorf(format, args...))
}
