package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

type result struct {
	Name      string `json:"name"`
	Fault     string `json:"fault"`
	Number    int    `json:"number"`
	Program   string `json:"program"`
	Database  string `json:"database"`
	Mode      string `json:"mode"`
	Lock      string `json:"lock"`
	Instances int    `json:"instances"`
	Condemned bool   `json:"must_be_condemned"`
	Flaw      string `json:"flaw,omitempty"`
	// Jobs are those that the fault is about.
	Jobs []string `json:"jobs,omitempty"`
	Seed uint64   `json:"seed"`

	At     string `json:"at"`
	Passed bool   `json:"passed"`
	// Late is how many runs before this one were only late, on a machine that
	// was perhaps busy with something else.
	Late    int      `json:"late"`
	Skipped string   `json:"skipped"`
	Broken  []string `json:"broken"`
	Notes   []string `json:"notes"`
	// Took is in seconds, Recovery in milliseconds, the worst instance's; it is
	// negative where nothing had to recover.
	Took     float64        `json:"took"`
	Draws    int            `json:"draws"`
	Answers  map[string]int `json:"answers"`
	Unknown  int            `json:"unknown"`
	Settled  int            `json:"settled"`
	Recovery float64        `json:"recovery_ms"`
	Longest  float64        `json:"longest_ms"`
	Lag      float64        `json:"own_lag_ms"`

	output string
	kept   string
	// onlyLate: no rule was broken but those of time.
	onlyLate bool
}

func newResult(c experiments.Cell, seed uint64) result {
	s := c.Scene()
	return result{
		Name: c.Name(), Fault: c.Experiment.Name, Number: c.Number, Program: s.Program, Database: harness.DatabaseName(s.Database),
		Mode: s.Mode, Lock: s.Lock, Instances: s.Instances, Condemned: c.Condemned != nil, Flaw: c.Flaw, Jobs: c.Jobs(), Seed: seed,
		At:     harness.Now(),
		Broken: []string{}, Notes: []string{}, Answers: map[string]int{}, Recovery: -1,
	}
}

func (r *result) report(t *client.Trial) {
	for _, o := range t.History.Ops() {
		r.Answers[o.Answer()]++
		if o.Kind == history.Draw {
			r.Draws++
		}
		if took := harness.Milliseconds(o.Return - o.Call); !t.Instances[o.Instance].Halted(t.History.Time(o.Call), t.History.Time(o.Return)) {
			r.Longest = max(r.Longest, took)
		}
	}
	r.Unknown = t.Unknown
	r.Settled = t.Unknown - t.Verdict.Count(history.Unsettled)
	for _, took := range t.Recoveries {
		r.Recovery = max(r.Recovery, harness.Milliseconds(took))
	}
	r.Lag = harness.Milliseconds(time.Duration(t.Lag.Load()))
	r.Notes = append(r.Notes, t.Notes...)
}

// take judges. A program that is broken must have broken a rule that says so.
func (r *result) take(t *client.Trial, c experiments.Cell) {
	for _, v := range t.Verdict.Violations {
		r.Broken = append(r.Broken, v.Rule+": "+v.Detail)
	}
	if c.Condemned == nil {
		r.Passed = len(r.Broken) == 0
		r.onlyLate = !r.Passed && !slices.ContainsFunc(t.Verdict.Violations, func(v history.Violation) bool {
			return v.Rule != history.Overdue && v.Rule != history.NotRecovered
		})
		return
	}
	r.Passed = slices.ContainsFunc(c.Condemned, func(rule string) bool { return t.Verdict.Count(rule) > 0 })
}

func (r *result) skipped() bool { return r.Skipped != "" }

func (r *result) verdict() string {
	switch {
	case r.skipped():
		return "**SKIPPED**: " + r.Skipped
	case r.Condemned && r.Passed:
		return "condemned, as it must be"
	case r.Condemned:
		return "FAILED: not condemned"
	case !r.Passed:
		return "FAILED"
	case r.Late > 0:
		return fmt.Sprintf("ok, after %d that were late", r.Late)
	}
	return "ok"
}

func (r *result) line(seed uint64) string {
	if r.skipped() {
		return r.verdict()
	}
	text := fmt.Sprintf("%s, %d draws, %d unknown settled, %.0f s", r.verdict(), r.Draws, r.Settled, r.Took)
	if r.Recovery >= 0 {
		text += fmt.Sprintf(", recovered in %.0f ms", r.Recovery)
	}
	lines := append([]string{text}, r.Notes...)
	for _, broken := range r.Broken {
		lines = append(lines, fmt.Sprintf("%.400s", broken))
	}
	if !r.Passed {
		lines = append(lines, fmt.Sprintf("answers %v, longest %.0f ms, own lag %.0f ms", r.Answers, r.Longest, r.Lag),
			fmt.Sprintf("again: go run ./loadtest/faults -seed %d -only '^%s$'; kept in %s", seed, regexp.QuoteMeta(r.Name), r.kept))
	}
	return strings.Join(lines, "\n          ")
}
