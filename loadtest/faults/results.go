package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/experiments"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

type result struct {
	report.Outcome
	Fault     string `json:"fault"`
	Number    int    `json:"number"`
	Program   string `json:"program"`
	Database  string `json:"database"`
	Mode      string `json:"mode"`
	Lock      string `json:"lock"`
	Instances int    `json:"instances"`
	Condemned bool   `json:"must_be_condemned"`
	Flaw      string `json:"flaw,omitempty"`
	// Jobs are the jobs that the fault is about.
	Jobs []string `json:"jobs,omitempty"`
	Seed uint64   `json:"seed"`

	At string `json:"at"`
	// Late is how many runs before this one failed only by being late, possibly because
	// the machine was busy with something else.
	Late   int      `json:"late"`
	Broken []string `json:"broken"`
	Notes  []string `json:"notes"`
	// Took is in seconds. Recovery is that of the slowest instance, in milliseconds; it
	// is negative if nothing had to recover.
	Took     float64        `json:"took"`
	Draws    int            `json:"draws"`
	Answers  map[string]int `json:"answers"`
	Unknown  int            `json:"unknown"`
	Settled  int            `json:"settled"`
	Recovery float64        `json:"recovery_ms"`
	Longest  float64        `json:"longest_ms"`
	Lag      float64        `json:"own_lag_ms"`
	Floods   *client.Floods `json:"floods,omitempty"`

	output string
	kept   string
	// onlyLate reports whether only rules of time were broken.
	onlyLate bool
}

func newResult(c experiments.Cell, seed uint64) result {
	s := c.Scene()
	return result{
		Outcome: report.Outcome{Name: c.Name()}, Fault: c.Experiment.Name, Number: c.Number, Program: s.Program, Database: place.Of(s.Database).Name,
		Mode: s.Mode, Lock: s.Lock, Instances: s.Instances, Condemned: c.Condemned != nil, Flaw: c.Flaw, Jobs: c.Jobs(), Seed: seed,
		At:     report.Now(),
		Broken: []string{}, Notes: []string{}, Answers: map[string]int{}, Recovery: -1,
	}
}

func (r *result) record(t *client.Trial) {
	for _, o := range t.History.Ops() {
		r.Answers[o.Answer()]++
		if o.Kind == history.Draw {
			r.Draws++
		}
		if took := report.Milliseconds(o.Return - o.Call); !t.Instances[o.Instance].Halted(t.History.Time(o.Call), t.History.Time(o.Return)) {
			r.Longest = max(r.Longest, took)
		}
	}
	r.Unknown = t.Unknown
	r.Settled = t.Unknown - t.Verdict.Count(history.Unsettled)
	for _, took := range t.Recoveries {
		r.Recovery = max(r.Recovery, report.Milliseconds(took))
	}
	r.Lag = report.Milliseconds(time.Duration(t.Lag.Load()))
	r.Notes, r.Floods = append(r.Notes, t.Notes...), t.Floods
}

// take copies the findings of a trial. A broken program must have broken a rule that
// shows its flaw.
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

func (r *result) verdict() string {
	switch {
	case r.IsSkipped():
		return "**SKIPPED**: " + r.Skipped
	case r.Condemned && r.Passed:
		return "failed, as expected"
	case r.Condemned:
		return "FAILED: it passed"
	case !r.Passed:
		return "FAILED"
	case r.Late > 0:
		return fmt.Sprintf("ok, after %d that were late", r.Late)
	}
	return "ok"
}

