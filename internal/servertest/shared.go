package servertest

import (
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

// reaper is the script that cleans up after the test process.
//
//go:embed reaper.sh
var reaper string

// shared is what the servers of one test process share.
type shared struct {
	// disk and memory are the folders in which the servers' folders are created: disk for
	// durable servers, memory for all others.
	disk, memory string
	// lifeline is the writing end of the reaper's input. Nothing is written to it; the
	// kernel closes it when this process ends in any way.
	lifeline *os.File
	// servers has a function for each kind. Its first call starts the only server of the
	// kind in this process.
	servers map[string]func() (*Server, error)
	// redisTurn counts the tests that requested a database of Redis.
	redisTurn atomic.Int64
}

// These are variables of the package. Tests of one process can share a server, or a thing
// that is created once, only through the process, and there is no common TestMain that
// could hold them.
var (
	sharedOnce = sync.OnceValues(openShared)
	once       sync.Map // by name, a func() (string, error)
	// verifiers are the verifiers that are not in use.
	verifiers = sync.OnceValue(startVerifiers)
)

// Once returns the result of make from the first call with this name in the test process.
// Tests copy it instead of creating it again.
func Once(name string, make func() (string, error)) (string, error) {
	made, _ := once.LoadOrStore(name, sync.OnceValues(make))
	return made.(func() (string, error))()
}

// sharedOf is sharedOnce for a test. If it fails, the test ends.
func sharedOf(tb testing.TB) *shared {
	tb.Helper()
	sh, err := sharedOnce()
	if err != nil {
		giveUp(tb, err)
	}
	return sh
}

func openShared() (*shared, error) {
	if isShort() {
		return nil, errShort
	}
	sh := &shared{servers: make(map[string]func() (*Server, error))}
	var err error
	if sh.disk, err = openFolder(os.TempDir()); err != nil {
		return nil, err
	}
	sh.memory = sh.disk
	if memory := memoryFolder(); memory != "" {
		if folder, err := openFolder(memory); err == nil {
			sh.memory = folder
		}
	}
	if err := sh.hireReaper(); err != nil {
		return nil, fmt.Errorf("start the reaper: %w", err)
	}
	for name := range kinds() {
		sh.servers[name] = sync.OnceValues(func() (*Server, error) {
			return sh.launch(name, options{})
		})
	}
	return sh, nil
}

// openFolder creates a folder for the servers below parent. It returns its path as the
// kernel sees it: by this path, the reaper finds the processes that use the folder.
func openFolder(parent string) (string, error) {
	parent, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp(parent, "drawsvc-servertest-")
	if err != nil {
		return "", err
	}
	return folder, giveAway(folder)
}

// hireReaper starts a shell that continues for a moment after this process has ended. The
// parent-death signal would end the servers' first processes. But it would not remove
// their folders, and would not reach the stopped backends of a paused PostgreSQL. Nothing
// inside this process can act after its SIGKILL. The shell runs as the servers' account,
// because only that account may see in which folders they work. Root may see it too, but
// not a container's root, which lacks some capabilities. The shell's output is discarded,
// because go test waits for every process that has its own output.
func (sh *shared) hireReaper() error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", reaper, "drawsvc-servertest-reaper", sh.disk, sh.memory)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/bin:/bin:" + os.Getenv("PATH")}
	cmd.Stdin = read
	if err := detach(cmd); err != nil {
		_ = write.Close()
		return err
	}
	sh.lifeline = write
	return nil
}

// sharedURL returns the URL of this process's server of a kind, or of the one that the
// environment names.
func sharedURL(tb testing.TB, name string) string {
	tb.Helper()
	if isNamed(name) {
		return os.Getenv(kinds()[name].variable)
	}
	sh := sharedOf(tb)
	s, err := sh.servers[name]()
	if err != nil {
		giveUp(tb, err)
	}
	return s.URL()
}

// isNamed reports whether the environment names a server of the kind, which is used in
// place of one of this process.
func isNamed(name string) bool { return os.Getenv(kinds()[name].variable) != "" && !isShort() }
