package packaging

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// root is the top of the repository, seen from this package.
const root = "../.."

// waitMax is the longest that a test waits for one thing.
const waitMax = time.Minute

// read returns a file of the repository.
func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(tb, err)
	return string(text)
}

// command runs a program at the top of the repository, with further variables, to its
// end, and returns what it printed.
func command(tb testing.TB, variables []string, name string, args ...string) (string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), variables...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// ok runs a program that must go well.
func ok(tb testing.TB, variables []string, name string, args ...string) string {
	tb.Helper()
	output, err := command(tb, variables, name, args...)
	require.NoError(tb, err, "%s %v: %s", name, args, output)
	return output
}

// tool runs a program of this module's tools.
func tool(tb testing.TB, name string, args ...string) (string, error) {
	tb.Helper()
	return command(tb, nil, "go", append([]string{"tool", "-modfile=tools/package/go.mod", name}, args...)...)
}

// dist is a folder with the program and its packages, built once for all tests.
func dist(tb testing.TB) string {
	tb.Helper()
	folder, err := built()
	require.NoError(tb, err, folder)
	return folder
}

// testVersion is the version of the packages that the tests build.
const testVersion = "1.2.3"

// TestMain removes what was built.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(distFolder()) // the folder for temporary files is emptied anyway
	os.Exit(code)
}

var distFolder = sync.OnceValue(func() string {
	folder, err := os.MkdirTemp("", "dist")
	if err != nil {
		panic(err)
	}
	return folder
})

var built = sync.OnceValues(func() (string, error) {
	cmd := exec.CommandContext(context.Background(), filepath.Join(root, "deploy/packages/build"))
	cmd.Env = append(os.Environ(), "DIST="+distFolder(), "VERSION="+testVersion)
	if output, err := cmd.CombinedOutput(); err != nil {
		return string(output), err
	}
	return distFolder(), nil
})

// program is the file of the program in dist.
func program(tb testing.TB) string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(dist(tb), "drawsvc-linux-*"))
	require.NoError(tb, err)
	require.Len(tb, found, 1)
	return found[0]
}

// daemon is a process that runs until the test ends, or until stop.
type daemon struct {
	tb     testing.TB
	cmd    *exec.Cmd
	output *output
	ended  chan error
}

// output is what a process printed; it may be read while the process writes.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// start starts a process in a folder with exactly the variables given.
func start(tb testing.TB, folder string, variables []string, name string, args ...string) *daemon {
	tb.Helper()
	return startAs(tb, nil, folder, variables, name, args...)
}

// startAs starts it with attributes of the process, such as another account.
func startAs(tb testing.TB, as *syscall.SysProcAttr, folder string, variables []string, name string, args ...string) *daemon {
	tb.Helper()
	d := &daemon{tb: tb, cmd: exec.CommandContext(context.Background(), name, args...), output: &output{}, ended: make(chan error, 1)}
	d.cmd.Dir, d.cmd.Env = folder, append([]string{}, variables...)
	d.cmd.Stdout, d.cmd.Stderr, d.cmd.SysProcAttr = d.output, d.output, as
	require.NoError(tb, d.cmd.Start())
	go func() { d.ended <- d.cmd.Wait() }()
	tb.Cleanup(func() { _ = d.cmd.Process.Kill() }) // if it runs still
	return d
}

// stop sends SIGTERM; the process must end well.
func (d *daemon) stop() {
	d.tb.Helper()
	require.NoError(d.tb, d.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-d.ended:
		require.NoError(d.tb, err, d.output)
	case <-time.After(waitMax):
		require.Fail(d.tb, "the process does not end", d.output.String())
	}
}

// awaitStatus waits until a GET is answered with the status, and returns the body.
func awaitStatus(tb testing.TB, url string, status int, why *output) (body string) {
	tb.Helper()
	require.Eventually(tb, func() bool {
		var got int
		got, body = ask(tb, "GET", url, "")
		return got == status
	}, waitMax, 5*time.Millisecond, "%s: %s\n%s", url, body, why)
	return body
}

// ask makes a call; headers are pairs. The status is 0 when nobody answers.
func ask(tb testing.TB, method, url, body string, headers ...string) (int, string) {
	tb.Helper()
	request, err := http.NewRequestWithContext(tb.Context(), method, url, strings.NewReader(body))
	require.NoError(tb, err)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(tb, err)
	return answer.StatusCode, string(content)
}

// wins draws and must win a prize of the pool.
func wins(tb testing.TB, address, pool string, headers ...string) {
	tb.Helper()
	status, body := ask(tb, "POST", "http://"+address+"/draw", `{"pool":"`+pool+`","user":"u1"}`, headers...)
	require.Equal(tb, http.StatusOK, status, body)
	var draw struct{ Awards []any }
	require.NoError(tb, json.Unmarshal([]byte(body), &draw))
	require.Len(tb, draw.Awards, 1)
}

// needs ends the test where programs are missing, as the service's own tests do.
func needs(tb testing.TB, packages string, programs ...string) {
	tb.Helper()
	servertest.NeedPrograms(tb, packages, programs...)
}
