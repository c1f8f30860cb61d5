package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"drawsvc/loadtest/report"
)

type document struct {
	At string `json:"at"`
	// Command is the command that made the results.
	Command string `json:"command,omitempty"`
	// Against is the commit that was measured alternately with this tree, if any.
	Against string `json:"against,omitempty"`
	Quick   bool   `json:"quick"`
	// Partial means that entries were left out by their names.
	Partial bool   `json:"partial"`
	Go      string `json:"go"`
	CPUs    int    `json:"cpus"`
	CPU     string `json:"cpu"`
	// FileSystem is the file system of the databases' files.
	FileSystem string `json:"file_system,omitempty"`
	// FlushMicros is the median time of an fdatasync of 8 KiB.
	FlushMicros float64             `json:"flush_us"`
	Seconds     float64             `json:"seconds"`
	Settings    map[string]int      `json:"settings"`
	Servers     map[string][]string `json:"servers"`
	Entries     []judged            `json:"entries"`
	Candidates  []measured          `json:"candidates"`
}

// judged is an entry with its ratio in each round.
type judged struct {
	Name   string    `json:"name"`
	Over   string    `json:"over"`
	Under  string    `json:"under"`
	spread           // the spread of the ratio
	Rounds []float64 `json:"rounds"`
	// Main means that the row shows what callers see; only such rows have a Tail.
	Main  bool    `json:"main,omitempty"`
	Tail  *tail   `json:"tail,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// Reached means that the ratio is within its limits, or has none.
	Reached bool `json:"reached"`
	// Missing means that there is no ratio, because a measurement failed.
	Missing bool `json:"missing,omitempty"`
	// Compared is the verdict on this tree against another.
	Compared *compared `json:"compared,omitempty"`
}

// tail compares the 99th percentiles of the two sides of a row, round by round.
type tail struct {
	spread           // the spread of the ratio
	Rounds []float64 `json:"rounds"`
	// OverMillis and UnderMillis are the percentiles of the two sides.
	OverMillis  spread `json:"over_ms"`
	UnderMillis spread `json:"under_ms"`
}

type measured struct {
	Name    string            `json:"name"`
	Share   int               `json:"share_percent,omitempty"`
	Durable string            `json:"durable"`
	Fault   string            `json:"fault,omitempty"`
	Middle  map[metric]spread `json:"middle"`
	Rounds  []figures         `json:"rounds"`
}

func newDocument(b *benchmark, list []entry, under disk) document {
	d := document{
		At: report.Now(), Command: b.line(), Quick: b.quick, Partial: b.only.String() != "",
		Go: runtime.Version(), CPUs: runtime.NumCPU(), CPU: processor(),
		FileSystem: under.fileSystem, FlushMicros: float64(under.flush.Microseconds()),
		Settings: b.numbers(), Servers: make(map[string][]string),
	}
	for _, name := range []string{"postgres", "mysql", "redis"} {
		for _, id := range []serverID{{name, false}, {name, true}} {
			if args := id.args(); args != nil {
				d.Servers[id.String()] = args
			}
		}
	}
	if b.against != "" {
		d.Against = b.other.commit
	}
	for _, e := range list {
		j := e.judge(b.figures)
		if b.against != "" && !j.Missing {
			c := compare(j.Rounds, e.over.metric)
			j.Compared = &c
		}
		d.Entries = append(d.Entries, j)
	}
	for _, c := range b.candidates {
		m := measured{Name: c.name(), Share: c.share, Durable: c.durable(), Middle: middleOf(b.figures[c]), Rounds: b.figures[c]}
		if err := b.faults[c]; err != nil {
			m.Fault = firstLine(err)
		}
		d.Candidates = append(d.Candidates, m)
	}
	return d
}

// judge computes the ratio of each round in which both sides were measured.
func (e entry) judge(measured map[candidate][]figures) judged {
	j := judged{Name: e.name, Over: e.over.name(), Under: e.under.name(), Main: e.main, Least: e.least, Most: e.most, Rounds: []float64{}}
	over, under := e.over.values(measured), e.under.values(measured)
	for round := range max(len(over), len(under)) {
		a, ok := e.over.at(over, round)
		b, okToo := e.under.at(under, round)
		if ok && okToo && b > 0 {
			j.Rounds = append(j.Rounds, a/b)
		}
	}
	if j.Missing = len(j.Rounds) == 0; j.Missing {
		return j
	}
	j.spread = spreadOf(j.Rounds)
	j.Reached = e.reached(j.Median)
	if e.main {
		j.Tail = e.tailOf(measured)
	}
	return j
}

// tailOf compares the tails of an entry's two sides; it returns nil if a side has none.
func (e entry) tailOf(measured map[candidate][]figures) *tail {
	over, under := of(e.over.of, p99), of(e.under.of, p99)
	j := entry{over: over, under: under}.judge(measured)
	if j.Missing {
		return nil
	}
	return &tail{spread: j.spread, Rounds: j.Rounds, OverMillis: millis(over.values(measured)), UnderMillis: millis(under.values(measured))}
}

// millis summarises microseconds.
func millis(micros []float64) spread {
	s := spreadOf(micros)
	return spread{s.Median / 1000, s.Low / 1000, s.High / 1000}
}

// values returns the figure of each round.
func (f figure) values(measured map[candidate][]figures) []float64 {
	var values []float64
	for _, round := range measured[f.of] {
		if value, ok := round[f.metric]; ok {
			values = append(values, value)
		}
	}
	return values
}

// at returns the value of one round; a constant has the same value in all rounds.
func (f figure) at(values []float64, round int) (float64, bool) {
	if f.metric == "" {
		return f.constant, true
	}
	if round >= len(values) {
		return 0, false
	}
	return values[round], true
}

// middleOf summarises each metric over the rounds.
func middleOf(rounds []figures) map[metric]spread {
	values := make(map[metric][]float64)
	for _, f := range rounds {
		for m, value := range f {
			values[m] = append(values[m], value)
		}
	}
	middle := make(map[metric]spread, len(values))
	for m, v := range values {
		middle[m] = spreadOf(v)
	}
	return middle
}

// processor returns the name of the CPU, "" if it is unknown.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func (d document) write(folder, name string) error {
	if err := report.Write(folder, name, d, d.markdown()); err != nil || d.ruler() == nil && len(d.latencies()) == 0 {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".svg"), []byte(d.chart()), 0o644)
}

// publish publishes the results of the last run. Quick mode then compares with these.
func publish(s settings, out io.Writer) error {
	last := filepath.Join(s.results, s.name()+".json")
	d, err := report.Read[document](last)
	if err != nil {
		return err
	}
	if d.Quick || d.Partial {
		return fmt.Errorf("%s holds a quick or a partial run: ratios are published from one whole run", last)
	}
	if faults := d.faults(); len(faults) > 0 {
		return fmt.Errorf("%s holds measurements that failed: %s", last, strings.Join(faults, "; "))
	}
	if err := d.write(s.results, s.publishedName()); err != nil {
		return err
	}
	fmt.Fprintln(out, "published", s.published())
	results, err := filepath.Rel(filepath.Dir(s.page), s.results)
	if err != nil {
		return err
	}
	if s.latency {
		return report.Fill(s.page, report.Section{Name: "bench-latency", Text: d.latencySection(results)})
	}
	if s.won {
		return report.Fill(s.page, report.Section{Name: "bench-after-the-win", Text: d.wonSection(results)})
	}
	return report.Fill(s.page, report.Section{Name: "bench", Text: d.section(results)})
}

// fallMax is how far a ratio may fall below the published one.
const fallMax = 0.2

// disturbanceMax is how many cores other programs may use in a trusted measurement.
const disturbanceMax = 0.1

// disturbed returns how many measurements other programs disturbed, and how many there
// are.
func (d document) disturbed() (count, all int) {
	for _, c := range d.Candidates {
		for _, f := range c.Rounds {
			all++
			if f[disturbance] > disturbanceMax {
				count++
			}
		}
	}
	return count, all
}

// fallen names the entries whose ratio is worse than the published one by more than
// fallMax. An entry that is not published, or was not measured, has not fallen.
func (d document) fallen(published document) []string {
	before := published.byName()
	var names []string
	for _, e := range d.Entries {
		if was, ok := before[e.Name]; ok && !was.Missing && !e.Missing && e.worse(was) {
			names = append(names, e.Name)
		}
	}
	return names
}

// unpublishedShare is the part of its limit that an unpublished entry must reach. A limit
// is a target, which the first measurements need not reach.
const unpublishedShare = 0.75

// addLimits adds the unpublished entries, each with a part of its limit instead of a
// published ratio.
func (d *document) addLimits(list []entry) {
	before := d.byName()
	for _, e := range list {
		if _, ok := before[e.name]; !ok && e.limits != (limits{}) {
			least := e.least*unpublishedShare + e.most/unpublishedShare // least or most is 0
			d.Entries = append(d.Entries, judged{Name: e.name, Least: e.least, Most: e.most, spread: spread{least, least, least}})
		}
	}
}

// worse reports whether the median is worse than the published one by more than fallMax.
// Worse is lower, or higher if the limit is a maximum. A median does not count if one
// round is as good as a published round: then the machine was slow in the others, since
// the program is the same in all.
func (j judged) worse(was judged) bool {
	if j.Most > 0 {
		return j.Median > was.Median/(1-fallMax) && j.Low > was.High
	}
	return j.Median < was.Median*(1-fallMax) && j.High < was.Low
}

func (d document) faults() []string {
	var faults []string
	for _, c := range d.Candidates {
		if c.Fault != "" {
			faults = append(faults, c.Name+": "+c.Fault)
		}
	}
	return faults
}

// unpublished names the entries without a published ratio, which quick mode could not
// compare.
func (d document) unpublished(published document) []string {
	before := published.byName()
	var names []string
	for _, e := range d.Entries {
		if was, ok := before[e.Name]; !ok || was.Missing {
			names = append(names, e.Name)
		}
	}
	return names
}

// verdict returns the error of a run. A failed measurement is an error. In quick mode,
// a ratio that has fallen, or has no published one, is an error. Against another tree,
// figures that became worse are an error. A limit that is not reached is shown but is
// not an error: it depends on the machine.
func (d document) verdict(published document) error {
	if faults := d.faults(); len(faults) > 0 {
		return fmt.Errorf("measurements failed:\n  %s", strings.Join(faults, "\n  "))
	}
	if d.Against != "" {
		if slower := d.slower(); len(slower) > 0 {
			return fmt.Errorf("slower or worse than %s:\n  %s", d.Against, strings.Join(slower, "\n  "))
		}
		return nil
	}
	if !d.Quick {
		return nil
	}
	if fallen := d.fallen(published); len(fallen) > 0 {
		return d.fell(fallen, published)
	}
	if names := d.unpublished(published); len(names) > 0 {
		return fmt.Errorf("no ratio is published to compare with (bench, then bench publish) for:\n  %s", strings.Join(names, "\n  "))
	}
	return nil
}

func (d document) fell(fallen []string, published document) error {
	now, before := d.byName(), published.byName()
	lines := make([]string, len(fallen))
	for i, name := range fallen {
		lines[i] = fmt.Sprintf("%s: %.3g, published %.3g", name, now[name].Median, before[name].Median)
	}
	if count, all := d.disturbed(); count > 0 {
		lines = append(lines, fmt.Sprintf("(the machine worked for others during %d of %d measurements)", count, all))
	}
	return fmt.Errorf("%d ratios have fallen by more than %.0f %%:\n  %s", len(fallen), 100*fallMax, strings.Join(lines, "\n  "))
}

func (d document) byName() map[string]judged {
	entries := make(map[string]judged, len(d.Entries))
	for _, e := range d.Entries {
		entries[e.Name] = e
	}
	return entries
}
