package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"drawsvc/db/migrations"
	"drawsvc/internal/servertest"
	"drawsvc/internal/setting"
	"drawsvc/internal/stock/stocktest"
)

// beMain, in the environment, makes the test's binary the program itself.
const beMain = "DRAWSVC_TEST_BE_MAIN"

// beSchema, in the environment, names the schema that the program uses.
const beSchema = "DRAWSVC_TEST_SCHEMA"

// schemas are the schemas that a test can give to the program, each created once; "" is
// the program's own.
var schemas = map[string]func() migrations.Set{
	"": migrations.Embedded, "additive": sync.OnceValue(stocktest.Additive),
	"excluding": sync.OnceValue(stocktest.Excluding), "breaking": sync.OnceValue(stocktest.Breaking),
}

// beReader, in the environment, makes the test's binary read a URL to its end, which a
// command must not do.
const beReader = "DRAWSVC_TEST_BE_READER"

// readAll reads a URL to its end and ends the process.
func readAll(url string) {
	response, err := http.Get(url) //nolint:gosec // of a server of the test
	if err == nil {
		_, err = io.ReadAll(response.Body)
	}
	os.Exit(exitCode(err))
}

func TestMain(m *testing.M) {
	if url := os.Getenv(beReader); url != "" {
		readAll(url)
	}
	if os.Getenv(beMain) != "" {
		Main(schemas[os.Getenv(beSchema)](), "", "")
	}
	keepFilesPrivate()
	servertest.ManyAtOnce()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("drawsvc/internal/servertest.(*process).keep"))
}

// program runs commands as a shell would, in this process. vars are its environment.
type program struct {
	tb    testing.TB
	vars  map[string]string
	stdin string
	// schema is a key of schemas.
	schema string
	// file is the program of another release; "" means this release.
	file string
	// wrap, if set, wraps the command that starts the program.
	wrap func(*exec.Cmd) *exec.Cmd
}

// on returns a program whose environment names the database.
func on(tb testing.TB, url string) program {
	return program{tb: tb, vars: map[string]string{"DRAWSVC_DATABASE": url}}
}

// outcome is the result of a command. message is the line that main prints.
type outcome struct {
	code                    int
	message, stdout, stderr string
}

const (
	// commandMax is the timeout of a command in these tests, and of waiting for an
	// event: only a hanging command takes as long.
	commandMax = 2 * time.Minute
	// answerMax is the timeout of a caller.
	answerMax = time.Minute
)

func (p program) environment(stdout, stderr io.Writer) setting.Environment {
	return setting.Environment{
		LookUp:    func(name string) (string, bool) { value, ok := p.vars[name]; return value, ok },
		Variables: func() []string { return slices.Collect(maps.Keys(p.vars)) },
		Stdin:     strings.NewReader(p.stdin), Stdout: stdout, Stderr: stderr,
		Schema: schemas[p.schema](),
	}
}

// run runs a command to its end.
func (p program) run(args ...string) outcome {
	p.tb.Helper()
	ctx, cancel := context.WithTimeout(p.tb.Context(), commandMax)
	defer cancel()
	var stdout, stderr bytes.Buffer
	err := run(ctx, args, p.environment(&stdout, &stderr))
	o := outcome{code: exitCode(err), stdout: stdout.String(), stderr: unhurried(stderr.String())}
	if err != nil {
		o.message = setting.Message(err)
	}
	return o
}

// ok runs a command that must succeed, and returns its output.
func (p program) ok(args ...string) string {
	p.tb.Helper()
	o := p.run(args...)
	require.Equal(p.tb, outcome{stdout: o.stdout}, o, "%v", args)
	return o.stdout
}

// refused runs a command that must fail with the exit code and one line that contains
// part, and print nothing else. It returns the line.
func (p program) refused(code int, part string, args ...string) string {
	p.tb.Helper()
	o := p.run(args...)
	require.Equal(p.tb, code, o.code, "%v: %s", args, o.message)
	require.Contains(p.tb, o.message, part, "%v", args)
	require.NotContains(p.tb, o.message, "\n")
	require.Less(p.tb, len(o.message), 1000)
	require.Empty(p.tb, o.stdout, "%v", args)
	require.Empty(p.tb, o.stderr, "%v", args)
	return o.message
}

// text is a buffer that a command writes while the test reads.
type text struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.buffer.String()
}

// service is a `serve` that runs in this process.
type service struct {
	tb             testing.TB
	url, token     string
	stdout, stderr text
	client         *http.Client
	cancel         context.CancelFunc
	ended          chan error
	end            func() outcome
}

