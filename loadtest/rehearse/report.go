package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"drawsvc/loadtest/report"
)

// published is the file rehearsal.json.
type published struct {
	report.Stand
	Deployment string   `json:"deployment"`
	Options    []string `json:"options"`
	Pool       string   `json:"pool"`
	Steps      []step   `json:"steps"`
	Checks     []check  `json:"checks"`
}

// markdown returns the whole report.
func (p published) markdown() string { return "# Rehearsal of an evening\n\n" + p.body() }

// body returns the report without its title.
func (p published) body() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Played on %s against %s. Load and verdict took %.0f minutes on a machine with %d cores.\n", report.Day(p.At), p.Deployment, p.Seconds/60, p.CPUs)
	if len(p.Options) > 0 {
		fmt.Fprintf(&b, "Options: `%s`.\n", strings.Join(p.Options, " "))
	}
	t := report.NewTable("step | seconds | command, s | draws | not sent by k6 | answers by status | p99, ms | slowest draw, s | longest gap, s")
	for i := range p.Steps {
		s := &p.Steps[i]
		var answers []string
		for _, status := range slices.Sorted(maps.Keys(s.Answers)) {
			word := status
			if status == noAnswer {
				word = "none"
			}
			answers = append(answers, fmt.Sprintf("%d × %s", s.Answers[status], word))
		}
		t.Add(s.Name, fmt.Sprintf("%.0f", s.Seconds), report.Positive("%.1f", s.Act), s.Draws, s.Unsent,
			strings.Join(answers, ", "), fmt.Sprintf("%.0f", s.P99), fmt.Sprintf("%.1f", s.Slowest/1000), fmt.Sprintf("%.1f", s.Gap))
	}
	verdict, checks := "passed", report.NewTable("check | verdict")
	for i := range p.Checks {
		c := &p.Checks[i]
		switch {
		case c.IsSkipped():
			checks.Add(c.Name, c.Skipped)
		case c.Passed:
			checks.Add(c.Name, "yes")
		default:
			verdict = "**failed**"
			checks.Add(c.Name, "**no**")
		}
	}
	_, skipped := report.Count(p.Checks)
	fmt.Fprintf(&b, "\n%s\nThe evening %s; %d of %d checks could not be made.\n\n%s", t, verdict, skipped, len(p.Checks), checks)
	for i := range p.Checks {
		for _, fault := range p.Checks[i].Faults {
			b.WriteString(report.List(p.Checks[i].Name + ": " + fault))
		}
	}
	return b.String()
}
