package main

import (
	"fmt"
	"math"
	"strings"

	"drawsvc/loadtest/report"
)

// scaleFile is the page about deployments beyond one machine. Its figures are computed
// from the results of the commands capacity and bench, by the rules of docs/capacity.md.
const scaleFile = "docs/scale.md"

// The rules of docs/capacity.md by which machines are planned. A core of the service and
// one of the database take equally many draws per second.
const (
	perCoreHot  = 20_000 // draws per second from few pools
	perCoreMany = 10_000 // draws per second from many pools at random

	instanceCores       = 2
	instancesMin        = 2
	instanceMiB         = 512
	instanceConnections = 20
)

// need is a number of draws in a length of time.
type need struct {
	name           string
	draws, seconds float64
}

func (n need) rate() float64 { return n.draws / n.seconds }

// part returns the share of one of several equal databases.
func (n need) part(databases int) need {
	n.draws /= float64(databases)
	return n
}

// cores returns the planned cores of the database; the service needs as many.
func (n need) cores() float64 { return n.rate() / perCoreMany }

func (n need) instances() int {
	return max(instancesMin, int(math.Ceil(n.cores()/instanceCores)))
}

func evening() need { return need{"300 million in four hours", 300e6, 4 * 3600} }
func minute() need  { return need{"10 million in one minute", 10e6, 60} }

const (
	alone     = onPostgres + ", engine alone"
	perUser   = "PostgreSQL for-update, new users, one draw a user"
	manyPools = "PostgreSQL for-update, random keys, 1000 pools"
	walBytes  = "wal_bytes_per_draw"
)

// volumes are the bytes of a draw.
type volumes struct {
	wals       []walOfKeys
	row, index float64
	// micros is the processor time of a draw from many pools.
	micros float64
}

func (b *benchmark) volumes(p published) volumes {
	million := func(n int64) float64 { return float64(n) / float64(p.Awards) }
	rising := p.named("PostgreSQL, " + keysOfService)
	return volumes{
		wals: []walOfKeys{
			{"one pool, keys that rise with time", million(rising.Log)},
			{"1,000 pools, random keys", b.of(manyPools, walBytes)},
			{"10 million awards, random keys", b.of(fullLog, walBytes)},
		},
		row: million(rising.All), index: million(p.named("PostgreSQL, " + keysRandom).Indexes),
		micros: b.of(manyPools, ofService) + b.of(manyPools, ofDatabase),
	}
}

// measured returns the table of draws per second.
func (b *benchmark) measured() string {
	t := report.NewTable("PostgreSQL | draws/s | 99 % of the answers within | WAL of a draw")
	for _, r := range [][2]string{
		{"one pool, without HTTP", alone},
		{"one pool", onPostgres},
		{"one pool, random keys", withKeys},
		{"one pool, random keys, 10 million awards in the log", fullLog},
		{"one pool, one draw for each user", perUser},
		{"one pool, three instances", "PostgreSQL for-update, 3 instances"},
		{"1,000 pools at random, random keys", manyPools},
	} {
		tail, wal := report.Dash(""), report.Dash("")
		if r[1] != alone { // alone has neither latency nor WAL
			tail, wal = fmt.Sprintf("%.0f ms", b.of(r[1], "p99_us")/1000), fmt.Sprintf("%.0f bytes", b.of(r[1], walBytes))
		}
		t.Add(r[0], grouped(digits(b.of(r[1], speed), 3)), tail, wal)
	}
	return fmt.Sprintf("Published on %s, on %d cores of an %s.\n\n%s", report.Day(b.At), b.CPUs, b.CPU, t)
}

