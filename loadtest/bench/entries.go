package main

import "fmt"

// entry is one measure: a figure over a figure of the same round, and how
// much or how little it has to be.
type entry struct {
	name        string
	over, under figure
	limits
	// quick says that the quick mode measures it too.
	quick bool
}

// limits are the ratio's: at least, or at most; 0 is none.
type limits struct{ least, most float64 }

func atLeast(ratio float64) limits { return limits{least: ratio} }
func atMost(ratio float64) limits  { return limits{most: ratio} }

const (
	quick = true
	full  = false
)

// entries is the table: a further measure is one line.
func entries(s settings) []entry {
	noop := candidate{program: "noop"}
	postgres := candidate{program: service, database: "postgres", mode: "for-update"}
	forUpdate := candidate{program: "for-update", database: "postgres"}.withKeys()
	redisLua := candidate{program: "redis-lua", database: "redis"}.withKeys()
	mariadb, sqlite := postgres.on("mysql"), postgres.on("sqlite")
	manyPrizes, manyAwards := postgres.withPrizes(s.prizes), postgres.withAwards(s.awards)
	manyPools, idle := postgres.ofPools(s.pools), postgres.ofPools(s.pools).whenIdle()
	soldOut := postgres.whenSoldOut()
	// With keys on both sides, each request costs the client the same.
	randomPools, onePool := manyPools.withKeys(), postgres.withKeys()

	return []entry{
		{"PostgreSQL, for-update ÷ no-op", rate(postgres), rate(noop), atLeast(0.65), quick},
		{"PostgreSQL, with keys ÷ no-op", rate(postgres.withKeys()), rate(noop.withKeys()), atLeast(0.6), quick},
		{"CPU of the service per draw ÷ no-op", of(postgres, serviceCPU), of(noop, serviceCPU), atMost(1.5), quick},
		{"CPU of the service per draw, with keys ÷ no-op", of(postgres.withKeys(), serviceCPU), of(noop.withKeys(), serviceCPU), limits{}, full},
		{"PostgreSQL, with keys ÷ textbook FOR UPDATE", rate(postgres.withKeys()), rate(forUpdate), atLeast(25), quick},
		{"PostgreSQL, with keys ÷ textbook Redis + Lua", rate(postgres.withKeys()), rate(redisLua), atLeast(1.5), quick},
		{"optimistic ÷ for-update", rate(postgres.withMode("optimistic")), rate(postgres), atLeast(0.9), quick},
		{"external table: ÷ for-update", rate(postgres.withLock("table")), rate(postgres), atLeast(0.9), quick},
		{"external redis: ÷ for-update", rate(postgres.withLock("redis")), rate(postgres), atLeast(0.9), full},
		{"MariaDB ÷ PostgreSQL", rate(mariadb), rate(postgres), atLeast(0.6), quick},
		{"SQLite ÷ PostgreSQL", rate(sqlite), rate(postgres), atLeast(0.5), quick},
		{"engine alone, PostgreSQL ÷ 150,000/s", rate(postgres.alone()), constant(150_000), atLeast(1), full},
		{"engine alone, MariaDB ÷ 80,000/s", rate(mariadb.alone()), constant(80_000), atLeast(1), full},
		{"engine alone, SQLite ÷ 40,000/s", rate(sqlite.alone()), constant(40_000), atLeast(1), full},
		{"one caller, latency ÷ textbook FOR UPDATE", of(postgres.withKeys().callers(1), p50), of(forUpdate.callers(1), p50), atMost(1), full},
		{"three instances ÷ one", rate(postgres.times(3)), rate(postgres), atLeast(0.8), full},
		{"sold out ÷ no-op", rate(soldOut), rate(noop.whenSoldOut()), atLeast(0.9), quick},
		{"sold out: database transactions per request", of(soldOut, transactions), constant(1), atMost(0.01), full},
		{fmt.Sprintf("%d prizes ÷ ten prizes", s.prizes), rate(manyPrizes), rate(postgres), atLeast(0.8), full},
		{fmt.Sprintf("%d awards ÷ an empty pool", s.awards), rate(manyAwards), rate(postgres), atLeast(0.9), full},
		{fmt.Sprintf("%d awards, with keys ÷ an empty pool", s.awards), rate(manyAwards.withKeys()), rate(postgres.withKeys()), limits{}, full},
		{fmt.Sprintf("%d pools at random ÷ one hot pool", s.pools), rate(randomPools), rate(onePool), atLeast(0.5), full},
		{"draws of ten, units ÷ single draws", of(postgres.draws(10), unitRate), rate(postgres), atLeast(5), quick},
		{fmt.Sprintf("memory with %d prizes ÷ 200 MB", s.prizes), of(manyPrizes, memory), constant(200), atMost(1), full},
		{"idle: CPU ÷ one core", of(idle, idleCPU), constant(1), atMost(0.01), full},
		{"idle: goroutines per pool drawn from", of(idle, goroutines), constant(1), atMost(0.05), full},
		{"size of an answer ÷ no-op", of(postgres, answerSize), of(noop, answerSize), limits{}, full},
	}
}

// chosen are the entries that the settings ask for.
func chosen(s settings) []entry {
	var list []entry
	for _, e := range entries(s) {
		if (e.quick || !s.quick) && s.only.MatchString(e.name) {
			list = append(list, e)
		}
	}
	return list
}

// candidatesOf are those that entries need, each once, in order.
func candidatesOf(list []entry) []candidate {
	var all []candidate
	seen := make(map[candidate]bool)
	for _, e := range list {
		for _, f := range []figure{e.under, e.over} {
			if f.metric != "" && !seen[f.of] {
				seen[f.of] = true
				all = append(all, f.of)
			}
		}
	}
	return all
}

func (e entry) size() string {
	if e.quick {
		return "quick"
	}
	return ""
}

func (l limits) limit() string {
	switch {
	case l.least > 0:
		return fmt.Sprintf("≥ %g", l.least)
	case l.most > 0:
		return fmt.Sprintf("≤ %g", l.most)
	}
	return "–"
}

// reached says whether a ratio is within its limits.
func (l limits) reached(ratio float64) bool {
	return ratio >= l.least && (l.most == 0 || ratio <= l.most)
}
