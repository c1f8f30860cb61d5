package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// made is a token that `token new` printed.
type made struct{ token, entry string }

func (p program) newToken(args ...string) made {
	p.tb.Helper()
	printed := p.ok(append([]string{"token", "new"}, args...)...)
	var m made
	for line := range strings.Lines(printed) {
		if rest, ok := strings.CutPrefix(line, "token: "); ok {
			m.token = strings.TrimSpace(rest)
		}
		if rest, ok := strings.CutPrefix(line, "entry: "); ok {
			m.entry = strings.TrimSpace(rest)
		}
	}
	require.GreaterOrEqual(p.tb, len(m.token), 26)
	require.NotContains(p.tb, m.entry, m.token)
	return m
}

// writeTokens replaces a file of tokens atomically, as an operator should.
func writeTokens(tb testing.TB, path string, tokens ...made) {
	tb.Helper()
	var entries []string
	for _, m := range tokens {
		entries = append(entries, m.entry)
	}
	require.NoError(tb, os.WriteFile(path+".new", []byte(`{"tokens":[`+strings.Join(entries, ",")+`]}`), 0o600))
	require.NoError(tb, os.Rename(path+".new", path))
}

// callers draw with the current token, and count the answers.
type callers struct {
	token   atomic.Pointer[string]
	mu      sync.Mutex
	answers map[int]int
	// last is the token of each caller's last answer.
	last  []*string
	end   chan struct{}
	under sync.WaitGroup
}

func startCallers(s *service, token string, n int) *callers {
	c := &callers{answers: map[int]int{}, last: make([]*string, n), end: make(chan struct{})}
	c.token.Store(&token)
	for caller := range n {
		c.under.Go(func() {
			for {
				select {
				case <-c.end:
					return
				default:
				}
				with := c.token.Load()
				status, _, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer "+*with)
				if err != nil {
					status = -1
				}
				c.mu.Lock()
				c.answers[status]++
				c.last[caller] = with
				c.mu.Unlock()
			}
		})
	}
	return c
}

func (c *callers) count(status int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.answers[status]
}

// more waits until n more callers were answered with the status.
func (c *callers) more(tb testing.TB, status, n int) {
	tb.Helper()
	until := c.count(status) + n
	require.Eventually(tb, func() bool { return c.count(status) >= until }, commandMax, 5*time.Millisecond)
}

// turnTo makes all callers use another token, and waits until no request with the
// former token is under way.
func (c *callers) turnTo(tb testing.TB, token *string) {
	tb.Helper()
	c.token.Store(token)
	require.Eventually(tb, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return !slices.ContainsFunc(c.last, func(with *string) bool { return with != token })
	}, commandMax, 5*time.Millisecond)
}

func (c *callers) stop() {
	close(c.end)
	c.under.Wait()
}

// reload changes files, sends SIGHUP, and waits until the log has one more line with
// the text: the service may notice the change by itself before the signal.
func (s *process) reload(text string, change func()) {
	s.tb.Helper()
	s.noticed(text, func() {
		change()
		require.NoError(s.tb, s.cmd.Process.Signal(syscall.SIGHUP))
	})
}

// noticed makes a change, and waits until the service logs a text once more.
func (s *service) noticed(text string, change func()) {
	s.tb.Helper()
	before := strings.Count(s.stderr.String(), text)
	change()
	require.Eventually(s.tb, func() bool { return strings.Count(s.stderr.String(), text) > before }, commandMax, 5*time.Millisecond)
}

