package publish

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// killAt is an environment variable. With it, the test's binary is a publisher that kills
// itself by SIGKILL at this step of its writes.
const killAt = "DRAWSVC_TEST_KILL_AT"

func TestMain(m *testing.M) {
	if at, err := strconv.Atoi(os.Getenv(killAt)); err == nil {
		beKilled(at)
	}
	os.Exit(m.Run())
}

// stages are the heads of the pool in the passes of the killed publisher: an open pool,
// then a pool whose bundles become complete, then a revealed pool.
func stages() []Head {
	return []Head{
		{PoolID: "spring", Version: 3, Mark: 3}, {PoolID: "spring", Version: 255, Mark: 255},
		{PoolID: "spring", Version: 520, Mark: 520}, {PoolID: "spring", Version: 521, Mark: 521, Reveal: []byte("1 seed\n")},
	}
}

// beKilled publishes in the folder that the environment names until it is killed.
func beKilled(at int) {
	dir, live := os.Getenv("TEST_DIR"), os.Getenv("TEST_LIVE") != ""
	r := newRows(dir + ".kept")
	n := 0
	p, err := New(Options{Dir: dir, Live: live, Every: 1, Log: slog.New(slog.DiscardHandler), step: func() {
		if n++; n == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}})
	for _, r.head = range stages() {
		if err == nil {
			err = p.Pass(context.Background(), r, false)
		}
	}
	if err != nil {
		slog.Error("the publisher failed", "error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// killed runs a publisher that is killed at a step, and reports whether it was.
func killed(t *testing.T, dir string, live bool, at int) bool {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killAt+"="+strconv.Itoa(at), "TEST_DIR="+dir, "TEST_LIVE="+map[bool]string{true: "yes"}[live])
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.Equal(t, syscall.SIGKILL, status.Signal(), "%s", out)
	return true
}

// TestKilledAnywhere: a publisher is killed at any step of writing its files. The next
// publisher continues from its folder to the same tree. No checkpoint is smaller than an
// earlier one or contradicts it, and each was in the database first. Lines that were
// written but not signed may differ later, because their rows may be lost.
func TestKilledAnywhere(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	for _, live := range []bool{true, false} {
		steps := 0
		for at := 1; killedAndWell(t, live, at); at++ {
			steps = at
		}
		require.Greater(t, steps, 60)
	}
}

// killedAndWell checks the folder after a kill at a step, and reports whether the
// publisher has that step.
func killedAndWell(t *testing.T, live bool, at int) bool {
	dir := filepath.Join(t.TempDir(), "public")
	was := killed(t, dir, live, at)
	r := newRows(dir + ".kept")
	kept, err := r.all()
	require.NoError(t, err)
	var last int64
	for size := range kept {
		last = max(last, size)
	}
	if at%2 == 0 { // a failover lost the unsigned entries
		r.from = last + 1
	}
	before := map[int64]string{}
	for _, c := range r.checkpoints(t, cutTorn(t, dir)) {
		require.Equal(t, r.tree(c.Size).Hash, c.Root, "step %d", at)
		require.NotNil(t, kept[c.Size], "step %d: the database has it first", at)
		before[c.Size] = c.text
	}
	stage := stages()
	r.head = stage[len(stage)-1]
	p := open(t, Options{Dir: dir, Live: live, Every: 1})
	require.NoError(t, p.Pass(t.Context(), r, false), "step %d", at)
	checks := r.checkpoints(t, dir)
	var size int64
	for _, c := range checks {
		require.Greater(t, c.Size, size, "step %d", at)
		require.Equal(t, r.tree(c.Size).Hash, c.Root, "step %d", at)
		delete(before, c.Size)
		size = c.Size
	}
	require.EqualValues(t, 521, size)
	require.Empty(t, before, "step %d: what was published stays", at)
	fresh := filepath.Join(t.TempDir(), "fresh")
	r.kept = fresh + ".kept"
	require.NoError(t, open(t, Options{Dir: fresh, Live: live, Every: 1}).Pass(t.Context(), r, false))
	files := folderOf(t, dir)
	for path, content := range folderOf(t, fresh) {
		require.True(t, content == files[path], "step %d, %s", at, path)
	}
	return was
}

// cutTorn returns a copy of a folder's checkpoints without an incomplete one. If the kill
// happened while that was written, a reader without --live may wait for it.
func cutTorn(t *testing.T, dir string) string {
	own := t.TempDir()
	b, err := os.ReadFile(filepath.Join(dir, "spring", allName))
	if err != nil {
		return own
	}
	require.NoError(t, os.Mkdir(filepath.Join(own, "spring"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(own, "spring", allName), b, 0o600))
	_, err = newRows("").notes(t, own).recover()
	require.NoError(t, err)
	return own
}
