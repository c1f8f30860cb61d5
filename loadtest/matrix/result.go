package main

import (
	"fmt"
	"strings"

	"drawsvc/loadtest/harness"
)

type result struct {
	Name      string `json:"name"`
	Script    string `json:"script"`
	Program   string `json:"program"`
	Database  string `json:"database"`
	Mode      string `json:"mode"`
	Lock      string `json:"lock"`
	Instances int    `json:"instances"`
	// MustCross is the threshold that the run had to cross, "" for none.
	MustCross string `json:"must_cross"`

	Passed  bool     `json:"passed"`
	Skipped string   `json:"skipped"`
	Faults  []string `json:"faults"`
	Exit    int      `json:"k6_exit_code"`
	// Took is the whole cell, Seconds the load alone, in seconds.
	Took    float64 `json:"took"`
	Seconds float64 `json:"seconds"`

	Stocked       int64   `json:"stocked"`
	LogAwards     int64   `json:"log_awards"`
	LogOverIssued int64   `json:"log_over_issued"`
	SQLAwards     int64   `json:"sql_awards"`
	SQLOverIssued int64   `json:"sql_over_issued"`
	Won           int64   `json:"draws_won"`
	SoldOut       int64   `json:"draws_sold_out"`
	Replays       int64   `json:"replays"`
	Busy          int64   `json:"busy_503"`
	Unknown       int64   `json:"unknown_504"`
	OddsZ         float64 `json:"odds_z"`
	PerSecond     float64 `json:"answers_per_second"`
	P50           float64 `json:"p50_ms"`
	P99           float64 `json:"p99_ms"`
	Longest       float64 `json:"longest_ms"`
	// Exchanges were judged by openapi.yaml, and are of so many kinds; 0 where none was.
	Exchanges int `json:"exchanges"`
	Kinds     int `json:"kinds"`

	output   string
	timeline *timeline
}

func newResult(c cell) result {
	return result{
		Name: c.name(), Script: c.script, Program: c.program, Database: harness.DatabaseName(c.database), Mode: c.mode, Lock: c.lock,
		Instances: c.instances, MustCross: c.crossed, Faults: []string{},
	}
}

func (r *result) skipped() bool { return r.Skipped != "" }

func (r *result) take(run loadRun) {
	r.Exit = run.exit
	s := run.summary
	if s == nil {
		return
	}
	total := total(s.Prizes)
	r.Seconds, r.Stocked, r.LogAwards, r.LogOverIssued = s.Seconds, total.Stocked, total.Awards, total.OverIssued
	n := func(name string) int64 { return int64(s.metric(name, "count")) }
	r.Won, r.SoldOut, r.Replays, r.Busy, r.Unknown = n("won"), n("sold_out"), n("replays"), n("busy"), n("outcome_unknown")
	r.OddsZ = s.metric("odds_z", "value")
	r.PerSecond = s.metric("http_reqs", "rate")
	r.P50, r.P99, r.Longest = s.metric("draw_latency", "med"), s.metric("draw_latency", "p(99)"), s.metric("draw_latency", "max")
}

func (r *result) verdict() string {
	switch {
	case r.skipped():
		return "skipped: " + r.Skipped
	case !r.Passed:
		return "FAILED"
	case r.MustCross != "":
		return fmt.Sprintf("caught (%s)", r.MustCross)
	}
	return "ok"
}

func (r *result) line() string {
	if r.skipped() {
		return r.verdict()
	}
	lines := []string{fmt.Sprintf("%s, %d of %d issued, %.0f s", r.verdict(), r.LogAwards, r.Stocked, r.Took)}
	return strings.Join(append(lines, r.Faults...), "\n        ")
}

func indent(text string) string {
	return "        " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n        ")
}
