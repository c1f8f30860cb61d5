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
	// disk and memory are the folders that contain the servers' folders: disk for durable
	// servers, memory for all others.
	disk, memory string
	// lifeline is the writing end of the reaper's input. Nothing is written to it. The
	// kernel closes it when this process ends, in whatever way.
	lifeline *os.File
	// servers contains a function for each kind. Its first call starts the one server of
	// that kind that the process shares.
	servers map[string]func() (*Server, error)
	// redisTurn counts the tests that requested a database of Redis.
	redisTurn atomic.Int64
}

// These are variables of the package, because tests can share a server, or a result, only
// through their process. There is no common TestMain that could hold them.
var (
	sharedOnce = sync.OnceValues(openShared)
	once       sync.Map // by name, a func() (string, error)
	// verifiers are the idle verifiers.
	verifiers = sync.OnceValue(startVerifiers)
)

// Once returns what make returned in the first call with this name in the test process.
// Tests copy that instead of creating it again.
func Once(name string, make func() (string, error)) (string, error) {
	made, _ := once.LoadOrStore(name, sync.OnceValues(make))
	return made.(func() (string, error))()
}

// sharedOf returns the result of sharedOnce. If that fails, it ends the test.
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

// openFolder creates a folder for the servers below parent. It returns the folder's path
// as the kernel shows it: by this path, the reaper finds the processes that use the
// folder.
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

// hireReaper starts a shell that runs until shortly after the end of this process. The
// parent-death signal would end only the servers' first processes. It would not remove
// their folders, and would not reach the stopped backends of a paused PostgreSQL. This
// process itself cannot act after its SIGKILL. The shell runs as the servers' account,
// because that account may see in which folders they work. Root may see it too, but the
// root of a container lacks some capabilities. The shell's output is discarded, because
// go test waits for every process that shares its output.
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

// sharedURL returns the URL of the server of a kind that this process shares, or of the
// server that the environment names.
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

// isNamed reports whether the environment names a server of the kind. Tests then use that
// server.
func isNamed(name string) bool { return os.Getenv(kinds()[name].variable) != "" && !isShort() }
