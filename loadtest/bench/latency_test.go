package main

import (
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// listenWithAStall starts a server that answers at once, but stalls once, two seconds after
// its first request: then all requests wait.
func listenWithAStall(t *testing.T, stall time.Duration) *harness.Process {
	var mu sync.Mutex
	var begun time.Time
	stalled := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if begun.IsZero() {
			begun = time.Now()
		}
		if !stalled && time.Since(begun) > 2*time.Second {
			stalled = true
			time.Sleep(stall)
		}
	}))
	t.Cleanup(server.Close)
	return &harness.Process{URL: server.URL}
}

// TestOpenModelShowsAStall: in the open model, draws that are due while a server stalls
// wait, and the 99th percentile shows that. The broken double is a closed model: it sends
// no draws meanwhile, and so hides the stall. Too few callers hide it too, and the count
// of dropped draws shows that.
func TestOpenModelShowsAStall(t *testing.T) {
	t.Chdir("../..")
	require.NoError(t, place.Build(t.Context(), place.Bin, place.K6()))
	const stall = time.Second
	c := candidate{}.withOrderedKeys().at(50)
	b := &benchmark{settings: settings{connections: 2}, figures: make(map[candidate][]figures)}
	// load repeats k6's run until it sends all the draws that it should, because a pause
	// of the machine can prevent that.
	load := func(c candidate, isSent func(wrkResult) bool) (run wrkResult) {
		b.figures[c.at(best)] = []figures{{perSecond: 400}}
		for range 10 {
			var err error
			run, err = b.load(t.Context(), c, []*harness.Process{listenWithAStall(t, stall)}, 3)
			require.NoError(t, err)
			assert.Zero(t, run.Status)
			if isSent(run) {
				return run
			}
		}
		require.Fail(t, "k6 does not send what it should", "%+v", run)
		return run
	}
	open := load(c.callers(800), func(r wrkResult) bool { return r.Dropped == 0 })
	assert.GreaterOrEqual(t, open.Requests, int64(4*200-1), "the run and its first second")
	assert.Greater(t, open.P99, stall.Microseconds()*9/10)
	load(c.callers(1), func(r wrkResult) bool { return r.Dropped > 0 })
	closed := load(c.at(best), func(r wrkResult) bool { return r.Requests > 1000 && r.Max >= stall.Microseconds() })
	assert.Less(t, closed.P99, stall.Microseconds()*9/10)
}

// TestLatenciesAreOfTheBestRate: the rates at which draws are due are shares of the median
// best rate, which is measured before.
func TestLatenciesAreOfTheBestRate(t *testing.T) {
	s := quickSettings(t)
	s.quick, s.latency = false, true
	candidates := candidatesOf(chosen(s))
	closed := bestOf(candidates)
	assert.Len(t, closed, 4)
	assert.Len(t, candidates, 12)
	assert.Equal(t, "no-op handler, time-ordered keys, closed model", closed[0].name())
	b := &benchmark{settings: s, figures: map[candidate][]figures{closed[0]: {{perSecond: 900}, {perSecond: 5000}, {perSecond: 1000}}}}
	for share, want := range map[int]int{25: 250, 50: 500, 75: 750, best: 0} {
		due, err := b.dueRate(closed[0].at(share))
		require.NoError(t, err)
		assert.Equal(t, want, due)
	}
	_, err := b.dueRate(closed[1].at(50))
	require.EqualError(t, err, "its best rate was not measured")
}

// TestLatencyTables: each ratio compares figures of one round, targets are checked, and a
// row states how many draws were not sent.
func TestLatencyTables(t *testing.T) {
	s := quickSettings(t)
	s.quick, s.latency = false, true
	list := chosen(s)
	b := &benchmark{settings: s, figures: make(map[candidate][]figures)}
	b.candidates = candidatesOf(list)
	b.candidates = append(bestOf(b.candidates), b.candidates...)
	for _, c := range b.candidates {
		times := 2.5
		if c.program != service {
			times = 1
		}
		for _, slow := range []float64{1, 9, 1} { // the machine is slow in the second round
			f := figures{perSecond: 1000, p50: 1000 * times * slow, p99: 4000 * times * slow, p999: 8000 * times * slow, dropped: 0}
			if c.database == "sqlite" && c.share == 75 {
				f[dropped] = 12
			}
			b.figures[c] = append(b.figures[c], f)
		}
	}
	d := newDocument(b, list, disk{})
	text := d.markdown()
	assert.Contains(t, text, "default memory, at 50 %: p99 ÷ no-op's | ≤ 3 | 2.50 | 2.50 to 2.50 | reached |")
	assert.Contains(t, text, "default memory, at 50 %: p99 ÷ 15 ms | ≤ 1 | 0.67 | 0.67 to 6.00 | reached |")
	assert.Contains(t, text, "| 50 % | PostgreSQL | 1000 | 2.50 ms | 10 ms | 20 ms | 2.50 | 2.50 | 2.50 to 2.50 | 2.50 | 0 |")
	assert.Contains(t, text, "| 50 % | no-op handler | 1000 | 1.00 ms | 4.00 ms | 8.00 ms | – | – | – | – | 0 |")
	assert.Contains(t, text, "| closed model | SQLite | 1000 | 2.50 ms | 10 ms | 20 ms | – | – | – | – | 0 |")
	assert.Equal(t, 1, strings.Count(text, "latencies incomplete"))
	assert.Contains(t, text, "| **12: latencies incomplete** |")
	folder := t.TempDir()
	page := filepath.Join(folder, "page.md")
	require.NoError(t, os.WriteFile(page, []byte("<!-- bench-latency:begin -->\n<!-- bench-latency:end -->\n"), 0o600))
	require.NoError(t, d.write(folder, "latency"))
	require.NoError(t, publish(settings{results: folder, page: page, latency: true}, io.Discard))
	shown, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(shown), d.latencyTable().String())
	assert.Contains(t, string(shown), "](./published-latency.svg)")
	assert.FileExists(t, filepath.Join(folder, "published-latency.svg"))
	chart := d.chart()
	decoder := xml.NewDecoder(strings.NewReader(chart))
	for err == nil {
		_, err = decoder.Token()
	}
	require.ErrorIs(t, err, io.EOF)
	assert.Equal(t, 16, strings.Count(chart, `<path class="spread"`))
}
