package main

import "fmt"

// entry is one measure: the ratio of two figures of the same round, and its limits. The
// two figures are its sides.
type entry struct {
	name        string
	over, under figure
	limits
	// quick means that the quick mode measures the entry too.
	quick bool
	// main means that the entry shows what callers see. Such rows are published first,
	// with the tail next to the rate.
	main bool
}

// limits are the minimum and the maximum of the ratio; 0 means none.
type limits struct{ least, most float64 }

func atLeast(ratio float64) limits { return limits{least: ratio} }
func atMost(ratio float64) limits  { return limits{most: ratio} }

const (
	quick = true
	full  = false
)

// entries returns the table, which has a line for each measure.
func entries(s settings) []entry {
	noop := candidate{program: "noop"}
	postgres := candidate{program: service, database: "postgres", mode: "for-update"}
	forUpdate := candidate{program: "for-update", database: "postgres"}.withKeys()
	redisLua := candidate{program: "redis-lua", database: "redis"}.withKeys()
	mariadb, sqlite := postgres.on("mysql"), postgres.on("sqlite")
	manyPrizes, manyAwards := postgres.withPrizes(s.prizes), postgres.withAwards(s.awards)
	manyPools, idle := postgres.ofPools(s.pools), postgres.ofPools(s.pools).whenIdle()
	soldOut := postgres.whenSoldOut()
	newUsers, fewUsers := postgres.by(usersNew), postgres.by("10000")
	// With keys on both sides, each request costs the client the same.
	randomPools, onePool := manyPools.withKeys(), postgres.withKeys()

	return append(mainEntries(s, noop, postgres), []entry{
		{"PostgreSQL, for-update ÷ no-op", rate(postgres), rate(noop), atLeast(0.65), quick, false},
		{"PostgreSQL, with keys ÷ no-op", rate(postgres.withKeys()), rate(noop.withKeys()), atLeast(0.6), quick, false},
		{"CPU of the service per draw ÷ no-op", of(postgres, serviceCPU), of(noop, serviceCPU), atMost(1.3), quick, false},
		{"CPU of the service per draw, with keys ÷ no-op", of(postgres.withKeys(), serviceCPU), of(noop.withKeys(), serviceCPU), limits{}, full, false},
		{"PostgreSQL, with keys ÷ textbook FOR UPDATE", rate(postgres.withKeys()), rate(forUpdate), atLeast(25), full, false},
		{"PostgreSQL, with keys ÷ textbook Redis + Lua", rate(postgres.withKeys()), rate(redisLua), atLeast(1.5), full, false},
		{"optimistic ÷ for-update", rate(postgres.withMode("optimistic")), rate(postgres), atLeast(0.9), quick, false},
		{"external table: ÷ for-update", rate(postgres.withLock("table")), rate(postgres), atLeast(0.9), quick, false},
		{"external redis: ÷ for-update", rate(postgres.withLock("redis")), rate(postgres), atLeast(0.9), full, false},
		{"MariaDB ÷ PostgreSQL", rate(mariadb), rate(postgres), atLeast(0.6), quick, false},
		{"SQLite ÷ PostgreSQL", rate(sqlite), rate(postgres), atLeast(0.5), quick, false},
		{"engine alone, PostgreSQL ÷ 150,000/s", rate(postgres.alone()), constant(150_000), atLeast(1), full, false},
		{"engine alone, MariaDB ÷ 80,000/s", rate(mariadb.alone()), constant(80_000), atLeast(1), full, false},
		{"engine alone, SQLite ÷ 40,000/s", rate(sqlite.alone()), constant(40_000), atLeast(1), full, false},
		{"one caller, latency ÷ textbook FOR UPDATE", of(postgres.withKeys().callers(1), p50), of(forUpdate.callers(1), p50), atMost(1), full, false},
		{"three instances ÷ one", rate(postgres.times(3)), rate(postgres), atLeast(0.9), full, false},
		{"sold out ÷ no-op", rate(soldOut), rate(noop.whenSoldOut()), atLeast(0.9), quick, false},
		{"sold out: database transactions per request", of(soldOut, transactions), constant(1), atMost(0.01), full, false},
		{fmt.Sprintf("%d prizes ÷ ten prizes", s.prizes), rate(manyPrizes), rate(postgres), atLeast(0.85), full, false},
		{fmt.Sprintf("%s awards ÷ an empty pool", number(s.awards)), rate(manyAwards), rate(postgres), atLeast(0.9), full, false},
		{fmt.Sprintf("%s awards, with keys ÷ an empty pool", number(s.awards)), rate(manyAwards.withKeys()), rate(postgres.withKeys()), limits{}, full, false},
		{fmt.Sprintf("%d pools at random ÷ one hot pool", s.pools), rate(randomPools), rate(onePool), atLeast(0.7), full, false},
		{"draws of ten, units ÷ single draws", of(postgres.draws(10), unitRate), rate(postgres), atLeast(5), quick, false},
		{fmt.Sprintf("memory with %d prizes ÷ 150 MB", s.prizes), of(manyPrizes, memory), constant(150), atMost(1), full, false},
		{"idle: CPU ÷ one core", of(idle, idleCPU), constant(1), atMost(0.01), full, false},
		{"idle: goroutines per pool drawn from", of(idle, goroutines), constant(1), atMost(0.05), full, false},
		{"rules: win with fallback ÷ no rules", rate(postgres.under(rulesWin)), rate(postgres), atLeast(0.95), full, false},
		{"rules: one draw a user, all new ÷ no rules", rate(newUsers.under(rulesOnce)), rate(newUsers), atLeast(0.8), full, false},
		{"rules: a limit a day, 10000 users ÷ no rules", rate(fewUsers.under(rulesDaily)), rate(fewUsers), atLeast(0.75), full, false},
		{"rules: four limits and a guarantee, 10000 users ÷ no rules", rate(fewUsers.under(rulesMany)), rate(fewUsers), atLeast(0.5), full, false},
		{"rules: refused users ÷ winners", rate(postgres.under(rulesRefused)), rate(postgres), atLeast(0.5), full, false},
		{"committed ÷ secret", rate(postgres.sealed()), rate(postgres), atLeast(0.98), full, false},
		{"committed ÷ secret, MariaDB", rate(mariadb.sealed()), rate(mariadb), atLeast(0.98), full, false},
		{"committed ÷ secret, SQLite", rate(sqlite.sealed()), rate(sqlite), atLeast(0.98), full, false},
		{"committed ÷ secret, engine alone, PostgreSQL", rate(postgres.sealed().alone()), rate(postgres.alone()), atLeast(0.97), full, false},
		{"committed ÷ secret, engine alone, MariaDB", rate(mariadb.sealed().alone()), rate(mariadb.alone()), atLeast(0.97), full, false},
		{"committed ÷ secret, engine alone, SQLite", rate(sqlite.sealed().alone()), rate(sqlite.alone()), atLeast(0.97), full, false},
		{"receipts for all ÷ committed", rate(postgres.withReceipts()), rate(postgres.sealed()), atLeast(0.9), full, false},
		{"receipts for all ÷ committed, MariaDB", rate(mariadb.withReceipts()), rate(mariadb.sealed()), atLeast(0.9), full, false},
		{"receipts for all ÷ committed, SQLite", rate(sqlite.withReceipts()), rate(sqlite.sealed()), atLeast(0.9), full, false},
		{"CPU of the service per draw, receipts for all ÷ committed", of(postgres.withReceipts(), serviceCPU), of(postgres.sealed(), serviceCPU), limits{}, full, false},
		{"live publish ÷ without", rate(postgres.whilePublished()), rate(postgres.sealed()), atLeast(0.93), full, false},
		{"live publish ÷ without, MariaDB", rate(mariadb.whilePublished()), rate(mariadb.sealed()), atLeast(0.93), full, false},
		{"size of an answer ÷ no-op", of(postgres, answerSize), of(noop, answerSize), limits{}, full, false},
	}...)
}

