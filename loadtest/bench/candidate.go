package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"drawsvc/loadtest/place"
)

// service is the program that is measured; the others are references to compare it with.
const service = "drawsvc"

// candidate is one thing that is measured: a program, the servers that it runs on and
// the requests that it gets. The zero value of each member is the usual case.
type candidate struct {
	program  string // drawsvc, noop, or one of the textbook's programs
	database string // postgres, mysql, sqlite; redis for the textbook programs
	mode     string
	lock     string // the URL scheme of the lock in external mode

	instances   int    // 0 means one
	connections int    // 0 means the number in the settings
	count       int    // units per draw, 0 means one
	keys        string // keys of the requests: none, keysRandom or keysOrdered
	users       string // users of the requests: "" for one user, usersNew, or the number of users
	soldOut     bool
	rules       rules // rules of the pool
	committed   bool  // the pool is committed to its numbers
	receipts    bool  // each draw is answered with a receipt
	published   bool  // another process publishes its log live
	codes       bool  // each unit has a code
	steps       bool  // each award of the filling is fulfilled
	beside      beside
	task        task // the task is timed instead of draws

	prizes int // prizes in the pool; 0 means ten
	awards int // awards in the pool before the measurement
	pools  int // number of pools, which are drawn from at random; 0 means a single pool

	// share is the percentage of the best rate at which k6 sends draws. With best, k6's
	// callers send as fast as they can. With 0, wrk sends the draws, as fast as it can.
	share int

	idle   bool // the candidate gets no requests while it is measured
	engine bool // without HTTP: a Go benchmark of package lockmode

	// defaults means that the server keeps its default memory settings. Otherwise it is
	// configured to use a whole machine.
	defaults bool
	// tree is the commit of the other tree, "" for a program of this tree.
	tree string
}

// The keys that callers choose. The service creates one for a request without a key.
const (
	keysRandom = "random"
	// keysOrdered rise with time, as UUIDv7 and ULID do.
	keysOrdered = "ordered"
)

