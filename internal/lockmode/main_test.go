package lockmode_test

import (
	"testing"

	"go.uber.org/goleak"

	"drawsvc/internal/servertest"
)

// TestMain checks that no goroutines are left at the end.
func TestMain(m *testing.M) {
	servertest.ManyAtOnce()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("drawsvc/internal/servertest.(*process).keep"))
}
