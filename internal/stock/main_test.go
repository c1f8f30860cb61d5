package stock_test

import (
	"os"
	"testing"

	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) {
	childWork()
	servertest.ManyAtOnce()
	os.Exit(m.Run())
}
