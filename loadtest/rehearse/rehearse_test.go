package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/report"
)

// goodLog is a pool that two draws emptied of gold, and that was closed afterwards.
const goodLog = `{"kind":"change","version":1,"what":"created","body":{"name":"A","state":"paused","mode":null}}
{"kind":"move","version":2,"prize":"gold","delta":2,"stocked":2,"issued":0}
{"kind":"move","version":3,"prize":"tin","delta":5,"stocked":5,"issued":0}
{"kind":"award","version":4,"draw":"d1","ordinal":1,"user":"u1","prize":"gold","unit":1}
{"kind":"award","version":5,"draw":"d2","ordinal":1,"user":"u2","prize":"gold","unit":2}
{"kind":"award","version":6,"draw":"d2","ordinal":2,"user":"u2","prize":"tin","unit":1}
{"kind":"change","version":7,"what":"state","body":{"state":"closed"}}
`

// goodEvidence returns an evening that holds.
func goodEvidence(t *testing.T) *evidence {
	t.Helper()
	e := &evidence{audit: audit{OK: true, Version: 7}}
	require.NoError(t, json.Unmarshal([]byte(`[{"prize":"gold","stocked":2,"issued":2},{"prize":"tin","stocked":5,"issued":1}]`), &e.audit.Prizes))
	require.NoError(t, e.read("p", []byte(goodLog)))
	for _, seen := range []string{"draw=d1 u1 1 200 4.1.gold", "draw=d2 u2 2 200 5.2.gold;6.1.tin", "draw=d3 u3 1 409 "} {
		o, err := parseDraw("p", seen)
		require.NoError(t, err)
		e.ops = append(e.ops, o)
	}
	rows := e.rows
	rows.Awards = slices.Clone(rows.Awards)
	e.sql = &rows
	return e
}

// TestEveryBrokenPromiseIsNamed: an evening that breaks a promise fails by the check of
// that promise.
func TestEveryBrokenPromiseIsNamed(t *testing.T) {
	t.Parallel()
	ack := func(seen string) func(*evidence) {
		return func(e *evidence) {
			o, err := parseDraw("p", seen)
			if err != nil {
				panic(err)
			}
			e.ops = append(e.ops, o)
		}
	}
	for name, c := range map[string]struct {
		broken func(e *evidence)
		checks []string
	}{
		"nothing": {func(*evidence) {}, nil},
		"an answer that the log does not have": {
			ack("draw=d9 u9 1 200 8.2.tin"), []string{"every acknowledged award is in the log"},
		},
		"an answer with another unit": {
			func(e *evidence) { e.ops[0].Awards[0].Unit = 2 }, []string{"every acknowledged award is in the log"},
		},
		"issued above stock": {
			func(e *evidence) {
				e.rows.Prizes[0].Stocked, e.rows.Moves[0].Delta = 1, 1
			}, []string{"issued is never above stock"},
		},
		"a unit twice": {
			func(e *evidence) {
				e.rows.Awards[1].Unit, e.ops[1].Awards[0].Unit = 1, 1
				e.sql.Awards[1].Unit = 1
			}, []string{"issued is never above stock"},
		},
		"a key of two users": {
			func(e *evidence) { e.rows.Awards[2].User, e.sql.Awards[2].User = "u9", "u9" }, []string{"a key is one draw of one user"},
		},
		"a refused draw that happened": {
			func(e *evidence) { e.ops[1].Status, e.ops[1].Awards = 409, nil },
			[]string{"the log has no award that nobody requested or that was refused"},
		},
		"a lost version": {
			func(e *evidence) { e.audit.Version, e.rows.Version = 8, 8 }, []string{"no version is missing or duplicate"},
		},
		"an award after the close": {
			func(e *evidence) { e.closed = 5 }, []string{"callers drew, and nothing is awarded after the close"},
		},
		"an open pool":    {func(e *evidence) { e.closed = 0 }, []string{"callers drew, and nothing is awarded after the close"}},
		"a dirty audit":   {func(e *evidence) { e.audit.OK = false }, []string{"the audit is clean"}},
		"other rows":      {func(e *evidence) { e.sql.Awards = e.sql.Awards[:2] }, []string{"the rows by SQL are those of the log"}},
		"a crossed limit": {func(e *evidence) { e.k6 = []string{"over_issued must be count==0, is 1"} }, []string{"the script's own count agrees"}},
		"a false public log": {
			func(e *evidence) { e.verified = []check{newCheck("the public log", "", errors.New("entry 4"))} }, []string{"the public log"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := goodEvidence(t)
			c.broken(e)
			var failed []string
			for _, one := range e.checks() {
				if one.HasFailed() {
					failed = append(failed, one.Name)
				}
			}
			assert.Equal(t, c.checks, failed)
		})
	}
}

