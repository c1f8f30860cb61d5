package servertest

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// used returns the processor time that a server has used.
func (s *Server) used(t *testing.T) (total time.Duration) {
	t.Helper()
	s.act(func(p *process) {
		for _, pid := range append([]int{p.pid}, p.others()...) {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
			if err != nil {
				continue // the process has ended
			}
			fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
			for _, ticks := range fields[11:13] {
				n, err := strconv.Atoi(string(ticks))
				require.NoError(t, err)
				total += time.Duration(n) * 10 * time.Millisecond
			}
		}
	})
	return total
}

// partOf returns the part of a core that a server uses during a period.
func (s *Server) partOf(t *testing.T, while time.Duration) float64 {
	t.Helper()
	before, began := s.used(t), time.Now()
	time.Sleep(while)
	return float64(s.used(t)-before) / float64(time.Since(began))
}

// TestThrottledServerGetsItsPart: a throttled server uses its part of a core, with each
// method that is available here. The broken double does not throttle the server.
func TestThrottledServerGetsItsPart(t *testing.T) {
	t.Parallel()
	const part, most = 0.1, 0.2
	s := Start(t, "mysql")
	db := openMySQL(t, s.URL())
	go func() { _, _ = db.ExecContext(t.Context(), "SELECT BENCHMARK(1000000000000, SHA2('a', 512))") }()
	uses := func(above bool) {
		require.Eventually(t, func() bool { return s.partOf(t, 2*time.Second) > most == above }, time.Minute, time.Millisecond)
	}
	uses(true)
	ways := map[string]func() (undo func()){"stops": func() func() { return s.throttleByStops(part) }}
	for _, root := range cgroupRoots() {
		ways[root] = func() func() {
			undo, err := s.throttleIn(root, part)
			if err != nil {
				t.Logf("not in %s: %v", root, err)
				return nil
			}
			return undo
		}
	}
	for how, throttle := range ways {
		undo := throttle()
		if undo == nil {
			continue
		}
		t.Log(how)
		uses(false)
		undo()
		uses(true)
	}
}
