package cli

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/stretchr/testify/require"
)

// hostileMemoryMax is the maximum memory of a command while a hostile server answers, in
// bytes. An answer of 64 MiB is in memory twice while its buffer grows, and then as the
// result of parsing.
const hostileMemoryMax = 400 << 20

// hostileLateMax is how often a command is run at most, if it does not end before its
// deadline. The deadline is ten times as long as the command needs.
const hostileLateMax = 5

// hostile returns a server that answers in the way that the first part of the path
// names.
func hostile(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		way, _, _ := strings.Cut(r.URL.Path[1:], "/")
		w.Header().Set("Content-Type", "application/json")
		hostileWays[way](w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// hostileWays are the ways to answer, by their names.
var hostileWays = map[string]http.HandlerFunc{
	"text": func(w http.ResponseWriter, _ *http.Request) { repeat(w, `{"id":"`, "a") },
	"packed": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		repeat(z, `{"id":"`, "a")
	},
	"refusal": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		repeat(w, `{"detail":"`, "a")
	},
	// An answer of 63 MB with twenty-one million items, which take a hundred times as much
	// memory.
	"many": func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"prizes":[{}`+strings.Repeat(",{}", 21_000_000)+`],"entries":[]}`)
	},
	// Endless pages: the same page repeatedly, and always new pages.
	"still": func(w http.ResponseWriter, r *http.Request) { answerPage(w, r, func(int) int { return 0 }) },
	"pages": func(w http.ResponseWriter, r *http.Request) {
		answerPage(w, r, func(after int) int { return after + 1 })
	},
}

// repeat writes an endless text, 64 KiB at once.
func repeat(w io.Writer, begin, text string) {
	_, err := io.WriteString(w, begin)
	for block := bytes.Repeat([]byte(text), (64<<10)/len(text)); err == nil; {
		_, err = w.Write(block)
	}
}

// answerPage answers every request with a full page, and states that more follow.
func answerPage(w http.ResponseWriter, r *http.Request, first func(after int) int) {
	after, _ := strconv.Atoi(strings.TrimLeft(r.URL.Query().Get("after"), "p0"))
	limit, _ := strconv.Atoi(cmp.Or(r.URL.Query().Get("limit"), "1"))
	var items strings.Builder
	number, day := first(after), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range limit {
		n := strconv.Itoa(number + i)
		items.WriteString(strings.Repeat(",", min(i, 1)) + `{"id":"p` + strings.Repeat("0", 12-len(n)) + n + `","version":` + n + `,"item":` + n +
			`,"at":"2026-01-01T00:00:00Z","value":"1.00","state":"open","day":"` + day.AddDate(0, 0, i).Format(time.DateOnly) + `"}`)
	}
	next := strconv.Itoa(number + limit - 1)
	switch {
	case strings.HasSuffix(r.URL.Path, "/pools"):
		next = `"p` + strings.Repeat("0", 12-len(next)) + next + `"`
	case strings.HasSuffix(r.URL.Path, "/statements"):
		next = `"further"`
	}
	_, _ = io.WriteString(w, `{"version":9000000000000000,"prizes":[],"next":`+next)
	for _, list := range []string{"pools", "entries", "awards", "moves", "items", "statements"} {
		_, _ = io.WriteString(w, `,"`+list+`":[`+items.String()+`]`)
	}
	_, _ = io.WriteString(w, "}")
}

// TestHostileServerIsBounded: a command that calls a hostile server uses bounded memory
// and ends with an error. The broken double is a program that reads the answer to its
// end.
func TestHostileServerIsBounded(t *testing.T) {
	t.Parallel()
	url := hostile(t)
	const short = "64 MiB"
	for _, c := range []struct{ way, command, part string }{
		{"text", "pool show p", short},
		{"packed", "pool show p", short},
		{"text", "pool open p", "check before you repeat it"},
		{"refusal", "pool open p", "status 409"},
		{"many", "pool show p", "500000"},
		{"still", "pool list", "do not go on"},
		{"still", "audit", "do not go on"},
		{"still", "log --pool p", "do not go on"},
		{"still", "export awards --pool p", "do not go on"},
		{"still", "export moves --pool p", "do not go on"},
		{"still", "export statements --pool p", "do not go on"},
		{"still", "agenda list --pool p", "do not go on"},
		{"pages", "pool list", "256 MiB"},
	} {
		t.Run(c.way+" "+c.command, func(t *testing.T) { // in sequence, because each takes a processor and has a deadline
			p := program{tb: t, vars: map[string]string{"DRAWSVC_SERVER": url + "/" + c.way}}
			o := runWatched(t, p, c.command)
			for n := 1; n < hostileLateMax && strings.Contains(o.stderr, context.DeadlineExceeded.Error()); n++ { // no processor was free for it
				o = runWatched(t, p, c.command)
			}
			require.False(t, o.isBeyond, "more than %d bytes of memory", hostileMemoryMax)
			require.Equal(t, exitFailure, o.code, o.stderr)
			require.Contains(t, o.stderr, c.part)
		})
	}
	t.Run("double", func(t *testing.T) {
		o := runWatched(t, program{tb: t, vars: map[string]string{beReader: url + "/text"}}, "")
		require.True(t, o.isBeyond, "what reads to the end takes more")
	})
}

// memoryOutcome is the result of a command whose memory is watched.
type memoryOutcome struct {
	code     int
	stderr   string
	isBeyond bool
}

// runWatched runs a command in a separate process, and ends it if it uses more than
// hostileMemoryMax.
func runWatched(t *testing.T, p program, command string) (o memoryOutcome) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandMax)
	defer cancel()
	cmd := p.command(strings.Fields(command)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-ended:
			return memoryOutcome{cmd.ProcessState.ExitCode(), stderr.String(), o.isBeyond}
		case <-ctx.Done():
			require.Fail(t, "the command does not end")
		case <-time.After(20 * time.Millisecond):
			if proc, err := procfs.NewProc(cmd.Process.Pid); err == nil {
				if status, err := proc.NewStatus(); err == nil && status.VmHWM > hostileMemoryMax {
					o.isBeyond = true
					_ = cmd.Process.Kill()
				}
			}
		}
	}
}