// TestAnUnfinishedEveningFails: an evening fails without draws, and with draws that
// only the log has.
func TestAnUnfinishedEveningFails(t *testing.T) {
	t.Parallel()
	e := goodEvidence(t)
	e.ops = nil
	failed, _ := report.Count(e.checks())
	assert.Equal(t, 2, failed)
}

// TestActsAreCalledWithinTheirStep: an act that failed, took too long or was not called
// fails, and one without a command is not rehearsed.
func TestActsAreCalledWithinTheirStep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		given           bool
		ran             map[string]hookRun
		passed, skipped bool
	}{
		"in time":    {true, map[string]hookRun{"failover": {took: time.Second}}, true, false},
		"failed":     {true, map[string]hookRun{"failover": {time.Second, errors.New("no standby")}}, false, false},
		"late":       {true, map[string]hookRun{"failover": {took: time.Minute}}, false, false},
		"not called": {true, nil, false, false},
		"no command": {false, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &hooks{ran: c.ran}
			if c.given {
				h.acts = staging(nil, settings{failover: "true"}).acts
			}
			got := h.checks([]step{{Name: "ramp"}, {Name: "failover", Seconds: 20}})
			require.Len(t, got, 1)
			assert.Equal(t, c.passed, got[0].Passed)
			assert.Equal(t, c.skipped, got[0].IsSkipped())
		})
	}
}

// TestStepsFindTheGap: a pause of the answers belongs to the step in which it begins,
// and an answer 503 does not end it.
func TestStepsFindTheGap(t *testing.T) {
	t.Parallel()
	const head = "metric_name,timestamp,metric_value,scenario,status,extra_tags,metadata\n"
	file := filepath.Join(t.TempDir(), "samples.csv")
	require.NoError(t, os.WriteFile(file, []byte(head+
		"http_req_duration,10000,10,ramp,200,,\n"+
		"http_req_duration,11010,10,failover,200,,\n"+
		"http_req_duration,12000,10,failover,503,,\n"+
		"http_req_duration,13000,10,failover,0,,\n"+
		"http_req_duration,14010,3000,failover,409,,\n"+
		"http_req_duration,14510,10,close,200,,\n"+
		"http_req_duration,14600,10,failoverAct,200,,\n"+
		"dropped_iterations,14000,3,failover,,,\n"+
		"settled,14010,3001,failover,,,draw=d1 u1 1 409 \n"), 0o600))
	s, err := readSamples(file, "p")
	require.NoError(t, err)
	require.Len(t, s.ops, 1)
	assert.Equal(t, history.Op{Kind: history.Draw, Pool: "p", Key: "d1", User: "u1", Count: 1, Status: 409, Sent: true}, s.ops[0])
	steps := s.steps()
	require.Len(t, steps, 3)
	assert.Equal(t, []string{"ramp", "failover", "close"}, []string{steps[0].Name, steps[1].Name, steps[2].Name})
	f := steps[1]
	assert.InDelta(t, 3, f.Gap, 0.001)
	assert.Equal(t, map[string]int{"200": 1, "409": 1, "503": 1, "0": 1}, f.Answers)
	assert.Equal(t, 2, f.Draws)
	assert.Equal(t, 3, f.Unsent)
	assert.InDelta(t, 3001, f.Slowest, 0)
	for _, wrong := range []string{"", "draw=d1 u1 x 200 ", "draw=d1 u1 1 200 4.gold"} {
		_, err := parseDraw("p", wrong)
		require.Error(t, err, wrong)
	}
}

// TestARunIsHereOrOnStaging: the command line names exactly one deployment.
func TestARunIsHereOrOnStaging(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"--here", "--base-url", "https://draws.example.org"}} {
		_, err := parse(args)
		require.Error(t, err)
	}
	s, err := parse([]string{"--base-url", "https://draws.example.org", "--option", "RATE=10"})
	require.NoError(t, err)
	assert.Equal(t, "rehearsal", s.results)
	assert.Equal(t, []string{"RATE=10"}, s.options)
	assert.Equal(t, []string{"https://draws.example.org"}, staging(nil, s).admins)
	s.admin = "https://one.example.org/, https://two.example.org" // as the script reads it
	assert.Equal(t, []string{"https://one.example.org", "https://two.example.org"}, staging(nil, s).admins)
}

// TestPublished: the report and the page show the published run, which passed.
func TestPublished(t *testing.T) {
	t.Parallel()
	p, err := report.Read[published]("results/rehearsal.json")
	require.NoError(t, err)
	require.NoError(t, report.Verdict("checks", p.Checks))
	shown, err := os.ReadFile("results/rehearsal.md")
	require.NoError(t, err)
	assert.Equal(t, p.markdown(), string(shown))
	text, err := os.ReadFile("../../" + page)
	require.NoError(t, err)
	filled, err := report.Filled(string(text), report.Section{Name: "rehearsal", Text: p.body()})
	require.NoError(t, err)
	assert.Equal(t, string(text), filled)
	p.Steps[0].Draws++
	assert.NotEqual(t, p.markdown(), string(shown), "another result is another page")
}
