package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/harness"
)

const wrkPrinted = `Running 1s test @ http://127.0.0.1:1
  2 threads and 32 connections
  30265 requests in 1.01s, 10.13MB read
{"requests":1000,"duration":500000,"bytes":2000,"connect":1,"read":2,"write":3,"status":100,"timeout":4,"p50":904,"p90":4357,"p99":18349,"p999":30027,"max":31625}
`

func TestParseWrk(t *testing.T) {
	r, err := parseWrk([]byte(wrkPrinted))
	require.NoError(t, err)
	assert.Equal(t, wrkResult{Requests: 1000, Duration: 500000, Bytes: 2000, Connect: 1, Read: 2, Write: 3, Status: 100, Timeout: 4,
		P50: 904, P90: 4357, P99: 18349, P999: 30027, Max: 31625}, r)
	assert.Equal(t, int64(900), r.answered(candidate{}))
	assert.Equal(t, int64(100), r.answered(candidate{soldOut: true}), "sold out is 409")
	assert.InDelta(t, 110.0/1010, r.refused(candidate{}), 1e-9)
	for _, printed := range []string{"", "unable to connect to 127.0.0.1:1 Connection refused\n", `{"requests":0,"duration":1}`, `{"other":1}`} {
		_, err := parseWrk([]byte(printed))
		require.Error(t, err, printed)
	}
}

func TestParseBenchmark(t *testing.T) {
	const printed = `goos: linux
BenchmarkEngine/dialect=postgres/callers=2048-2         	  106270	     11680 ns/op	     85618 draws/s	    1416 B/op	      11 allocs/op
PASS
`
	rate, err := parseBenchmark([]byte(printed))
	require.NoError(t, err)
	assert.InDelta(t, 85618, rate, 0)
	_, err = parseBenchmark([]byte("testing: warning: no tests to run\nPASS\n"))
	require.Error(t, err)
}

// asked is what draw.lua requested from a server.
type asked struct {
	mu     sync.Mutex
	keys   map[string]int
	pools  map[string]int
	users  map[string]int
	counts map[int]int
	tokens map[string]int
	paths  map[string]int
}

func listenTo(t *testing.T) (*asked, *harness.Process) {
	a := &asked{keys: map[string]int{}, pools: map[string]int{}, users: map[string]int{}, counts: map[int]int{}, tokens: map[string]int{}, paths: map[string]int{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Pool, User string
			Count      int
		}
		text, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err != nil || r.Header.Get("Content-Type") != "application/json" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.keys[r.Header.Get("Idempotency-Key")]++
		a.pools[body.Pool]++
		a.users[body.User]++
		a.counts[body.Count]++
		a.tokens[r.Header.Get("Authorization")]++
		a.paths[r.Method+" "+r.URL.Path]++
	}))
	t.Cleanup(server.Close)
	return a, &harness.Process{URL: server.URL}
}

// TestDraws runs the load script against a server that reads each request.
func TestDraws(t *testing.T) {
	_, err := exec.LookPath("wrk")
	require.NoError(t, err, "apt-get install wrk (.ci/packages does)")
	t.Chdir("../..")
	for name, test := range map[string]struct {
		candidate
		servers int
		check   func(t *testing.T, a *asked)
	}{
		"plain": {candidate{}, 1, func(t *testing.T, a *asked) {
			assert.Contains(t, a.keys, "")
			assert.Len(t, a.keys, 1)
			assert.Contains(t, a.pools, "bench")
			assert.Contains(t, a.counts, 1)
		}},
		"keys": {candidate{}.withKeys(), 1, func(t *testing.T, a *asked) {
			assert.Greater(t, len(a.keys), 100)
			for key, times := range a.keys {
				assert.Equal(t, 1, times, "%s is there once", key)
				assert.Regexp(t, regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`), key)
			}
		}},
		"time-ordered keys": {candidate{}.withOrderedKeys(), 1, func(t *testing.T, a *asked) {
			assert.Greater(t, len(a.keys), 100)
			for key, times := range a.keys {
				assert.Equal(t, 1, times, "%s is there once", key)
				id, err := uuid.Parse(key)
				require.NoError(t, err, key)
				require.Equal(t, uuid.Version(7), id.Version(), key)
				assert.WithinDuration(t, time.Now(), time.Unix(id.Time().UnixTime()), time.Minute, key)
			}
		}},
		"pools of ten": {candidate{}.withKeys().ofPools(7).draws(10), 1, func(t *testing.T, a *asked) {
			assert.Len(t, a.pools, 7)
			assert.Contains(t, a.pools, "bench-1")
			assert.Contains(t, a.pools, "bench-7")
			assert.Contains(t, a.counts, 10)
		}},
		"sold out, one caller": {candidate{}.whenSoldOut().callers(1), 1, func(t *testing.T, a *asked) {
			assert.Contains(t, a.pools, "sold-out")
		}},
		"three instances": {candidate{}.times(3), 3, func(t *testing.T, a *asked) {}},
	} {
		t.Run(name, func(t *testing.T) {
			var instances []*harness.Process
			var listeners []*asked
			for range test.servers {
				a, i := listenTo(t)
				listeners, instances = append(listeners, a), append(instances, i)
			}
			b := &benchmark{settings: settings{connections: 8, threads: 2}}
			for heard, runs := int64(0), 0; heard < 200*int64(test.servers) && !t.Failed(); runs++ { // a machine may pause for a whole run of one second
				require.Less(t, runs, 30, "wrk is not answered")
				run, err := b.load(t.Context(), test.candidate, instances, 1)
				if err != nil {
					require.ErrorContains(t, err, "wrk got no answer")
				}
				assert.Zero(t, run.Status)
				heard += run.Requests
			}
			for _, a := range listeners {
				a.mu.Lock()
				assert.Len(t, a.users, 1)
				assert.Equal(t, []string{"Bearer " + harness.DrawToken}, keysOf(a.tokens))
				assert.Equal(t, []string{"POST /draw"}, keysOf(a.paths))
				test.check(t, a)
				a.mu.Unlock()
			}
		})
	}
}

func keysOf(m map[string]int) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}
