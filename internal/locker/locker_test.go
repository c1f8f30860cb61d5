package locker_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/locker/lockertest"
	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(lockertest.Main(m)) }

// parallel lets a test run beside others, unless it is measured. Most of its
// time goes by waiting for leases to end.
func parallel(t *testing.T) {
	if !lockertest.Measuring() {
		t.Parallel()
	}
}

// TestLocks holds every lock of the registry to the contract.
func TestLocks(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		t.Run(s.Name(), func(t *testing.T) {
			parallel(t)
			lockertest.Run(t, s.On(t, s.Shared(t)))
		})
	}
}

// TestFaults breaks the server of every lock, and the way to it.
func TestFaults(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		if s.Kind == "sqlite" {
			continue // no server, no way
		}
		t.Run(s.Name(), func(t *testing.T) {
			parallel(t)
			lockertest.RunFaults(t, s)
		})
	}
}

// TestSuiteCatchesFlaws: a suite that passes a broken lock proves nothing.
func TestSuiteCatchesFlaws(t *testing.T) {
	for flaw, check := range lockertest.Flaws() {
		t.Run(flaw, func(t *testing.T) {
			parallel(t)
			require.Error(t, lockertest.Catches(t, lockertest.Flawed(servertest.Redis(t), flaw), check), check)
		})
	}
}
