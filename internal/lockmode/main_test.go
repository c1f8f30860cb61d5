package lockmode_test

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain runs more tests at once than there are processors, because they
// wait for locks and servers more than they compute, and looks for goroutines
// that are left at the end.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("drawsvc/internal/servertest.(*process).keep"))
}
