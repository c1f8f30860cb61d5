package servertest

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// childVariable makes a copy of the test program act as the test process that ends.
const childVariable = "DRAWSVC_SERVERTEST_CHILD"

// testament lists what a test process has started.
type testament struct {
	Firsts, Others []int // processes
	Folders        []string
}

func TestNothingOutlivesAKilledTestProcess(t *testing.T) {
	t.Parallel()
	left := bequeath(t, func(child *exec.Cmd, _ io.Closer) { require.NoError(t, child.Process.Kill()) })
	require.Eventually(t, left.ended, readyMax, 50*time.Millisecond)
}

func TestNothingOutlivesATestProcessThatEnds(t *testing.T) {
	t.Parallel()
	left := bequeath(t, func(_ *exec.Cmd, input io.Closer) { require.NoError(t, input.Close()) })
	require.Eventually(t, left.ended, readyMax, 50*time.Millisecond)
}

// bequeath runs TestChild in a separate process, and ends that process while its servers
// run. It returns what the process had started.
func bequeath(t *testing.T, end func(child *exec.Cmd, input io.Closer)) testament {
	t.Helper()
	sharedOf(t) // so that the child can start servers
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stderr = os.Stderr
	input, err := child.StdinPipe()
	require.NoError(t, err)
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	line, err := bufio.NewReader(output).ReadBytes('\n')
	require.NoError(t, err)

	var left testament
	require.NoError(t, json.Unmarshal(line, &left), "%s", line)
	require.Greater(t, len(left.Firsts), len(Kinds()))
	require.NotEmpty(t, left.Others)
	for _, pid := range left.Firsts {
		state, _ := status(pid)
		require.NotEqual(t, byte('X'), state, "process %d runs", pid)
	}
	end(child, input)
	_ = child.Wait() // it returns an error if the process was killed
	return left
}

// ended reports whether all processes have ended and all folders are removed. A zombie
// counts as ended: only its new parent has not noticed it yet.
func (left testament) ended() bool {
	for _, pid := range append(left.Firsts, left.Others...) {
		if state, _ := status(pid); state != 'X' && state != 'Z' {
			return false
		}
	}
	for _, folder := range left.Folders {
		if _, err := os.Stat(folder); err == nil && !isHusk(folder) {
			return false
		}
	}
	return true
}

// isHusk reports whether a folder is empty, and in a folder where only its owner may
// write. The servers' account cannot remove such a folder.
func isHusk(folder string) bool {
	entries, err := os.ReadDir(folder)
	parent, failed := os.Stat(filepath.Dir(folder))
	return err == nil && failed == nil && len(entries) == 0 && parent.Mode().Perm()&0o002 == 0
}

// TestChild does nothing unless a test of this file runs it as a process. It then has
// shared servers, and a private one in the state that is hardest to clean up: paused,
// with processes that are not in one group.
func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return
	}
	var left testament
	own := func(s *Server) {
		left.Firsts = append(left.Firsts, s.process.pid)
		left.Others = append(left.Others, s.process.others()...)
		left.Folders = append(left.Folders, s.Dir(), filepath.Dir(s.Dir()))
	}
	sh, err := sharedOnce()
	require.NoError(t, err)
	for _, kind := range Kinds() {
		s, err := sh.servers[kind]()
		require.NoError(t, err)
		own(s)
	}
	paused := Start(t, "postgres", Durable())
	paused.Pause()
	own(paused)
	require.NoError(t, json.NewEncoder(os.Stdout).Encode(left))
	_, err = io.Copy(io.Discard, os.Stdin) // until the parent closes it
	require.NoError(t, err)
}
