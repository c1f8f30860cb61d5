package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

// best is the share of candidates that measure the best rate. There k6 uses its closed
// model: each caller sends its next draw when its last one was answered.
const best = 100

// aimMillis is the aimed 99th percentile of PostgreSQL at half of its best rate.
const aimMillis = 15

// latencyEntries compare the service's latencies with the no-op handler's. Each program
// gets a share of its own best rate, so that both are equally busy.
func latencyEntries(s settings) []entry {
	noop := candidate{program: "noop"}.withOrderedKeys()
	postgres := candidate{program: service, database: "postgres", mode: "for-update"}.grown(s).withOrderedKeys()
	var list []entry
	for _, share := range []int{25, 50, 75} {
		for _, c := range []candidate{postgres, postgres.on("mysql"), postgres.on("sqlite")} {
			c = c.at(share)
			if c.database != "sqlite" { // SQLite has only one setting of memory, see mainEntries
				c.defaults = true
			}
			for _, m := range []metric{p50, p99, p999} {
				e := entry{name: latencyName(c.name(), m), over: of(c, m), under: of(noop.at(share), m)}
				if c.database == "postgres" && share == 50 && m == p99 {
					e.limits = atMost(3)
					list = append(list, entry{name: fmt.Sprintf("%s: p99 ÷ %d ms", c.name(), aimMillis), over: e.over, under: constant(aimMillis * 1000), limits: atMost(1)})
				}
				list = append(list, e)
			}
		}
	}
	return list
}

func latencyName(of string, m metric) string {
	return of + ": " + strings.TrimSuffix(string(m), "_us") + " ÷ no-op's"
}

// bestOf returns the candidates that measure the best rates; the rates of the others are
// shares of these.
func bestOf(candidates []candidate) []candidate {
	var list []candidate
	for _, c := range candidates {
		if closed := c.at(best); c.share > 0 && !slices.Contains(list, closed) {
			list = append(list, closed)
		}
	}
	return list
}

// dueRate returns how many draws of a candidate are due per second: its share of the
// median best rate of all rounds, 0 in the closed model.
func (b *benchmark) dueRate(c candidate) (int, error) {
	rounds := rate(c.at(best)).values(b.figures)
	switch {
	case c.share == best:
		return 0, nil
	case len(rounds) == 0:
		return 0, errors.New("its best rate was not measured")
	}
	return max(int(spreadOf(rounds).Median)*c.share/best, 1), nil
}

const (
	// dueCallers is the minimum number of k6's callers in the open model.
	dueCallers = 100
	// pauseParts sets the number of callers: the service may pause for 1/pauseParts of a
	// second before a due draw finds no free caller.
	pauseParts = 4
	// connectSeconds is the time in which k6's callers connect. draw.js does not count
	// latencies in that time.
	connectSeconds = 1
)

func (b *benchmark) k6(ctx context.Context, c candidate, instances []*harness.Process, seconds int) (*exec.Cmd, error) {
	due, err := b.dueRate(c)
	callers := b.callers(c)
	if due > 0 && c.connections == 0 {
		callers = max(dueCallers, due/pauseParts)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(place.Bin, "k6"), "run", "--quiet", "--no-usage-report", "--log-format", "raw", "--no-color",
		"-e", "BASE_URL="+instances[0].URL, "-e", "DRAW_TOKEN="+harness.DrawToken, "-e", "POOL="+poolOf(c), "-e", fmt.Sprint("RATE=", due),
		"-e", fmt.Sprint("VUS=", callers), "-e", fmt.Sprint("SECONDS=", seconds+connectSeconds), "loadtest/bench/draw.js")
	cmd.Env = append(os.Environ(), "K6_AUTO_EXTENSION_RESOLUTION=false")
	return cmd, err
}

// latencies returns the candidates that k6 sent draws to, by share.
func (d document) latencies() []measured {
	rows := slices.DeleteFunc(slices.Clone(d.Candidates), func(m measured) bool { return m.Share == 0 || len(m.Rounds) == 0 })
	slices.SortStableFunc(rows, func(a, b measured) int { return a.Share - b.Share })
	return rows
}

// shortName returns the name without the parts that all candidates share.
func (m measured) shortName() string {
	name, _, _ := strings.Cut(m.Name, ",")
	return strings.TrimSuffix(name, " for-update")
}

func (m measured) rateName() string {
	if m.Share == best {
		return "closed model"
	}
	return fmt.Sprintf("%d %%", m.Share)
}

