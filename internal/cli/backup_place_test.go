package cli

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// place is a database with instances, and the shell in which an operator follows
// docs/backup.md.
type place struct {
	testing.TB
	program
	blocks map[string]string
	// executed are the names of the executed blocks.
	executed  *sync.Map
	folder    string
	vars      []string
	server    *servertest.Server // nil if the database is a file
	instances []*process
	count     int // number of instances
	keys      int
	// asked receives the actions that a block requests of the machine; the test itself
	// carries them out.
	asked chan systemctl
}

const pageToken = "an-admin-token"

// newPlace returns a place for a database with the given URL. vars are the page's
// variables for the values of a site.
func newPlace(t *testing.T, executed *sync.Map, databaseURL string, server *servertest.Server, vars ...string) *place {
	t.Helper()
	w := &place{
		TB: t, program: on(t, databaseURL), blocks: readBlocks(t, "../../docs/backup.md"), executed: executed,
		folder: t.TempDir(), server: server, count: 2, asked: make(chan systemctl),
	}
	if server == nil {
		w.count = 1
	}
	w.program.vars["DRAWSVC_ADMIN_TOKEN"] = pageToken
	control := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		done := make(chan error, 1)
		w.asked <- systemctl{request.URL.Path, done}
		if err := <-done; err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(control.Close)
	account, err := user.Current()
	require.NoError(t, err)
	if account.Uid == "0" {
		account.Username = "nobody" // servertest runs the servers under the same account
	}
	for _, name := range []string{"backups", "work", "home"} {
		require.NoError(t, os.Mkdir(filepath.Join(w.folder, name), 0o700))
	}
	prelude := filepath.Join(w.folder, "prelude.sh")
	require.NoError(t, os.WriteFile(prelude, []byte(backupPrelude), 0o600))
	w.vars = append([]string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + filepath.Join(w.folder, "home"), "BASH_ENV=" + prelude,
		"PAGE_PROGRAM=" + os.Args[0], "PAGE_CONTROL=" + control.URL, "PAGE_STATE=" + filepath.Join(w.folder, "state"),
		"DRAWSVC_DATABASE=" + databaseURL, "BACKUPS=" + filepath.Join(w.folder, "backups"), "ADMIN_TOKEN=" + pageToken,
		"PGACCOUNT=" + account.Username, "DBACCOUNT=" + account.Username,
	}, vars...)
	w.ok("migrate", "up")
	w.ok("pool", "create", "spring", "--prize", "id=gold,stock=100000")
	w.ok("pool", "create", "resting", "--prize", "id=gold,stock=10")
	w.ok("pool", "pause", "resting")
	w.start()
	return w
}

// obey carries out the actions that a block requests of the machine.
func (w *place) obey(path string) error {
	switch path {
	case "/stop/drawsvc":
		w.stop()
	case "/start/drawsvc":
		w.start()
	case "/stop/postgresql", "/stop/mariadb":
		w.server.Stop()
	case "/start/postgresql", "/start/mariadb":
		return w.server.Start()
	case "/restart/postgresql":
		w.server.Stop()
		return w.server.Start()
	default:
		return fmt.Errorf("the test knows nothing of %s", path)
	}
	return nil
}

func (w *place) start() {
	for range w.count {
		i := w.program.start("--public-draw")
		i.token = pageToken
		w.instances = append(w.instances, i)
	}
}

func (w *place) stop() {
	for _, i := range w.instances {
		code, _ := i.signal(syscall.SIGTERM)
		require.Equal(w.TB, exitOK, code, i.stderr.String())
	}
	w.instances = nil
}

// blockMax is the timeout of a block: only a block that hangs takes so long.
const blockMax = 5 * time.Minute

// shell prepares a block to be executed.
func (w *place) shell(ctx context.Context, name string) *exec.Cmd {
	w.Helper()
	require.Contains(w.TB, w.blocks, name)
	w.executed.Store(name, true)
	cmd := exec.CommandContext(ctx, "bash", "-c", w.blocks[name])
	cmd.Dir = filepath.Join(w.folder, "work")
	cmd.Env = w.vars
	if len(w.instances) > 0 {
		cmd.Env = append(cmd.Env, "SERVICE="+w.instances[0].url)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// try executes a block, and returns its output.
func (w *place) try(name string) (string, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.TB.Context(), blockMax)
	defer cancel()
	var output bytes.Buffer
	cmd := w.shell(ctx, name)
	cmd.Stdout, cmd.Stderr = &output, &output
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	for {
		select {
		case ask := <-w.asked:
			ask.done <- w.obey(ask.path)
		case err := <-ended:
			return output.String(), err
		}
	}
}

// do executes blocks of the page unchanged; each must succeed.
func (w *place) do(names ...string) {
	w.Helper()
	for _, name := range names {
		began := time.Now()
		output, err := w.try(name)
		require.NoError(w.TB, err, "%s\n%s", name, output)
		w.Logf("%s: %v", name, time.Since(began).Round(10*time.Millisecond))
	}
}

// background executes a block that runs until the test ends.
func (w *place) background(name string) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := w.shell(ctx, name)
	require.NoError(w.TB, cmd.Start())
	w.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // was killed
	})
}

