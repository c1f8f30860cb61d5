package locker_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/lockmode/locker/lockertest"
	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) { os.Exit(lockertest.Main(m)) }

// TestLocks holds every lock of the registry to the contract.
func TestLocks(t *testing.T) {
	for _, s := range lockertest.Subjects(t) {
		t.Run(s.Name(), func(t *testing.T) {
			if !lockertest.Measuring() {
				t.Parallel()
			}
			lockertest.Run(t, s)
		})
	}
}

// TestSuiteCatchesFlaws: a suite that passes a broken lock proves nothing.
func TestSuiteCatchesFlaws(t *testing.T) {
	for flaw, check := range lockertest.Flaws() {
		t.Run(flaw, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, lockertest.CaughtBy(t, lockertest.Flawed(servertest.Redis(t), flaw)), check)
		})
	}
}
