package lockertest

import (
	"errors"
	"testing"
	"time"

	"drawsvc/internal/draw"
)

// errNotRenewed means that a lease expired although its holder and most servers were
// alive. This also happens with a correct lock if a server has no processor time, which
// cannot be detected here.
var errNotRenewed = errors.New("a lease was not renewed")

// errLate means that something happened later than allowed. This also happens if a
// process or a server has no processor time, which cannot be detected here.
var errLate = errors.New("too late")

const (
	// steadyMax is how often a check is run in all if the machine stalls.
	steadyMax = 6
	// lostMax is the maximum number of runs of a check if this process did not stall,
	// but another process or the server may have.
	lostMax = 3
	// stallMin is the minimum pause of this process that can fail a correct lock: the
	// checks measure 50 ms, and renew leases of 500 ms.
	stallMin = 25 * time.Millisecond
)

// steady runs a check, and repeats it if it failed while the machine stalled: a lease
// that expired because nobody had processor time says nothing about the lock. Any other
// failure counts at once, and so does the failure of the last run. A lost lease and
// lateness count only in the last run, because another process or the server may have had
// no processor time. That cannot be detected here.
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

// watchStalls measures the pauses of this process until the returned function is called.
// That function returns the longest one.
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
