package lockertest

import (
	"errors"
	"testing"
	"time"

	"drawsvc/internal/draw"
)

// errNotRenewed is a lease that ran out while its holder and most servers lived.
// A server that got no processor does that to a sound lock, and is not seen here.
var errNotRenewed = errors.New("a lease was not renewed")

// errLate is what came later than it may. A process or a server that got no
// processor does that too, and is not seen here.
var errLate = errors.New("too late")

const (
	// steadyMax is how often a check is judged anew because the machine stood
	// still.
	steadyMax = 6
	// lostMax is how often a check at most runs where this process did not stand still,
	// and another one or the server may have.
	lostMax = 3
	// stallMin is the shortest pause of this process that can fail a sound lock:
	// the checks measure 50 ms, and renew leases of 500 ms.
	stallMin = 25 * time.Millisecond
)

// steady runs a check, and runs it anew when it failed on a machine that stood
// still meanwhile: a lease that ran out because nobody had a processor says
// nothing of the lock. A failure on a machine that ran counts at once, and
// so does the last. A lease that was lost, and what came too late, count when they
// are the last: another process or the server may have had no processor, which is
// not seen here.
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

// watchStalls measures until the function that it returns is called; that
// tells the longest pause of this process.
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