func (d document) latencyTable() *report.Table {
	t := report.NewTable("draws due | program | draws/s | p50 | p99 | p99.9 | p50 ÷ no-op's | p99 ÷ no-op's | low to high | p99.9 ÷ no-op's | not sent")
	ratios := d.byName()
	for _, m := range d.latencies() {
		cells := []any{m.rateName(), m.shortName(), short(m.Middle[perSecond].Median)}
		for _, of := range []metric{p50, p99, p999} {
			cells = append(cells, short(m.Middle[of].Median/1000)+" ms")
		}
		for _, of := range []metric{p50, p99, p999} {
			e, ok := ratios[latencyName(m.Name, of)]
			e.Missing = e.Missing || !ok
			cells = append(cells, e.median())
			if of == p99 {
				cells = append(cells, e.span())
			}
		}
		lost := "0"
		if n := m.Middle[dropped].High; n > 0 {
			lost = fmt.Sprintf("**%.0f: latencies incomplete**", n)
		}
		t.Add(append(cells, lost)...)
	}
	return t
}

// latencyText returns the tables of latencies, and how they were measured.
func (d document) latencyText() string {
	aims := report.NewTable(ratioHeads)
	for _, e := range d.Entries {
		if e.limits() != (limits{}) {
			aims.Add(e.row()...)
		}
	}
	return fmt.Sprintf(`First k6 measures the best rate of each program in a closed model: %d callers that wait for their answers. It is the rate
of the pair: k6 uses more CPU for a draw than the program does. Then draws are due at 25, 50 and 75 %% of that rate, whether
or not others are answered (open model). A latency begins when the draw was due, so it contains every wait, also k6's own.
Draws that were due but not sent would hide waits: a row states how many there were. The no-op handler beside a row gets
the same share of its own best rate in the same round. Keys rise with time, the log holds %s awards when the run
begins, and servers have their default memory.

%s
%s`, d.Settings["connections"], number(d.Settings["log"]), aims, d.latencyTable())
}

// latencySection returns the section of the page about performance.
func (d document) latencySection(results string) string {
	note := ""
	if count, all := d.disturbed(); count > 0 {
		note = fmt.Sprintf("The machine worked for others during %d of %d measurements.\n\n", count, all)
	}
	name := results + "/" + settings{latency: true}.publishedName()
	return fmt.Sprintf("%s.\n\n%s%s\n![Latencies at shares of the best rate](%s.svg)\n\nRaw: [published-latency.json](%[4]s.json).\n",
		d.made(), note, d.latencyText(), name)
}

// latencyChart draws, for each candidate and rate, a bar from the median to the 99th
// percentile and a line from the 99th to the 99.9th percentile, on a logarithmic scale.
func (d document) latencyChart(rows []measured) string {
	low, high := math.Inf(1), 0.0
	for _, m := range rows {
		low, high = min(low, m.Middle[p50].Median/1000), max(high, m.Middle[p999].Median/1000)
	}
	from, to := math.Floor(math.Log10(max(low, 0.001))), math.Ceil(math.Log10(max(high, 0.001)))
	x := func(millis float64) float64 {
		return chartLeft + (chartRight-chartLeft)*(math.Log10(max(millis, 0.001))-from)/max(to-from, 1)
	}
	height := chartTop + rowHeight*float64(len(rows)) + 24
	p := report.NewPicture(chartWidth, height, "Latencies at shares of the best rate", chartPaints()...)
	p.Say(20, 28, "title", "Latency from the moment when a draw was due")
	p.Say(20, 48, "small", fmt.Sprintf("bar: median to p99; line: to p99.9; milliseconds, logarithmic; medians of %d rounds; %d cores shared by k6 and all", d.Settings["rounds"], d.CPUs))
	for power := from; power <= to; power++ {
		at := math.Pow(10, power)
		p.Add(`<path class="grid" d="M%.1f %gV%g"/>`, x(at), chartTop-8, height-20)
		p.Say(x(at)-6, height-6, "small", fmt.Sprint(at))
	}
	for i, m := range rows {
		y := chartTop + rowHeight*float64(i)
		middle, ninetyNine, last := x(m.Middle[p50].Median/1000), x(m.Middle[p99].Median/1000), x(m.Middle[p999].Median/1000)
		p.Say(20, y+10, "name", m.shortName()+", "+m.rateName())
		p.Add(`<rect class="%s" x="%.1f" y="%g" width="%.1f" height="16" rx="2"/>`, m.class(), middle, y-3, max(ninetyNine-middle, 1))
		p.Add(`<path class="spread" d="M%.1f %gH%.1f"/>`, ninetyNine, y+5, last)
		p.Say(last+8, y+10, "value", short(m.Middle[p99].Median/1000)+" ms")
	}
	return p.End()
}
