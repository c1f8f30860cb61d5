package packaging

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// root is the top of the repository, relative to this package.
const root = "../.."

// reportMax is the part of the test run's time limit that a test reserves to report why
// it waited.
const reportMax = 30 * time.Second

// left returns how long a test may still wait: until shortly before the time limit of the
// test run. No wait has its own limit, because any limit would be too short on some
// machine.
func left(tb testing.TB) time.Duration {
	limited, is := tb.(interface{ Deadline() (time.Time, bool) })
	if !is {
		return time.Hour
	}
	deadline, has := limited.Deadline()
	if !has {
		return time.Hour
	}
	return max(time.Until(deadline)-reportMax, 0)
}

// until waits until condition is true. The test fails if ended, which may be nil, is
// closed first.
func until(tb testing.TB, ended <-chan struct{}, condition func() bool, about func() string) {
	tb.Helper()
	over := time.After(left(tb))
	for !condition() {
		select {
		case <-ended:
			require.Fail(tb, "the process ended", about())
		case <-over:
			require.Fail(tb, "the time of all tests is over", about())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// read returns a file of the repository.
func read(tb testing.TB, path string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(tb, err)
	return string(text)
}

// command runs a program at the top of the repository to its end, with further
// variables, and returns its output.
func command(tb testing.TB, variables []string, name string, args ...string) (string, error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), left(tb))
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), variables...)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// ok runs a program that must succeed.
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

// dist returns a folder with the program and its packages, built once for all tests.
func dist(tb testing.TB) string {
	tb.Helper()
	folder, err := built()
	require.NoError(tb, err, folder)
	return folder
}

// testVersion is the version of the packages that the tests build.
const testVersion = "1.2.3"

// TestMain removes the built files.
func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(distFolder()) // the system empties its folder for temporary files anyway
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

// program returns the file of the program in dist.
func program(tb testing.TB) string {
	tb.Helper()
	found, err := filepath.Glob(filepath.Join(dist(tb), "drawsvc-linux-*"))
	require.NoError(tb, err)
	require.Len(tb, found, 1)
	return found[0]
}

// daemon is a process that runs until the test ends, or until stop is called.
type daemon struct {
	tb     testing.TB
	cmd    *exec.Cmd
	output *output
	// ended is closed when the process has ended, with err.
	ended chan struct{}
	err   error
}

// output is what a process has printed; it may be read while the process writes.
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

// start starts a process in a folder, with only the given variables.
func start(tb testing.TB, folder string, variables []string, name string, args ...string) *daemon {
	tb.Helper()
	return startAs(tb, nil, folder, variables, name, args...)
}

// startAs is start with attributes of the process, such as another account.
func startAs(tb testing.TB, as *syscall.SysProcAttr, folder string, variables []string, name string, args ...string) *daemon {
	tb.Helper()
	d := &daemon{tb: tb, cmd: exec.CommandContext(context.Background(), name, args...), output: &output{}, ended: make(chan struct{})}
	d.cmd.Dir, d.cmd.Env = folder, append([]string{}, variables...)
	d.cmd.Stdout, d.cmd.Stderr, d.cmd.SysProcAttr = d.output, d.output, as
	require.NoError(tb, d.cmd.Start())
	go func() {
		d.err = d.cmd.Wait()
		close(d.ended)
	}()
	tb.Cleanup(func() { _ = d.cmd.Process.Kill() }) // if it is still running
	return d
}

// wait waits until the process has ended, and returns its error.
func (d *daemon) wait() error {
	d.tb.Helper()
	select {
	case <-d.ended:
		return d.err
	case <-time.After(left(d.tb)):
		require.Fail(d.tb, "the process does not end", d.output.String())
		return nil
	}
}

// succeeds waits until the process has ended, which must succeed.
func (d *daemon) succeeds() {
	d.tb.Helper()
	require.NoError(d.tb, d.wait(), d.output)
}

// stop sends SIGTERM; the process must end without an error.
func (d *daemon) stop() {
	d.tb.Helper()
	require.NoError(d.tb, d.cmd.Process.Signal(syscall.SIGTERM))
	d.succeeds()
}

// answers waits until the process answers a GET with the status.
func (d *daemon) answers(url string, status int) {
	d.tb.Helper()
	var body string
	until(d.tb, d.ended, func() bool {
		var got int
		got, body = ask(d.tb, "GET", url, "")
		return got == status
	}, func() string { return url + ": " + body + "\n" + d.output.String() })
}

// healthy waits until a health check succeeds. A check has its own limit, which a busy
// machine may exceed.
func (d *daemon) healthy(check func() *daemon) {
	d.tb.Helper()
	var last *daemon
	until(d.tb, d.ended, func() bool {
		last = check()
		return last.wait() == nil
	}, func() string { return last.output.String() + d.output.String() })
}

// ask makes a call; headers alternate between names and values. The status is 0 if no
// answer came.
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
	if err != nil {
		return 0, err.Error()
	}
	return answer.StatusCode, string(content)
}

// settled repeats a call until the service answers it: the service and the proxy have
// limits that a busy machine may exceed.
func settled(tb testing.TB, method, url, body string, headers ...string) (status int, answer string) {
	tb.Helper()
	until(tb, nil, func() bool {
		status, answer = ask(tb, method, url, body, headers...)
		return !slices.Contains([]int{0, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status)
	}, func() string { return answer })
	return status, answer
}

// wins makes a draw, which must win a prize of the pool.
func wins(tb testing.TB, address, pool string, headers ...string) {
	tb.Helper()
	status, body := settled(tb, "POST", "http://"+address+"/draw", `{"pool":"`+pool+`","user":"u1"}`, append(headers, "Idempotency-Key", rand.Text())...)
	require.Equal(tb, http.StatusOK, status, body)
	var draw struct{ Awards []any }
	require.NoError(tb, json.Unmarshal([]byte(body), &draw))
	require.Len(tb, draw.Awards, 1)
}

// needs skips or fails the test if programs are missing, as the service's own tests do.
func needs(tb testing.TB, packages string, programs ...string) {
	tb.Helper()
	servertest.NeedPrograms(tb, packages, programs...)
}
