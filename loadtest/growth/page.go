package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/report"
)

const (
	pageFile = "docs/performance.md"
	folder   = "loadtest/growth/results"
)

// results are the results of one database.
type results struct {
	report.Stand
	Database string `json:"database"`
	// Awards are the awards of the large pool at each step; Values has a figure for
	// each.
	Awards []int64              `json:"awards"`
	Values map[string][]float64 `json:"values"`
	// Draws counts draws, each of a hundred units. Unknown counts requests that got no
	// answer because of a kill.
	Draws   int `json:"draws"`
	Kills   int `json:"kills"`
	Unknown int `json:"unknown"`
	// Peak is the disk that was used, Bound the disk that the command demanded, in GB.
	Peak   float64             `json:"peak_gb"`
	Bound  float64             `json:"bound_gb"`
	Broken []history.Violation `json:"broken"`
}

func (f *filler) tally(r *results) {
	r.Draws, r.Kills, r.Unknown = f.draws, f.kills, f.unknown
	r.Broken = append([]history.Violation{}, f.Verdict.Violations...)
}

func (r *results) add(took map[string]float64) {
	for _, m := range measures() {
		r.Values[m.name] = append(r.Values[m.name], took[m.name])
	}
}

// measure is a figure whose growth is judged. If it is linear, it may grow in proportion
// to the awards; otherwise it must not grow.
type measure struct {
	name   string
	linear bool
	// enough is the value up to which a figure is a fixed cost or noise, and its growth
	// does not count.
	enough float64
}

func measures() []measure {
	return []measure{
		{databaseSize, true, 0}, {auditTime, true, 1}, {deepTime, true, 1}, {exportTime, true, 1}, {verifyTime, true, 1}, {verifyMemory, true, 64},
		{dumpTime, true, 1}, {dumpSize, true, 0}, {restoreTime, true, 1}, {copyAudit, true, 1}, {diskPeak, true, 0}, {databaseStart, true, 1},
		{auditMemory, false, 64}, {deepMemory, false, 64}, {serviceMemory, false, 64}, {serviceStart, false, 1}, {millionDraws, false, 0},
		{knownKey, false, 20}, {feedTime, false, 50}, {pageTime, false, 1000}, {migrateTime, true, 1}, {migrateDraw, false, 500},
	}
}

// The bounds of growth leave room for the noise of a shared machine.
const (
	flatMax   = 2   // times the earlier figure, for a figure that does not grow
	linearMax = 1.5 // times the growth of the awards
)

// judge compares the last two steps, because at small sizes fixed costs hide growth.
func (m measure) judge(awards []int64, values []float64) (says string, holds bool) {
	last := len(values) - 1
	if last < 1 {
		return report.Dash(""), true
	}
	was, is, ratio := values[last-1], values[last], float64(awards[last])/float64(awards[last-1])
	switch {
	case is <= m.enough, is <= flatMax*was:
		return "does not grow", true
	case is <= linearMax*ratio*max(was, m.enough/ratio):
		return "grows at most linearly", m.linear
	}
	return "grows faster than linearly", false
}

// verdict returns the broken rules, growth and disk included.
func (r *results) verdict() error {
	var all []error
	for _, v := range r.Broken {
		all = append(all, errors.New(v.String()))
	}
	for _, m := range measures() {
		if says, holds := m.judge(r.Awards, r.Values[m.name]); !holds {
			all = append(all, fmt.Errorf("%s %s: %v", m.name, says, r.Values[m.name]))
		}
	}
	if r.Peak > r.Bound {
		all = append(all, fmt.Errorf("%.1f GB of disk were used, and %.1f demanded", r.Peak, r.Bound))
	}
	return errors.Join(all...)
}

func (r *results) table() *report.Table {
	heads := "measure"
	for _, n := range r.Awards {
		heads += " | " + millions(n)
	}
	t := report.NewTable(heads + " | verdict")
	for _, m := range measures() {
		cells := []any{m.name}
		for _, v := range r.Values[m.name] {
			cells = append(cells, report.Short(v))
		}
		says, holds := m.judge(r.Awards, r.Values[m.name])
		if !holds {
			says = "**" + says + "**"
		}
		t.Add(append(cells, says)...)
	}
	return t
}

func (r *results) summary() string {
	return fmt.Sprintf("**%s**, `--awards %d`, %s on %d cores, in %.0f minutes: %d draws of a hundred, %d kills,\n%d requests without an answer, **%d violations**. "+
		"Disk: at most %.1f GB, of %.1f demanded.",
		r.Database, slices.Max(r.Awards), report.Day(r.At), r.CPUs, r.Seconds/60, r.Draws, r.Kills, r.Unknown, len(r.Broken), r.Peak, r.Bound)
}

func millions(n int64) string { return fmt.Sprintf("%s million", report.Short(float64(n)/1e6)) }

// publish replaces a database's results, unless the published ones are of more awards.
func publish(r results) error {
	file := filepath.Join(folder, "published.json")
	all, err := report.Read[[]results](file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := len(all)
	for n := range all {
		if all[n].Database == r.Database {
			at = n
		}
	}
	switch {
	case at == len(all):
		all = append(all, r)
	case slices.Max(all[at].Awards) > slices.Max(r.Awards):
		return nil
	default:
		all[at] = r
	}
	return errors.Join(report.WriteJSON(file, all), fill("."))
}

// fill writes the section of the page, and its pictures.
func fill(root string) error {
	all, err := report.Read[[]results](filepath.Join(root, folder, "published.json"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, folder, "published.svg"), []byte(picture(all)), 0o644); err != nil { //nolint:gosec // published
		return err
	}
	return report.Fill(filepath.Join(root, pageFile), section(all))
}

func section(all []results) report.Section {
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s\n\n%s\n", r.summary(), r.table())
	}
	b.WriteString("![What grows with the awards](../" + folder + "/published.svg)\n")
	return report.Section{Name: "growth", Text: b.String()}
}
