package lockertest

import (
	"errors"
	"testing"
	"time"

	"drawsvc/internal/draw"
)

// errNotRenewed means that a lease expired although its holder and most servers were
// alive. With a correct lock this also happens if a server gets no processor time, which
// cannot be detected here.
var errNotRenewed = errors.New("a lease was not renewed")

// errLate means that something happened later than allowed. With a correct lock this also
// happens if a process or a server gets no processor time, which cannot be detected here.
var errLate = errors.New("too late")

const (
	// steadyMax is the maximum number of runs of a check if the machine stalls.
	steadyMax = 6
	// lostMax is the maximum number of runs of a check if this process did not stall.
	// Another process or the server may have stalled.
	lostMax = 3
	// stallMin is the minimum pause of this process that can make a correct lock fail. The
	// checks measure times of 50 ms, and renew leases of 500 ms.
	stallMin = 25 * time.Millisecond
)

// steady runs a check, and repeats it if it failed while the machine stalled: a lease
// that expired because nobody got processor time says nothing about the lock. Any other
// failure counts at once, and so does the failure of the last run. A lost lease or a late
// event counts only from the run lostMax on, because another process or the server may
// have stalled undetected.
func steady(tb testing.TB, check func(attempt int) error) error {
	tb.Helper()
	for n := 1; ; n++ {
		ended := watchStalls()
		err := check(n)
		stall := ended()
		lost := errors.Is(err, errNotRenewed) || errors.Is(err, errLate) || draw.CodeOf(err) == draw.CodeLockUnavailable
		if err == nil || stall < stallMin && (!lost || n >= lostMax) || n == steadyMax {
			return err
		}
		tb.Logf("judged anew, the machine stood still for %v: %v", stall, err)
	}
}

// watchStalls measures the pauses of this process until the caller calls the returned
// function. That function returns the longest pause.
func watchStalls() func() time.Duration {
	const tick = 2 * time.Millisecond
	end, longest := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		for last := time.Now(); ; {
			select {
			case <-end:
				longest <- most
				return
			case <-time.After(tick):
			}
			most = max(most, time.Since(last)-tick)
			last = time.Now()
		}
	}()
	return func() time.Duration { close(end); return <-longest }
}
