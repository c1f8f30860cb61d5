package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"drawsvc/internal/page"
	"drawsvc/loadtest/harness"
)

type document struct {
	At string `json:"at"`
	// Command made the results.
	Command string `json:"command,omitempty"`
	// Against is the commit that was measured in turn with this tree, if any.
	Against string `json:"against,omitempty"`
	Quick   bool   `json:"quick"`
	// Partial says that entries were left out by their names.
	Partial bool   `json:"partial"`
	Go      string `json:"go"`
	CPUs    int    `json:"cpus"`
	CPU     string `json:"cpu"`
	// FileSystem is what the databases' files are on.
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
	spread           // of the ratio
	Rounds []float64 `json:"rounds"`
	// Main says that the row shows what callers see; Tail is of these alone.
	Main  bool    `json:"main,omitempty"`
	Tail  *tail   `json:"tail,omitempty"`
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
	// Reached says whether the ratio is within its limits; an entry without
	// limits is.
	Reached bool `json:"reached"`
	// Missing says that there is no ratio, because a measurement failed.
	Missing bool `json:"missing,omitempty"`
	// Compared is the verdict on this tree beside another.
	Compared *compared `json:"compared,omitempty"`
}

// tail is the 99th percentile of a row's candidate beside that of the other
// side, both of one round.
type tail struct {
	spread           // of the ratio
	Rounds []float64 `json:"rounds"`
	// OverMillis and UnderMillis are the two sides'.
	OverMillis  spread `json:"over_ms"`
	UnderMillis spread `json:"under_ms"`
}

type measured struct {
	Name    string            `json:"name"`
	Durable string            `json:"durable"`
	Fault   string            `json:"fault,omitempty"`
	Middle  map[metric]spread `json:"middle"`
	Rounds  []figures         `json:"rounds"`
}

func newDocument(b *benchmark, list []entry, under disk) document {
	d := document{
		At: harness.Now(), Command: b.line(), Quick: b.quick, Partial: b.only.String() != "",
		Go: runtime.Version(), CPUs: runtime.NumCPU(), CPU: processor(),
		FileSystem: under.fileSystem, FlushMicros: float64(under.flush.Microseconds()),
		Settings: b.numbers(), Servers: make(map[string][]string),
	}
	for name, k := range serverKinds() {
		d.Servers[serverID{name, false}.String()] = k.args
		if k.defaults != nil {
			d.Servers[serverID{name, true}.String()] = k.defaults
		}
	}
	if b.other != nil {
		d.Against = b.other.commit
	}
	for _, e := range list {
		j := e.judge(b.figures)
		if b.other != nil && !j.Missing {
			c := compare(j.Rounds, e.over.metric)
			j.Compared = &c
		}
		d.Entries = append(d.Entries, j)
	}
	for _, c := range b.candidates {
		m := measured{Name: c.name(), Durable: c.durable(), Middle: middleOf(b.figures[c]), Rounds: b.figures[c]}
		if err := b.faults[c]; err != nil {
			m.Fault = firstLine(err)
		}
		d.Candidates = append(d.Candidates, m)
	}
	return d
}

// judge takes the ratio of each round in which both sides were measured.
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

// tailOf compares the tails of an entry's two sides, nil where one has none.
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

// values are the figure's in each round.
func (f figure) values(measured map[candidate][]figures) []float64 {
	var values []float64
	for _, round := range measured[f.of] {
		if value, ok := round[f.metric]; ok {
			values = append(values, value)
		}
	}
	return values
}

// at is the value of one round; a constant has one in all.
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

// processor is the name of the CPU, "" where it is not known.
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

func readDocument(file string) (document, error) { return harness.Read[document](file) }

func (d document) write(folder, name string) error {
	if err := harness.Write(folder, name, d, d.markdown()); err != nil || d.Against != "" {
		return err // beside another tree there is no no-op handler to draw
	}
	return os.WriteFile(filepath.Join(folder, name+".svg"), []byte(d.chart()), 0o644)
}

// publish makes the last run the one that the quick mode compares with.
func publish(s settings, out io.Writer) error {
	last := filepath.Join(s.results, "last.json")
	d, err := readDocument(last)
	if err != nil {
		return err
	}
	if d.Quick || d.Partial {
		return fmt.Errorf("%s holds a quick or a partial run: ratios are published from one whole run", last)
	}
	if faults := d.faults(); len(faults) > 0 {
		return fmt.Errorf("%s holds measurements that failed: %s", last, strings.Join(faults, "; "))
	}
	if err := d.write(s.results, "published"); err != nil {
		return err
	}
	fmt.Fprintln(out, "published", s.published())
	results, err := filepath.Rel(filepath.Dir(s.page), s.results)
	if err != nil {
		return err
	}
	return page.Fill(s.page, "bench", d.section(results))
}
