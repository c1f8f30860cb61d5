package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// retryLoop returns the README's loop, with another address.
func retryLoop(t *testing.T, address string) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```python\n")
	code, _, closed := strings.Cut(rest, "```\n")
	require.True(t, found && closed, "the README has a retry loop")
	return strings.ReplaceAll(code, "http://127.0.0.1:8080", address)
}

// draws runs a loop in Python against the given answers in order. It returns the output
// of the loop and the keys that it used.
func draws(t *testing.T, loop func(address string) string, answers ...http.HandlerFunc) (printed string, keys []string) {
	t.Helper()
	python := interpreters(t)["python"]
	return script(t, answers, func(ctx context.Context, address string) (string, error) {
		return python.run(ctx, loop(address))
	})
}

// caller makes one draw on the demo through an address, and returns its output.
type caller func(ctx context.Context, address string) (printed string, err error)

// script runs a caller against the given answers in order; the last answer repeats.
func script(t *testing.T, answers []http.HandlerFunc, call caller) (printed string, keys []string) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the loop notices if its request was not read
		mu.Lock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		next := answers[min(len(keys), len(answers))-1]
		mu.Unlock()
		next(w, r)
	}))
	defer server.Close()
	printed, err := call(t.Context(), server.URL)
	require.NoError(t, err)
	return printed, keys
}

// interpreter runs programs of one language from standard input.
type interpreter struct {
	program, pkg string
	args         []string
}

// interpreters returns the interpreters of the pages' loops, by the mark of their
// blocks. A test is skipped if one is missing.
func interpreters(t *testing.T) map[string]interpreter {
	t.Helper()
	all := map[string]interpreter{
		"js": {"node", "nodejs", []string{"-"}}, "python": {"python3", "python3", []string{"-"}}, "php": {"php", "php-cli", nil},
	}
	for _, i := range all {
		servertest.NeedPrograms(t, i.pkg, i.program)
	}
	return all
}

func (i interpreter) run(ctx context.Context, code string) (printed string, err error) {
	cmd := exec.CommandContext(ctx, i.program, i.args...)
	cmd.Stdin = strings.NewReader(code)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	return stdout.String(), nil
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the loop notices a truncated response
	}
}

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// risingKey matches keys that rise with time and have 80 random bits.
const risingKey = `^1[0-9]{12,18}-[0-9a-f]{20}$`

// TestRetryLoopSettles: the README's retry loop retries with the same key until it has
// a final response.
func TestRetryLoopSettles(t *testing.T) {
	t.Parallel()
	loop := func(address string) string { return retryLoop(t, address) }
	unsettled := []http.HandlerFunc{
		answer(503, `{"code":"contended"}`), cut, answer(504, `{"code":"outcome-unknown"}`), answer(500, `{}`), answer(429, `{"code":"too-many-guesses"}`),
	}
	for name, last := range map[string]http.HandlerFunc{"won": answer(200, `{"code":"last"}`), "sold out": answer(409, `{"code":"last"}`)} {
		printed, keys := draws(t, loop, append(slices.Clip(unsettled), last)...)
		require.Equal(t, "{'code': 'last'}\n", printed, name)
		require.Len(t, keys, len(unsettled)+1, name)
		for _, key := range keys {
			require.Equal(t, keys[0], key, name)
			require.Regexp(t, risingKey, key, name)
		}
	}
}

// TestRetryLoopSettlesCatches: the test fails for a loop that treats a 503 as final.
func TestRetryLoopSettlesCatches(t *testing.T) {
	t.Parallel()
	hasty := func(address string) string {
		return strings.Replace(retryLoop(t, address), "error.code < 500", "error.code < 504", 1)
	}
	printed, keys := draws(t, hasty, answer(503, `{"code":"contended"}`), answer(200, `{"code":"last"}`))
	require.Equal(t, "{'code': 'contended'}\n", printed)
	require.Len(t, keys, 1)
}