// needs returns the table of the resources for the two needs.
func (b *benchmark) needs(p published) string {
	v := b.volumes(p)
	t := report.NewTable("draws | " + evening().name + " | " + minute().name)
	add := func(name string, of func(n need) string) { t.Add(name, of(evening()), of(minute())) }
	add("a second", func(n need) string { return grouped(digits(n.rate(), 3)) })
	add("cores of the service, for one pool or a few; the database needs as many", func(n need) string { return few(n.rate() / perCoreHot) })
	add("the same, many pools at random", func(n need) string { return few(n.cores()) })
	add(fmt.Sprintf("instances with %d cores, many pools", instanceCores), func(n need) string { return fmt.Sprint(n.instances()) })
	add("memory of these instances", func(n need) string { return few(float64(n.instances())*instanceMiB/1024) + " GiB" })
	add("their connections to the database", func(n need) string { return fmt.Sprint(n.instances() * instanceConnections) })
	for _, wal := range v.wals {
		add("WAL and link to each standby and to the archive: "+wal.keys, func(n need) string {
			return fmt.Sprintf("%s MB/s = %s Mbit/s, %s GB", few(n.rate()*wal.bytes/1e6), few(n.rate()*wal.bytes*8/1e6), few(n.draws*wal.bytes/1e9))
		})
	}
	add("rows, with their indexes", func(n need) string { return few(n.draws*v.row/1e9) + " GB" })
	add("memory that holds the indexes of random keys", func(n need) string { return few(n.draws*v.index/1e9) + " GB" })
	add("processor time as measured, many pools", func(n need) string { return few(n.draws*v.micros/1e6/3600) + " core hours" })
	return t.String()
}

// walOfKeys is the WAL of a draw with a kind of keys.
type walOfKeys struct {
	keys  string
	bytes float64
}

// spread returns the table that spreads the busiest minute over several databases.
func (b *benchmark) spread(p published) string {
	v := b.volumes(p)
	t := report.NewTable("databases | draws/s of each | cores of each | instances of each | connections to each | " +
		"MB/s of WAL of each, for the three rows of WAL above | rows of the evening in each")
	for _, databases := range []int{1, 2, 4, 8} {
		n := minute().part(databases)
		var wals []string
		for _, wal := range v.wals {
			wals = append(wals, few(n.rate()*wal.bytes/1e6))
		}
		t.Add(databases, grouped(digits(n.rate(), 3)), few(n.cores()), n.instances(), n.instances()*instanceConnections,
			strings.Join(wals, ", "), few(evening().part(databases).draws*v.row/1e9)+" GB")
	}
	return t.String()
}

// scaleClaims returns the sentences of the page that state a figure.
func scaleClaims(b *benchmark, p published) []string {
	v, m := b.volumes(p), minute()
	const rush = 4 // the answers may take this many times as long as the requests
	return []string{
		fmt.Sprintf("faster than the %s draws/s of the first row", grouped(digits(b.of(alone, speed), 3))),
		fmt.Sprintf("takes %.0f µs of a core for a draw, and %.0f with many pools", b.of(onPostgres, ofService), b.of(manyPools, ofService)),
		fmt.Sprintf("three drew %.2f of what one drew", b.ratio("three instances ÷ one")),
		fmt.Sprintf("takes %.1f times the database's processor time and %.1f times the WAL",
			b.of(perUser, ofDatabase)/b.of(onPostgres, ofDatabase), b.of(perUser, walBytes)/b.of(onPostgres, walBytes)),
		fmt.Sprintf("A million draws from 1,000 pools took %.0f s of one core", v.micros),
		fmt.Sprintf("In four hours that is %.0f core hours; the average load would need %.0f.", digits(2*m.cores()*4, 2), digits(2*evening().cores()*4, 2)),
		fmt.Sprintf("answered in %d minutes need %s cores for all services", rush, few(m.cores()/rush)),
	}
}

func scaleSections(b *benchmark, p published) []report.Section {
	return []report.Section{{Name: "measured", Text: b.measured()}, {Name: "needs", Text: b.needs(p)}, {Name: "spread", Text: b.spread(p)}}
}

// digits rounds to significant digits.
func digits(n float64, significant int) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(n))-float64(significant-1))
	return math.Round(n/unit) * unit
}

// grouped separates the thousands.
func grouped(n float64) string {
	if n < 1000 || math.IsNaN(n) {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.0f,%03.0f", math.Floor(n/1000), math.Mod(n, 1000))
}

// few returns two significant digits.
func few(n float64) string {
	if n = digits(n, 2); n < 10 {
		return fmt.Sprintf("%.*f", max(0, 1-int(math.Floor(math.Log10(n)))), n)
	}
	return grouped(n)
}
