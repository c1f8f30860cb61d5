package main

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"drawsvc/loadtest/report"
)

// pageFile is the page that is filled, and benchFile has the results from which the page
// takes its speeds.
const (
	pageFile  = "docs/capacity.md"
	benchFile = "loadtest/bench/results/published.json"
)

type benchmark struct {
	At          string  `json:"at"`
	CPUs        int     `json:"cpus"`
	CPU         string  `json:"cpu"`
	FlushMicros float64 `json:"flush_us"`
	Entries     []struct {
		Name   string  `json:"name"`
		Median float64 `json:"median"`
	} `json:"entries"`
	Candidates []struct {
		Name   string                              `json:"name"`
		Middle map[string]struct{ Median float64 } `json:"middle"`
	} `json:"candidates"`
}

// of returns a figure of a candidate, NaN if it is missing: so a missing figure cannot
// be taken for a result.
func (b *benchmark) of(name, metric string) float64 {
	for _, c := range b.Candidates {
		if figure, is := c.Middle[metric]; c.Name == name && is {
			return figure.Median
		}
	}
	return math.NaN()
}

func (b *benchmark) ratio(name string) float64 {
	for _, e := range b.Entries {
		if e.Name == name {
			return e.Median
		}
	}
	return math.NaN()
}

// The names of candidates that several places need.
const (
	onPostgres = "PostgreSQL for-update"
	withKeys   = "PostgreSQL for-update, random keys"
	fullLog    = "PostgreSQL for-update, random keys, 10 million awards"
	onMariaDB  = "MariaDB for-update"
	onSQLite   = "SQLite for-update"
	oneCaller  = "PostgreSQL for-update, one caller, random keys"
	manyPrizes = "PostgreSQL for-update, 100000 prizes"

	ofService, ofDatabase, speed = "service_cpu_us_per_draw", "database_cpu_us_per_draw", "draws_per_second"
)

// cpuRow is a row of the table of CPU times. Each of its draws asks for the same number
// of units.
type cpuRow struct {
	name, candidate string
	units           float64
}

func cpuRows() []cpuRow {
	return []cpuRow{
		{"PostgreSQL, no keys", onPostgres, 1},
		{"PostgreSQL, random keys", withKeys, 1},
		{"PostgreSQL, random keys, 10 million awards in the log", fullLog, 1},
		{"PostgreSQL, three instances", "PostgreSQL for-update, 3 instances", 1},
		{"PostgreSQL, 100,000 prizes", manyPrizes, 1},
		{"PostgreSQL, random keys, 1,000 pools at random", "PostgreSQL for-update, random keys, 1000 pools", 1},
		{"PostgreSQL, ten units in each draw", "PostgreSQL for-update, draws of 10", 10},
		{"MariaDB", onMariaDB, 1},
		{"SQLite, in the process", onSQLite, 1},
		{"PostgreSQL, sold out", "PostgreSQL for-update, sold out", 1},
	}
}

// microsLeast is the minimum for which cores are computed: sold-out draws cost the
// database almost nothing.
const microsLeast = 1

func (b *benchmark) cpuTable() string {
	t := report.NewTable("draws | service, µs | database, µs | draws/s of one core of the service | of one core of the database")
	for _, r := range cpuRows() {
		cells := []any{r.name}
		var perCore []any
		for _, metric := range []string{ofService, ofDatabase} {
			micros := b.of(r.candidate, metric)
			if math.IsNaN(micros) && r.candidate == onSQLite && metric == ofDatabase {
				cells, perCore = append(cells, report.Dash("")), append(perCore, report.Dash(""))
				continue
			}
			cells = append(cells, report.Short(micros))
			if micros < microsLeast {
				perCore = append(perCore, report.Dash(""))
				continue
			}
			each := thousands(1e6 / micros)
			if r.units > 1 {
				each += fmt.Sprintf(" (%s units)", thousands(r.units*1e6/micros))
			}
			perCore = append(perCore, each)
		}
		t.Add(append(cells, perCore...)...)
	}
	return t.String()
}

func (b *benchmark) cpu() string {
	return fmt.Sprintf("Published on %s, on %d cores of an %s.\n\n%s", report.Day(b.At), b.CPUs, b.CPU, b.cpuTable())
}

