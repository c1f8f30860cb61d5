package main

import (
	"os"
	"slices"
	"strings"

	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// service is the program under test; the others are the textbook's.
const service = "drawsvc"

// cell is one combination with its expected result.
type cell struct {
	script      string
	program     string
	place.Place          // Database is "" if the program has no database
	options     []string // NAME=VALUE for the script
	// crossed is the one metric whose threshold must be crossed, "" for a run that must
	// pass.
	crossed string
	// sampled means that the run is drawn as a picture.
	sampled bool
	// judged means that a proxy checks every exchange.
	judged bool
}

// name returns the cell's unique name.
func (c cell) name() string {
	parts := []string{c.script, c.program, c.Name()}
	if c.sampled {
		parts = append(parts, "(drawn)")
	}
	if c.judged {
		parts = append(parts, "(judged)")
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), " ")
}

// control reports whether the run must find an over-issue.
func (c cell) control() bool { return c.crossed == "over_issued" }

// site is where a pool is stored and how many instances serve it.
type site struct {
	database  string
	instances int
}

// sites returns all sites. SQLite has one instance, because it serves one process. TiDB
// is included if the environment names a server.
func sites() []site {
	list := []site{{"sqlite", 1}, {"postgres", 1}, {"postgres", 3}, {"mysql", 1}, {"mysql", 3}}
	if os.Getenv(servertest.TiDBVariable) != "" {
		list = append(list, site{servertest.TiDB, 1}, site{servertest.TiDB, 3})
	}
	return list
}

// majority is the lock redis on three independent servers.
const majority = "redis×3"

// locksFor returns the locks that work on a database, from the service's own list.
func locksFor(database string) []string {
	var locks []string
	for _, scheme := range locker.Schemes() {
		needs := servertest.Locks()[scheme]
		if !needs.WorksOn(database) {
			continue
		}
		locks = append(locks, scheme)
		if needs.Majority {
			locks = append(locks, majority)
		}
	}
	return locks
}

// cells returns the cells to run, in order, with the control first.
func cells(s settings) []cell {
	all := fullCells()
	if s.Quick {
		all = quickCells()
	}
	return harness.Chosen(s.Selection, all, cell.name)
}

func draws(script string, p site, mode, lock string, options ...string) cell {
	at := place.Place{Database: p.database, Mode: mode, Lock: lock, Instances: p.instances}
	return cell{script: script, program: service, Place: at, options: options}
}

func textbook(program, gate, crossed string, options ...string) cell {
	c := cell{script: "oversell", program: program, Place: place.Place{Database: "postgres", Instances: 1}, crossed: crossed,
		options: append([]string{"GATE=" + gate}, options...)}
	if program == "redis-lua" {
		c.Database = ""
	}
	return c
}

// wrongOdds has many rare prizes and a common one, so that the wrong odds show clearly.
// They are off by some 15 standard deviations; the script allows fewer than 6.
func wrongOdds() cell {
	return textbook("broken-rare", "odds", "odds_z", "STOCK=50,50,50,50,50,50,50,50,3000", "AFTER=0")
}

func wrongLimit() cell {
	c := textbook("broken-limit", "limits", "limit_passed")
	c.script = "campaign"
	return c
}

func fullCells() []cell {
	list := []cell{
		textbook("broken", "over-issue", "over_issued"),
		wrongOdds(),
		wrongLimit(),
		textbook("for-update", "odds", ""),
		textbook("optimistic", "odds", "", "AFTER=2"),
		textbook("redis-lua", "odds", ""),
		textbook("redis-lock", "odds", ""),
	}
	for _, p := range sites() {
		for _, mode := range []string{"for-update", "optimistic"} {
			list = append(list, draws("oversell", p, mode, ""))
		}
		for _, lock := range locksFor(p.database) {
			list = append(list, draws("oversell", p, "external", lock))
		}
	}
	for _, p := range sites() {
		for _, mode := range []string{"for-update", "optimistic"} {
			list = append(list, draws("campaign", p, mode, ""))
		}
		list = append(list, draws("campaign", p, "external", "table"))
	}
	for _, p := range sites() {
		list = append(list, draws("idempotency", p, "for-update", ""), draws("modes", p, "for-update", "table", "SECONDS=15"))
	}
	for _, p := range sites() {
		if p.database == "sqlite" || p.instances == 3 {
			list = append(list, draws("spike", p, "for-update", ""))
		}
	}
	drawn := draws("oversell", site{"postgres", 3}, "for-update", "", "STOCK=100,900,9000,20000", "RESTOCK=5000", "AFTER=1")
	drawn.sampled = true
	list = append(list, judged()...)
	return append(list, draws("soak", site{"postgres", 3}, "for-update", "", "SECONDS=120"), drawn)
}

// unhurried returns the options of a run that measures nothing: a machine that pauses
// for a second delays k6 and the service, and must not fail the run.
func unhurried() []string { return []string{"P99_MS=20000", "DROPPED_PERCENT=50"} }

// quickCells returns cells with every mode and every database at least once.
func quickCells() []cell {
	list := []cell{
		textbook("broken", "over-issue", "over_issued", "STOCK=1,9,190", "RESTOCK=20", "AFTER=1"),
		wrongOdds(),
		wrongLimit(),
		textbook("for-update", "odds", "", "STOCK=1,9,190", "RESTOCK=20", "AFTER=1"),
		draws("oversell", site{"sqlite", 1}, "for-update", ""),
		draws("oversell", site{"sqlite", 1}, "optimistic", ""),
		draws("oversell", site{"sqlite", 1}, "external", "table"),
		draws("oversell", site{"postgres", 3}, "for-update", ""),
		draws("oversell", site{"postgres", 3}, "optimistic", ""),
		draws("oversell", site{"postgres", 1}, "external", "redis"),
		draws("oversell", site{"mysql", 1}, "for-update", ""),
		draws("oversell", site{"mysql", 3}, "optimistic", ""),
		draws("oversell", site{"mysql", 3}, "external", "session"),
		draws("campaign", site{"sqlite", 1}, "for-update", "", "USERS=50", "LATE=100"),
		draws("campaign", site{"postgres", 3}, "optimistic", "", "USERS=50", "LATE=100"),
		draws("campaign", site{"mysql", 3}, "external", "table", "USERS=50", "LATE=100"),
		draws("idempotency", site{"sqlite", 1}, "for-update", "", "KEYS=50"),
		draws("idempotency", site{"postgres", 3}, "for-update", "", "KEYS=50"),
		draws("modes", site{"sqlite", 1}, "for-update", "table", "SECONDS=6"),
		draws("modes", site{"mysql", 3}, "for-update", "table", "SECONDS=6"),
		draws("spike", site{"sqlite", 1}, "for-update", "", append(unhurried(), "CALM=2", "PEAK=3")...),
	}
	return append(list, judged()...)
}
