package job_test

import (
	"os"
	"testing"

	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) {
	servertest.ManyAtOnce()
	os.Exit(m.Run())
}