func (c candidate) name() string {
	parts := []string{c.title()}
	if c.mode != "" {
		parts[0] += " " + c.mode
	}
	if c.lock != "" {
		parts[0] += " " + c.lock + ":"
	}
	say := func(on bool, format string, args ...any) {
		if on {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	say(c.engine, "engine alone")
	say(c.instances > 1, "%d instances", c.instances)
	say(c.connections == 1, "one caller")
	say(c.count > 1, "draws of %d", c.count)
	say(c.keys == keysRandom, "random keys")
	say(c.keys == keysOrdered, "time-ordered keys")
	say(c.users == usersNew, "new users")
	say(c.users != "" && c.users != usersNew, "%s users", c.users)
	say(c.rules != "", "%s", c.rules)
	say(c.committed, "committed")
	say(c.receipts, "receipts for all")
	say(c.published, "published live")
	say(c.codes, "a code each")
	say(c.steps, "all fulfilled")
	say(c.beside != "", "%s", c.beside)
	say(c.task != "", "%s", c.task)
	say(c.soldOut, "sold out")
	say(c.prizes > 0, "%d prizes", c.prizes)
	say(c.awards > 0, "%s awards", number(c.awards))
	say(c.pools > 0, "%d pools", c.pools)
	say(c.idle, "idle")
	say(c.defaults, "default memory")
	say(c.share == best, "closed model")
	say(c.share > 0 && c.share < best, "at %d %%", c.share)
	say(c.tree != "", "of %s", c.tree)
	return strings.Join(parts, ", ")
}

func number(n int) string {
	const million = 1_000_000
	if n >= million && n%million == 0 {
		return fmt.Sprintf("%d million", n/million)
	}
	return fmt.Sprint(n)
}

func (c candidate) title() string {
	switch c.program {
	case "noop":
		return "no-op handler"
	case service:
		return place.Of(c.database).Name
	}
	return "textbook " + c.program
}

// durable names the failures that a draw survives once it was answered 200.
func (c candidate) durable() string {
	switch {
	case c.isRefused():
		return "nothing is drawn"
	case c.program == "noop":
		return "nothing"
	case c.database == "redis":
		return "all but the last second (AOF, fsync each second)"
	case c.database == "sqlite":
		return "the draw (WAL, synchronous=FULL)"
	case c.database == "mysql":
		return "the draw (redo log flushed at commit)"
	}
	return "the draw (WAL, fsync at commit)"
}

// isRefused reports whether every draw is answered 409.
func (c candidate) isRefused() bool { return c.soldOut || c.rules == rulesRefused }

func (c candidate) units() int  { return max(c.count, 1) }
func (c candidate) copies() int { return max(c.instances, 1) }

// filled reports whether the database is filled once and used in all rounds, because
// filling takes long. A candidate with rules, or with a task other than an audit,
// changes the filled rows, so it is filled in each round.
func (c candidate) filled() bool {
	return (c.prizes > 0 || c.awards > 0 || c.pools > 0) && c.rules == "" && (c.task == "" || c.task == taskAudit)
}

// filling returns the members that decide the initial content of the database; candidates
// with the same filling share a database. The tree decides the schema, and ordered keys
// decide the order of the log.
func (c candidate) filling() candidate {
	f := candidate{
		database: c.database, prizes: c.prizes, awards: c.awards, pools: c.pools, codes: c.codes, steps: c.steps, defaults: c.defaults, tree: c.tree,
	}
	if c.keys == keysOrdered {
		f.keys = keysOrdered
	}
	return f
}

// The variations of a candidate. With them, an entry fits on one line.

func (c candidate) withKeys() candidate         { c.keys = keysRandom; return c }
func (c candidate) withOrderedKeys() candidate  { c.keys = keysOrdered; return c }
func (c candidate) withDefaults() candidate     { c.defaults = true; return c }
func (c candidate) from(tree string) candidate  { c.tree = tree; return c }
func (c candidate) withMode(m string) candidate { c.mode = m; return c }
func (c candidate) withLock(l string) candidate { c.mode, c.lock = "external", l; return c }
func (c candidate) on(db string) candidate      { c.database = db; return c }
func (c candidate) times(n int) candidate       { c.instances = n; return c }
func (c candidate) callers(n int) candidate     { c.connections = n; return c }
func (c candidate) draws(n int) candidate       { c.count = n; return c }
func (c candidate) by(users string) candidate   { c.users = users; return c }
func (c candidate) under(r rules) candidate     { c.rules = r; return c }
func (c candidate) sealed() candidate           { c.committed = true; return c }
func (c candidate) withReceipts() candidate     { c.receipts = true; return c.sealed() }
func (c candidate) whilePublished() candidate   { c.published = true; return c.sealed() }
func (c candidate) coded() candidate            { c.codes = true; return c }
func (c candidate) with(b beside) candidate     { c.beside = b; return c }
func (c candidate) to(t task) candidate         { c.task = t; return c }
func (c candidate) whenSoldOut() candidate      { c.soldOut = true; return c }
func (c candidate) withPrizes(n int) candidate  { c.prizes = n; return c }
func (c candidate) withAwards(n int) candidate  { c.awards = n; return c }
func (c candidate) grown(s settings) candidate  { return c.withKeys().withAwards(s.log) }
func (c candidate) ofPools(n int) candidate     { c.pools = n; return c }
func (c candidate) at(share int) candidate      { c.share = share; return c }
func (c candidate) whenIdle() candidate         { c.idle = true; return c }
func (c candidate) alone() candidate            { c.engine = true; return c }

type metric string

// The metrics. In metrics per draw, each request is one draw, however many units it asks
// for.
const (
	perSecond metric = "draws_per_second"
	unitRate  metric = "units_per_second"
	p50       metric = "p50_us"
	p99       metric = "p99_us"
	p999      metric = "p999_us"
	slowest   metric = "slowest_us"
	// firstDraw is the time of a service's first draw after its start.
	firstDraw   metric = "first_draw_us"
	serviceCPU  metric = "service_cpu_us_per_draw"
	databaseCPU metric = "database_cpu_us_per_draw"
	clientCPU   metric = "client_cpu_us_per_draw"
	// memory is the sum over all instances of the service's peak resident memory, in
	// 10^6 bytes.
	memory metric = "memory_mb"
	// walBytes, roundTrips and transactions exist only for PostgreSQL.
	walBytes metric = "wal_bytes_per_draw"
	// pageBytes are what MariaDB writes to its data files, without the redo log.
	pageBytes    metric = "page_bytes_per_draw"
	roundTrips   metric = "round_trips_per_draw"
	transactions metric = "transactions_per_draw"
	batchDraws   metric = "draws_per_batch"
	answerSize   metric = "answer_bytes"
	// refused is the share of requests without the expected answer.
	refused metric = "refused_ratio"
	// dropped counts the draws that were due in the open model but were not sent.
	dropped metric = "dropped_arrivals"
	// disturbance is the CPU that other programs on the machine used meanwhile, in
	// cores.
	disturbance metric = "disturbance_cores"
	// took is the time that a task takes; besideRate is the rate of the work beside the
	// draws.
	took       metric = "seconds"
	besideRate metric = "beside_per_second"
	// idleCPU is in cores; goroutines counts the goroutines that are left per pool.
	idleCPU    metric = "idle_cores"
	goroutines metric = "goroutines_per_pool"
)

func (m metric) lessIsBetter() bool {
	return !slices.Contains([]metric{perSecond, unitRate, batchDraws, besideRate}, m)
}

func (m metric) isSpeed() bool {
	return slices.Contains([]metric{perSecond, unitRate, p50, p99, p999, slowest, firstDraw, took}, m)
}

// figures are the results of one measurement; a metric that does not apply is absent.
type figures map[metric]float64

type figure struct {
	of       candidate
	metric   metric
	constant float64
}

func of(c candidate, m metric) figure { return figure{of: c, metric: m} }
func rate(c candidate) figure         { return of(c, perSecond) }
func constant(value float64) figure   { return figure{constant: value} }

func (f figure) name() string {
	if f.metric == "" {
		return "constant"
	}
	return f.of.name() + ": " + string(f.metric)
}

type spread struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// spreadOf returns NaN for no values.
func spreadOf(values []float64) spread {
	if len(values) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := sorted[len(sorted)/2]
	if len(sorted)%2 == 0 {
		middle = (sorted[len(sorted)/2-1] + middle) / 2
	}
	return spread{middle, sorted[0], sorted[len(sorted)-1]}
}