func (r *result) line(seed uint64) string {
	if r.IsSkipped() {
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

// modeIn returns the mode, followed by the lock in the given format if there is one.
func (r *result) modeIn(format string) string {
	if r.Lock == "" {
		return r.Mode
	}
	return r.Mode + fmt.Sprintf(format, r.Lock)
}

type published struct {
	Seed uint64 `json:"seed"`
	report.Stand
	Cells []result `json:"cells"`
}

func publish(s settings, out io.Writer, results []result, took time.Duration) error {
	verdict := report.Verdict("runs", results)
	p := published{s.seed, report.NewStand(s.Quick, took, verdict), results}
	if s.merge {
		if err := p.mergeInto(filepath.Join(s.Results, "faults.json")); err != nil {
			return err
		}
	}
	if err := report.Write(s.Results, "faults", p, p.markdown()); err != nil {
		return err
	}
	for i := range results {
		if results[i].IsSkipped() {
			harness.Say(out, "SKIPPED %s: %s\n", results[i].Name, results[i].Skipped)
		}
	}
	harness.Say(out, "\n%d runs in %v, SEED=%d, results in %s\n", len(results), took.Round(time.Second), s.seed, s.Results)
	return verdict
}

// mergeInto adds the cells of the file to p. Cells of p replace those with the same
// name; the others come last.
func (p *published) mergeInto(file string) error {
	before, err := report.Read[published](file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	again := map[string][]result{}
	for _, r := range p.Cells {
		again[r.Name] = append(again[r.Name], r)
	}
	var all []result
	for _, r := range before.Cells {
		now, ran := again[r.Name]
		if !ran {
			now = []result{r}
		}
		all = append(all, now...) // now is empty if the cells of this name were already added
		if ran {
			again[r.Name] = nil
		}
	}
	for _, r := range p.Cells {
		if again[r.Name] != nil {
			all = append(all, r)
		}
	}
	p.Seconds += before.Seconds
	p.Cells, p.Passed = all, report.Verdict("runs", all) == nil
	return nil
}

type row struct {
	result
	runs   int
	failed int
}

// rows sums up the runs of each cell, in order.
func (p *published) rows() []row {
	var all []row
	at := map[string]int{}
	for _, r := range p.Cells {
		n, known := at[r.Name]
		if !known {
			n = len(all)
			at[r.Name] = n
			all = append(all, row{result: r})
			all[n].Answers = map[string]int{}
			all[n].Draws, all[n].Unknown, all[n].Settled = 0, 0, 0
		}
		sum := &all[n]
		sum.runs++
		sum.Draws += r.Draws
		sum.Unknown += r.Unknown
		sum.Settled += r.Settled
		sum.Recovery = max(sum.Recovery, r.Recovery)
		for kind, k := range r.Answers {
			sum.Answers[kind] += k
		}
		if r.HasFailed() {
			sum.failed++
			sum.result.Passed = false
		}
	}
	return all
}

func (p *published) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Faults\n\n%s: %s\n\n", p.At, p.summary())
	b.WriteString("No. is the fault's number in the list of faults that the service must survive. Recovery is the time from the fault's end " +
		"until the slowest instance draws again.\n\n")
	t := report.NewTable("no. | fault | database | mode | instances | runs | draws | answers | unknown | settled | recovery ms | verdict")
	for _, r := range p.rows() {
		r.addTo(t)
	}
	b.WriteString(t.String())
	for i := range p.Cells {
		c := &p.Cells[i]
		for _, broken := range c.Broken {
			if !c.Passed {
				b.WriteString(report.List(fmt.Sprintf("%s, seed %d: %s", c.Name, c.Seed, broken)))
			}
		}
	}
	return b.String()
}

func (p *published) summary() string {
	late := 0
	for _, r := range p.Cells {
		if r.Passed && r.Late > 0 {
			late++
		}
	}
	failed, skipped := report.Count(p.Cells)
	return fmt.Sprintf("%d runs in %.0f minutes on %d cores that clients, services and servers share, %s, seed %d. "+
		"%d failed, %d were skipped, %d held only when run again because they had been late.",
		len(p.Cells), p.Seconds/60, p.CPUs, p.Go, p.Seed, failed, skipped, late)
}

func (r *row) addTo(t *report.Table) {
	recovery := report.Dash("")
	if r.Recovery >= 0 {
		recovery = fmt.Sprintf("%.0f", r.Recovery)
	}
	var answers []string
	for _, kind := range slices.Sorted(maps.Keys(r.Answers)) {
		answers = append(answers, fmt.Sprintf("%s %d", kind, r.Answers[kind]))
	}
	verdict := r.verdict()
	if r.failed > 0 && r.runs > 1 {
		verdict = fmt.Sprintf("FAILED %d of %d", r.failed, r.runs)
	}
	fault := r.Fault
	if r.Condemned {
		fault += " (control: " + cmp.Or(r.Flaw, r.Program) + ")"
	}
	t.Add(report.Positive("%d", r.Number), fault, r.Database, r.modeIn(" %s:"), r.Instances, r.runs, r.Draws,
		strings.Join(answers, ", "), r.Unknown, r.Settled, recovery, verdict)
}