// TestTokenIsReplacedUnderLoad: a token is replaced by the next token of the same name,
// and no caller gets a 401. As a control, callers that keep the old token get a 401.
func TestTokenIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1000000")
	path := filepath.Join(t.TempDir(), "tokens.json")
	boss, old, next := p.newToken("--name", "boss", "--role", "admin"),
		p.newToken("--name", "shop", "--role", "draw"), p.newToken("--name", "shop", "--role", "draw")
	writeTokens(t, path, boss, old)
	s := p.start("--tokens", path)
	require.NotContains(t, s.stdout.String(), "admin token", "the file has one")
	s.token = boss.token
	s.admin(200, "GET", "/admin/pools", "") // the admin token works before the control sends wrong tokens
	c := startCallers(s.service, old.token, 4)
	control := startCallers(s.service, old.token, 1)
	c.more(t, 200, 50)

	const used, kept = "a changed file is used from now on", "a changed file cannot be used"
	s.reload(used, func() { writeTokens(t, path, boss, old, next) })
	c.more(t, 200, 50)
	c.turnTo(t, &next.token)
	c.more(t, 200, 50)
	s.reload(kept, func() { require.NoError(t, os.WriteFile(path, []byte(`{"tokens":[`), 0o600)) })
	c.more(t, 200, 50)
	require.Zero(t, control.count(401))
	s.reload(used, func() { writeTokens(t, path, boss, next) })
	c.more(t, 200, 50)
	control.more(t, 401, 1)
	c.stop()
	control.stop()
	require.Equal(t, map[int]int{200: c.count(200)}, c.answers, "no caller met anything else")

	// A file without tokens for draws does not allow everybody to draw.
	s.reload(used, func() { writeTokens(t, path, boss) })
	status, _, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`)
	require.NoError(t, err)
	require.Equal(t, 401, status)
	s.admin(200, "GET", "/admin/pools", "")
	code, _ := s.signal(syscall.SIGTERM)
	require.Equal(t, exitOK, code)
	for _, m := range []made{boss, old, next} {
		require.NotContains(t, s.stderr.String()+s.stdout.String(), m.token)
	}
}

func TestTokenFilesThatCannotBe(t *testing.T) {
	t.Parallel()
	p := on(t, stocktest.Migrated(t, "sqlite"))
	path := filepath.Join(t.TempDir(), "tokens.json")
	p.refused(exitUsage, "--tokens: open ", "serve", "--listen", "127.0.0.1:0", "--tokens", path)
	require.NoError(t, os.WriteFile(path, []byte("ci:admin"), 0o600))
	p.refused(exitUsage, "--tokens: must be JSON such as", "serve", "--listen", "127.0.0.1:0", "--tokens", path)
	past := p.newToken("--name", "old", "--role", "admin", "--until", "2001-01-01T00:00:00Z")
	drawing := p.newToken("--name", "shop", "--role", "draw")
	writeTokens(t, path, past, drawing)
	p.refused(exitUsage, "with a valid token of role admin", "serve", "--listen", ":0", "--tokens", path)
	p.refused(exitUsage, "contradict each other", "serve", "--listen", "127.0.0.1:0", "--tokens", path, "--public-draw")
	p.refused(exitUsage, "--role: role must be one of", "token", "new", "--name", "x", "--role", "root")
	p.refused(exitUsage, "--name: name must match", "token", "new", "--name", "X", "--role", "admin")
	p.refused(exitUsage, "--until must be a time", "token", "new", "--name", "x", "--role", "admin", "--until", "tomorrow")
}

// TestShutdownDelay: after SIGTERM the service is no longer ready, and draws as usual
// until the delay has ended. The control has no delay.
func TestShutdownDelay(t *testing.T) {
	t.Parallel()
	url := stocktest.Migrated(t, "postgres")
	spring(t, url)
	p := on(t, url)
	s := p.start("--shutdown-delay", "15s", "--mode", "external")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	s.wonByLock("spring", "u1", "")
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		status, _, err := s.ask("GET", "/readyz", "")
		return err == nil && status == http.StatusServiceUnavailable
	}, 10*time.Second, time.Millisecond)
	for range 20 {
		s.wonByLock("spring", "u1", "")
	}
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP), "nor does it end the drain")
	select {
	case <-s.ended:
	case <-time.After(commandMax):
		require.Fail(t, "the process did not end")
	}
	require.Equal(t, exitOK, s.cmd.ProcessState.ExitCode(), s.stderr.String())

	control := p.start("--mode", "external")
	control.wonByLock("spring", "u1", "")
	require.NoError(t, control.cmd.Process.Signal(syscall.SIGTERM))
	require.Eventually(t, func() bool {
		status, _, err := control.draw("spring", "u1", "")
		return err != nil || status == http.StatusServiceUnavailable
	}, commandMax, time.Millisecond)

	// A second signal ends the delay at once.
	slow := p.start("--shutdown-delay", "1m")
	require.Equal(t, -1, slow.insist(syscall.SIGTERM))
}