// mainEntries returns the entries that show what callers see: with keys that callers
// choose, with a large log, and on servers with default settings and with much memory.
// Keys that rise with time come first, as the documentation recommends. SQLite has only
// one setting of memory: drawsvc leaves its page cache at the default of 2 MB, and the
// system keeps the file's pages in free memory. Quick mode measures each database once,
// with keys that rise with time.
func mainEntries(s settings, noop, postgres candidate) []entry {
	var ordered, random []entry
	mariadb, sqlite := postgres.on("mysql"), postgres.on("sqlite")
	for _, row := range []struct {
		name            string
		of              candidate
		ordered, random float64 // the minimum ratios
		quick           bool    // whether the quick mode measures the row with time-ordered keys
	}{
		{"PostgreSQL, default memory", postgres.withDefaults(), 0.68, 0.56, quick},
		{"PostgreSQL, 512 MB", postgres, 0.68, 0.56, full},
		{"MariaDB, default memory", mariadb.withDefaults(), 0.56, 0.35, quick},
		{"MariaDB, 512 MB", mariadb, 0.56, 0.35, full},
		{"SQLite", sqlite, 0.67, 0.4, quick},
	} {
		add := func(list *[]entry, keys string, over, under candidate, least float64, quick bool) {
			name := fmt.Sprintf("%s, %s keys, %s awards ÷ no-op", row.name, keys, number(s.log))
			*list = append(*list, entry{name, rate(over), rate(under), atLeast(least), quick, true})
		}
		grown := row.of.grown(s)
		add(&ordered, "time-ordered", grown.withOrderedKeys(), noop.withOrderedKeys(), row.ordered, row.quick)
		add(&random, "random", grown, noop.withKeys(), row.random, full)
	}
	return append(ordered, random...)
}

func chosen(s settings) []entry {
	var list []entry
	all := entries(s)
	switch {
	case s.won:
		all = wonEntries(s)
	case s.latency:
		all = latencyEntries(s)
	case s.quick:
		all = append(all, wonEntries(s)...)
	}
	for _, e := range all {
		if (e.quick || !s.quick) && s.only.MatchString(e.name) {
			list = append(list, e)
		}
	}
	return list
}

// candidatesOf returns the candidates that entries need, each once, in order.
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

func (l limits) reached(ratio float64) bool {
	return ratio >= l.least && (l.most == 0 || ratio <= l.most)
}
