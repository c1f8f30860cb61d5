package cli

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// onSmallDisk creates an empty database of a kind on a disk that can be filled.
func onSmallDisk(t *testing.T, dialect string) (disk *servertest.SmallDisk, database string) {
	t.Helper()
	size := map[string]int64{"sqlite": 8 << 20, "postgres": 32 << 20}[dialect]
	database = onDisk(t, dialect, func(dir string) string {
		disk = servertest.NewSmallDisk(t, dir, size)
		return disk.Dir
	})
	return disk, database
}

// onDisk creates an empty database of a kind on a disk that mount mounts below a folder.
// PostgreSQL keeps its log and other databases elsewhere.
func onDisk(t *testing.T, dialect string, mount func(dir string) string) string {
	t.Helper()
	if dialect == "sqlite" {
		return "sqlite:" + filepath.Join(mount(t.TempDir()), "x.db")
	}
	server := servertest.Start(t, "postgres")
	folder := mount(server.Dir())
	base := rows(t, server.URL())
	for _, statement := range []string{
		fmt.Sprintf("CREATE TABLESPACE small LOCATION '%s'", folder), "CREATE DATABASE small TABLESPACE small",
	} {
		_, err := base.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	location, err := url.Parse(server.URL())
	require.NoError(t, err)
	location.Path = "/small"
	return location.String()
}

// probe requests the readiness of a service.
type probe func() (status int, detail string)

func (s *service) readiness() (status int, detail string) {
	status, body, err := s.ask("GET", "/readyz", "")
	require.NoError(s.tb, err)
	var answer struct{ Detail string }
	require.NoError(s.tb, json.Unmarshal([]byte(body), &answer))
	return status, answer.Detail
}

// tellsOfFullDisk waits until a probe returns 503 with the cause. It returns an error
// if that does not happen, or if the probe is ready again within three further checks.
func tellsOfFullDisk(ready probe, longest time.Duration) error {
	isTold := func() bool {
		status, detail := ready()
		return status == 503 && strings.Contains(detail, "disk is full")
	}
	for begun := time.Now(); !isTold(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > longest {
			return fmt.Errorf("it is ready on a full disk")
		}
	}
	for begun := time.Now(); time.Since(begun) < 3*time.Second; time.Sleep(100 * time.Millisecond) {
		if !isTold() {
			return fmt.Errorf("it is ready again, while the disk is full")
		}
	}
	return nil
}

// drawUntil draws with a new key each time until an answer has a status.
func (s *service) drawUntil(status int, before func()) {
	s.tb.Helper()
	n := 0
	require.Eventually(s.tb, func() bool {
		before()
		n++
		got, _, err := s.draw("spring", "u", fmt.Sprintf("until-%d-%d", status, n))
		return err == nil && got == status
	}, commandMax, 10*time.Millisecond)
}

// tellsOfChanges checks the log lines about each loss of readiness: one line must state
// the cause, and then one line the duration. On a busy machine, readiness may be lost
// again.
func tellsOfChanges(log []map[string]any) error {
	var lost, found map[string]any
	for _, line := range log {
		switch line["msg"] {
		case "not ready":
			if cause, _ := line["error"].(string); cause == "" || lost != nil {
				return fmt.Errorf("no cause, or a second line of one loss: %v, %v", lost, line)
			}
			lost = line
		case "ready again":
			if seconds, _ := line["seconds"].(float64); seconds <= 0 || lost == nil || line["error"] != lost["error"] {
				return fmt.Errorf("no loss before it, another cause, or no duration: %v, %v", lost, line)
			}
			lost, found = nil, line
		}
	}
	if lost != nil || found == nil {
		return fmt.Errorf("no end of a loss: %v", lost)
	}
	return nil
}

// TestTellsOfChangesCatches: lines without cause or duration fail, and so does a line
// for each probe.
func TestTellsOfChangesCatches(t *testing.T) {
	t.Parallel()
	lost, found := map[string]any{"msg": "not ready", "error": "full"}, map[string]any{"msg": "ready again", "error": "full", "seconds": 1.5}
	require.NoError(t, tellsOfChanges([]map[string]any{lost, found}))
	for _, double := range [][]map[string]any{
		{}, {lost}, {found}, {lost, lost, found}, {lost, found, found}, {{"msg": "not ready"}, found}, {lost, {"msg": "ready again", "error": "full"}},
	} {
		require.Error(t, tellsOfChanges(double), "%v", double)
	}
}

// TestFullDiskIsNotReady: the service is not ready from the first failed write until
// one of its trial writes succeeds, and the log and the metrics show that.
func TestFullDiskIsNotReady(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"sqlite", "postgres"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			disk, database := onSmallDisk(t, dialect)
			p := spring(t, database)
			p.ok("stock", "add", "--pool", "spring", "--prize", "silver", "--delta", "100000", "--reason", "more")
			s := p.serve()
			s.won("spring", "u", "first")
			status, _ := s.readiness()
			require.Equal(t, 200, status)

			s.drawUntil(503, func() { require.NoError(t, disk.Fill()) })
			require.NoError(t, tellsOfFullDisk(s.readiness, commandMax))
			body, err := s.metrics()
			require.NoError(t, err)
			require.Contains(t, body, `drawsvc_database_writes_refused{reason="full"} 1`)
			require.Contains(t, body, `drawsvc_database_writes_refused{reason="read-only"} 0`)
			require.Contains(t, body, "drawsvc_ready 0")
			if dialect == "postgres" {
				readersAreNotTold(t, database)
			}

			require.NoError(t, disk.Free())
			require.Eventually(t, func() bool { status, _ := s.readiness(); return status == 200 }, commandMax, 20*time.Millisecond)
			s.drawUntil(200, func() {})
			require.NoError(t, tellsOfChanges(s.log()))
			s.end()
			left := 0
			require.NoError(t, rows(t, database).QueryRowContext(t.Context(), `SELECT COUNT(*) FROM lock_tokens WHERE key_id LIKE 'trial:%'`).Scan(&left))
			require.Zero(t, left, "the service has removed what it wrote")
			require.Contains(t, p.ok("audit"), "0 violations")
		})
	}
}

// readersAreNotTold tests the broken doubles. One is ready as long as it can read, and
// the trial write of the other needs no space on the disk.
func readersAreNotTold(t *testing.T, database string) {
	t.Helper()
	beside, err := stock.Open(t.Context(), database, stock.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, beside.Close()) }()
	for name, check := range map[string]func() error{
		"reads": func() error { return beside.CheckSchema(t.Context()) },
		"updates a row": func() error {
			_, err := rows(t, database).ExecContext(t.Context(), `UPDATE schema_admits SET binaries_from = binaries_from`)
			return err
		},
	} {
		double := func() (int, string) {
			if err := check(); err != nil {
				return 503, err.Error()
			}
			return 200, ""
		}
		require.ErrorContains(t, tellsOfFullDisk(double, time.Second), "ready on a full disk", name)
	}
}
