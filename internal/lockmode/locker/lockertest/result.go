package lockertest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// Result is what was seen of one lock. Times are milliseconds. What was not
// measured is zero.
type Result struct {
	Lock, Server string

	// Contenders asked for one key, Overlaps counts the moments at which two
	// of them had it.
	Contenders, Overlaps int
	TokenGrows           bool
	// KilledFree is the time from a holder's death to the next holder,
	// PausedFree that from its pause.
	KilledFree, PausedFree float64
	StaleRefused           bool
	RenewedTerms           int
	Reentrant              bool
	// TryOnce is how long a refused try takes, WaitOver by how much a wait
	// outlasts its limit.
	TryOnce, WaitOver float64
	// Runs counts the queues that were observed, InOrder those that were
	// served first come first served.
	Runs, InOrder int
	HandOver      float64
	// Waiters were observed at a release. Wakes says that they are woken
	// rather than ask; zero Waiters means that there was no link to observe.
	Waiters         int
	Wakes           bool
	AsksPerSecond   float64
	WokenPerRelease float64

	// Uncontended is the time of acquire and release, DrawsPerSecond that of
	// external mode with so many Callers.
	Uncontended    float64
	DrawsPerSecond float64
	Callers        int

	// Of the faults: how long a call takes that finds the server down or
	// silent, how long after its return the lock works again, and what
	// else was seen.
	DownRefused, SilentRefused, BackAfter float64
	Failover                              []string
}

// outVariable names the file that results are added to, one JSON object in
// each line.
const outVariable = "DRAWSVC_LOCKS_OUT"

// measuring says that results are wanted, so that nothing else should run.
func measuring() bool { return os.Getenv(outVariable) != "" }

// Measuring says whether results are wanted: tests then run one by one.
func Measuring() bool { return measuring() }

// newResult is written when the test has ended well.
func newResult(tb testing.TB, s Subject) *Result {
	r := &Result{Lock: s.Scheme(), Server: s.Kind}
	tb.Cleanup(func() {
		if !measuring() || tb.Failed() || s.Flaw != "" {
			return
		}
		if err := r.append(os.Getenv(outVariable)); err != nil {
			tb.Errorf("the results were not written: %v", err)
		}
	})
	return r
}

func (r *Result) append(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(r)
}

func errHerd(woken float64) error {
	return fmt.Errorf("a release wakes %.1f waiters, where one is enough", woken)
}