// claims returns the sentences and rows of the page that state a figure, with
// the figures of the results.
func claims(b *benchmark, p published) []string {
	var memory []float64
	for _, name := range []string{onPostgres, withKeys, "PostgreSQL optimistic", "PostgreSQL external table:", "PostgreSQL external redis:", onMariaDB, onSQLite} {
		memory = append(memory, b.of(name, "memory_mb"))
	}
	var all []float64
	for _, r := range p.Rows {
		all = append(all, float64(r.All)/float64(p.Awards)/100) // the GB of ten million awards
	}
	keys := p.named("PostgreSQL, " + keysRandom)
	return []string{
		fmt.Sprintf("were %s draws/s with PostgreSQL, %s with MariaDB and %s with SQLite.",
			thousands(b.of(onPostgres, speed)), thousands(b.of(onMariaDB, speed)), thousands(b.of(onSQLite, speed))),
		fmt.Sprintf("about %.0f µs of the service and %.0f of the database.", two(b.of(oneCaller, ofService)), two(b.of(oneCaller, ofDatabase))),
		fmt.Sprintf("So ten million awards take %.0f to %.0f GB.", slices.Min(all), slices.Max(all)),
		fmt.Sprintf("The WAL of PostgreSQL is %.1f kB a draw while pages are warm.", b.of(withKeys, "wal_bytes_per_draw")/1000),
		fmt.Sprintf("At 10 million awards %.1f kB were measured.", b.of(fullLog, "wal_bytes_per_draw")/1000),
		fmt.Sprintf("| 1,000 draws/s | %.1f MB/s |", b.of(withKeys, "wal_bytes_per_draw")/1000),
		fmt.Sprintf("A commit waits for one flush of the disk, %.2f ms here.", b.FlushMicros/1000),
		fmt.Sprintf("| an instance at 256 callers | %.0f to %.0f MB |", five(slices.Min(memory)), five(slices.Max(memory))),
		fmt.Sprintf("| with a pool of 100,000 prizes | %.0f MB |", two(b.of(manyPrizes, "memory_mb"))),
		fmt.Sprintf("index of keys: %.0f MB for each million random keys.", float64(keys.Indexes)/float64(p.Awards)),
		fmt.Sprintf("Three drew %.2f of what one drew", b.ratio("three instances ÷ one")),
		fmt.Sprintf("measured up to %.0f,000 draws/s without HTTP", b.of(alone, speed)/1000),
	}
}

// fill writes those sections of the pages that are tables.
func fill(root string) error {
	b, p, err := read(root)
	if err != nil {
		return err
	}
	return errors.Join(report.Fill(filepath.Join(root, pageFile), sections(b, p)...),
		report.Fill(filepath.Join(root, scaleFile), scaleSections(b, p)...))
}

func read(root string) (*benchmark, published, error) {
	b, err := report.Read[benchmark](filepath.Join(root, benchFile))
	if err != nil {
		return nil, published{}, err
	}
	p, err := report.Read[published](filepath.Join(root, results, "published.json"))
	return &b, p, err
}

func sections(b *benchmark, p published) []report.Section {
	return []report.Section{{Name: "cpu", Text: b.cpu()}, {Name: "disk", Text: p.disk()}}
}

const results = "loadtest/capacity/results"

type published struct {
	report.Stand
	// Awards is the number of awards that were drawn for each row.
	Awards int     `json:"awards"`
	Rows   []grown `json:"rows"`
}

// rowsAll is the number of rows if none was left out.
const rowsAll = 6

// grown has the bytes that a row's awards take in a database, and the bytes that the
// database wrote to its log for them. Zero means unknown.
type grown struct {
	Name    string `json:"name"`
	Table   int64  `json:"table"`
	Indexes int64  `json:"indexes"`
	All     int64  `json:"all"`
	Log     int64  `json:"log"`
}

func (b grown) less(was grown) grown {
	return grown{b.Name, b.Table - was.Table, b.Indexes - was.Indexes, b.All - was.All, b.Log - was.Log}
}

const heads = "database, keys | table | indexes | together | written to the log"

// table returns the measured bytes, scaled to a million awards.
func (p published) table() *report.Table {
	t := report.NewTable(heads)
	for _, b := range p.Rows {
		million := func(n int64) string { return report.Positive("%.0f MB", float64(n)/float64(p.Awards)) }
		t.Add(b.Name, million(b.Table), million(b.Indexes), million(b.All), million(b.Log))
	}
	return t
}

func (p published) markdown() string {
	return fmt.Sprintf("# Bytes of a million awards\n\n%s. %d awards were drawn from one pool for each row. %s.\n\n%s", report.Day(p.At), p.Awards, p.Go, p.table())
}

func (p published) disk() string {
	return fmt.Sprintf("Published on %s: %d awards were drawn from one pool for each row. The figures are of a million:\n\n%s", report.Day(p.At), p.Awards, p.table())
}

// named returns the row with a name, an empty row if there is none.
func (p published) named(name string) grown {
	for _, r := range p.Rows {
		if r.Name == name {
			return r
		}
	}
	return grown{}
}

func thousands(n float64) string { return grouped(two(n)) }

func two(n float64) float64 { return digits(n, 2) }

func five(n float64) float64 { return math.Round(n/5) * 5 }
