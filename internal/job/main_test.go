package job_test

import (
	"testing"

	"drawsvc/internal/servertest"
)

func TestMain(m *testing.M) {
	servertest.ManyAtOnce()
	m.Run()
}