// draw draws n times over all instances and returns the answers by key.
func (w *place) draw(n int) map[string]map[string]any {
	w.Helper()
	answers := map[string]map[string]any{}
	for range n {
		w.keys++
		key := fmt.Sprintf("key-%d", w.keys)
		answer, replayed := w.instances[w.keys%len(w.instances)].won("spring", "u1", key)
		require.False(w.TB, replayed)
		answers[key] = answer
	}
	return answers
}

// drawsAgain waits until each instance draws; until then it may only answer that the
// database is unavailable.
func (w *place) drawsAgain() {
	w.Helper()
	for n, i := range w.instances {
		require.Eventually(w.TB, func() bool {
			status, body, err := i.draw("spring", "u1", fmt.Sprintf("again-%d-%d", w.keys, n))
			require.NoError(w.TB, err)
			require.Contains(w.TB, []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status, body)
			return status == http.StatusOK
		}, commandMax, 20*time.Millisecond)
	}
}

// restored checks that the database is the one with the kept draws and without the lost
// ones, and that all instances use it.
func (w *place) restored(kept, lost map[string]map[string]any) {
	w.Helper()
	w.drawsAgain()
	for key, first := range kept {
		for _, i := range w.instances {
			answer, replayed := i.won("spring", "u1", key)
			require.True(w.TB, replayed, key)
			require.Equal(w.TB, first, answer)
		}
	}
	for key := range lost {
		n := len(key) % len(w.instances)
		answer, replayed := w.instances[n].won("spring", "u1", key)
		require.False(w.TB, replayed, "%s is not in the restored database", key)
		again, replayed := w.instances[len(w.instances)-1-n].won("spring", "u1", key)
		require.True(w.TB, replayed)
		require.Equal(w.TB, answer, again)
	}
	w.draw(20)
	require.Contains(w.TB, w.ok("audit"), "2 pools, 0 violations")
}

// promised writes the file of the keys for which callers have received wins.
func (w *place) promised(all ...map[string]map[string]any) {
	w.Helper()
	var keys strings.Builder
	for _, answers := range all {
		for key := range answers {
			fmt.Fprintln(&keys, key)
		}
	}
	require.NoError(w.TB, os.WriteFile(filepath.Join(w.folder, "work", "keys-of-the-callers.txt"), []byte(keys.String()), 0o600))
}

// lines returns the lines of a file that the page wrote.
func (w *place) lines(name string) []string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.folder, "work", name))
	require.NoError(w.TB, err)
	return strings.Fields(string(text))
}

// compared checks that the comparison finds the lost draws, while nobody can draw.
func (w *place) compared(kept, lost map[string]map[string]any) {
	w.Helper()
	require.Equal(w.TB, []string{"spring"}, w.lines("open-pools.txt"))
	w.promised(kept, lost)
	w.do("compare")
	found := w.lines("lost-keys.txt")
	require.Len(w.TB, found, len(lost))
	for _, key := range found {
		require.Contains(w.TB, lost, key)
	}
	status, body, err := w.instances[0].draw("spring", "u1", "while-paused")
	require.NoError(w.TB, err)
	require.Equal(w.TB, http.StatusServiceUnavailable, status, body)
	require.Contains(w.TB, body, `"code":"paused"`)
}

// settled removes one unit from the stock for a promised win, and opens the pool.
func (w *place) settled() {
	w.Helper()
	before := w.ok("pool", "show", "spring")
	w.do("settle", "settle", "open") // the second one repeats the first
	require.Contains(w.TB, before, "100000")
	require.Contains(w.TB, w.ok("pool", "show", "spring"), "99999")
}

func (w *place) set(name, value string) { w.vars = append(w.vars, name+"="+value) }

// isPaused reports whether the pool is paused on all instances.
func (w *place) isPaused() bool {
	for n, i := range w.instances {
		status, body, err := i.draw("spring", "u1", fmt.Sprintf("paused-%d", n))
		require.NoError(w.TB, err)
		require.NotEqual(w.TB, http.StatusInternalServerError, status, body)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, `"code":"paused"`) {
			return false
		}
	}
	return true
}
