package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// TestFailedDiskIsNotReady: if the kernel makes a disk read-only under a database, that
// is not an error of the service. Draws are 503 or in doubt, and readiness states the
// cause.
func TestFailedDiskIsNotReady(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			var disk *servertest.FailingDisk
			p := spring(t, onDisk(t, dialect, func(dir string) string {
				disk = servertest.NewFailingDisk(t, dir)
				return disk.Dir
			}))
			p.ok("stock", "add", "--pool", "spring", "--prize", "silver", "--delta", "100000", "--reason", "more")
			s := p.serve("--request-timeout", "5s")
			s.won("spring", "u", "first")
			status, _ := s.readiness()
			require.Equal(t, 200, status)

			require.NoError(t, disk.Fail())
			for begun := time.Now(); status == 200; { // PostgreSQL continues until its file grows
				require.Less(t, time.Since(begun), commandMax)
				var err error
				var answer string
				status, answer, err = s.draw("spring", "u", "")
				require.NoError(t, err)
				require.Contains(t, []int{200, 503, 504}, status, answer)
			}
			detail := ""
			require.Eventually(t, func() bool { status, detail = s.readiness(); return status == 503 }, 2*time.Second, 10*time.Millisecond)
			require.Contains(t, detail, "its disk fails")
			require.Never(t, func() bool { status, _ := s.readiness(); return status == 200 }, 3*time.Second, 100*time.Millisecond)
			status, answer, err := s.draw("spring", "u", "another")
			require.NoError(t, err)
			require.Contains(t, []int{503, 504}, status, answer)
			if dialect == "postgres" {
				require.Contains(t, answer, `"code":"store-unavailable"`)
				require.Contains(t, answer, "its disk fails")
			}
		})
	}
}
