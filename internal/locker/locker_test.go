package locker_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/locker/lockertest"
	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(lockertest.Main(m)) }

// parallel runs a test in parallel with others, unless results are measured. Most of a
// test's time is spent waiting for leases to end.
func parallel(t *testing.T) {
	if !lockertest.Measuring() {
		t.Parallel()
	}
}

// TestLocks checks every lock of the registry against the contract.
func TestLocks(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		t.Run(s.Name(), func(t *testing.T) {
			parallel(t)
			lockertest.Run(t, s.On(t, s.Shared(t)))
		})
	}
}

// TestFaults breaks the server of every lock, and the connection to it.
func TestFaults(t *testing.T) {
	for _, s := range lockertest.Registered(t) {
		if s.Kind == "sqlite" {
			continue // an SQLite file has no server and no connection
		}
		t.Run(s.Name(), func(t *testing.T) {
			parallel(t)
			lockertest.RunFaults(t, s)
		})
	}
}

// TestSuiteCatchesFlaws: the suite detects each broken lock. Otherwise it would prove
// nothing about the correct ones.
func TestSuiteCatchesFlaws(t *testing.T) {
	for flaw, check := range lockertest.Flaws() {
		t.Run(flaw, func(t *testing.T) {
			parallel(t)
			require.Error(t, lockertest.Catches(t, lockertest.Flawed(servertest.Redis(t), flaw), check), check)
		})
	}
}