// serve starts the service on a free port of this machine, with JSON for its log, and
// waits until it listens. It ends when the test ends, if not before.
func (p program) serve(args ...string) *service {
	p.tb.Helper()
	args = p.serving(args...)
	ctx, cancel := context.WithCancel(context.Background())
	s := &service{
		tb: p.tb, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}, Timeout: answerMax},
		cancel: cancel, ended: make(chan error, 1),
	}
	go func() { s.ended <- run(ctx, args, p.environment(&s.stdout, &s.stderr)) }()
	s.end = sync.OnceValue(s.stop)
	p.tb.Cleanup(func() { s.end() })
	s.awaitListening(slices.Contains(args, "--demo"))
	s.token = s.printedToken("admin")
	return s
}

// printedToken returns the token of a role that the service created, "" for none.
func (s *service) printedToken(role string) string {
	_, after, _ := strings.Cut(s.stdout.String(), role+" token for this run: ")
	token, _, _ := strings.Cut(after, "\n")
	return token
}

// stop ends the service as a signal does, and waits for its end. Only end may call it;
// end returns the outcome, and may be called several times.
func (s *service) stop() outcome {
	s.cancel()
	var err error
	select {
	case err = <-s.ended:
	case <-time.After(commandMax):
		s.tb.Errorf("the service did not end")
	}
	s.client.CloseIdleConnections()
	o := outcome{code: exitCode(err), stdout: s.stdout.String(), stderr: unhurried(s.stderr.String())}
	if err != nil {
		o.message = setting.Message(err)
	}
	return o
}

// address matches the address of the service in its log or, for the demo, in its
// output.
var address = regexp.MustCompile(`(?:"address":"|address=|http://)(127\.0\.0\.1:\d+)`)

// awaitListening waits until the service has reported where it listens. A demo prints
// further lines after that.
func (s *service) awaitListening(isDemo bool) {
	s.tb.Helper()
	for begun := time.Now(); time.Since(begun) < commandMax; {
		stdout := s.stdout.String()
		found := address.FindStringSubmatch(s.stderr.String() + stdout)
		if found != nil && (!isDemo || strings.Contains(stdout, "/audit")) {
			s.url = "http://" + found[1]
			return
		}
		select {
		case err := <-s.ended:
			s.ended <- err
			s.tb.Fatalf("serve ended: %v\n%s", err, s.stderr.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.tb.Fatalf("serve does not listen:\n%s", s.stderr.String())
}

// log returns the service's log so far, line by line.
func (s *service) log() []map[string]any {
	var lines []map[string]any
	for line := range strings.Lines(s.stderr.String()) {
		parsed := map[string]any{}
		if json.Unmarshal([]byte(line), &parsed) == nil {
			lines = append(lines, parsed)
		}
	}
	return lines
}

// ask makes a call and returns status and body. headers are pairs.
func (s *service) ask(method, path, body string, headers ...string) (int, string, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(content), err
}

// admin makes a call with the admin token, which must be answered with status.
func (s *service) admin(status int, method, path, body string) string {
	s.tb.Helper()
	got, answer, err := s.ask(method, path, body, "Authorization", "Bearer "+s.token)
	require.NoError(s.tb, err)
	require.Equal(s.tb, status, got, "%s %s: %s", method, path, answer)
	return answer
}

// metrics returns the metrics that a scraper with a token reads.
func (s *service) metrics() (string, error) {
	_, body, err := s.ask("GET", "/metrics", "", "Authorization", "Bearer "+s.token)
	return body, err
}

// draw requests a draw; key may be "".
func (s *service) draw(pool, user, key string) (int, string, error) {
	headers := []string{}
	if key != "" {
		headers = append(headers, "Idempotency-Key", key)
	}
	return s.ask("POST", "/draw", `{"pool":"`+pool+`","user":"`+user+`"}`, headers...)
}

// won draws, and the draw must win. It returns the answer without its member replayed,
// and the value of that member.
func (s *service) won(pool, user, key string) (answer map[string]any, replayed bool) {
	s.tb.Helper()
	return s.asWon(s.draw(pool, user, key))
}

func parseDraw(tb testing.TB, body string) (answer map[string]any, replayed bool) {
	tb.Helper()
	require.NoError(tb, json.Unmarshal([]byte(body), &answer))
	replayed = answer["replayed"].(bool)
	delete(answer, "replayed")
	return answer, replayed
}
