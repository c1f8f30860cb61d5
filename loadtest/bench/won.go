package main

import (
	"fmt"

	"drawsvc/loadtest/place"
)

// waiting is the minimum number of awards that wait for a claim in a measurement of
// draws or of claims.
const waiting = 100_000

// wonEntries are the entries about what follows a win, such as claims. Some figures are
// divided by 1, so that their limits are absolute: seconds, rates per second, or 10^6
// bytes.
func wonEntries(s settings) []entry {
	plain := candidate{program: service, database: "postgres", mode: "for-update"}.withKeys()
	coded := plain.coded()
	open := plain.under(rulesClaim).withAwards(max(waiting, s.codes/10))
	few := candidate{program: service, mode: "for-update"}.under(rulesClaim).withAwards(s.codes / 10)
	history := plain.withAwards(s.codes)
	codes, awards := number(s.codes), number(s.codes/10)
	var list []entry
	row := func(name string, over, under figure, l limits) {
		list = append(list, entry{name: name, over: over, under: under, limits: l})
	}
	row("every unit has a code ÷ without", rate(coded), rate(plain), atLeast(0.9))
	list[0].quick = quick
	if s.before != "" {
		row("neither codes nor claims nor hooks ÷ "+s.before, rate(plain), rate(plain.from(s.before)), atLeast(0.98))
	}
	row("every unit has a code, p99 ÷ without", of(coded, p99), of(plain, p99), atMost(1.3))
	row("a claim needed before the code ÷ without", rate(coded.under(rulesClaim)), rate(plain), atLeast(0.97))
	row("beside 500 claims/s ÷ without", rate(open.with(besideClaims)), rate(open), atLeast(0.95))
	row("claims/s beside these draws", of(open.with(besideClaims), besideRate), constant(1), atLeast(claimsBeside*0.98))
	row("beside an import of "+codes+" codes ÷ without", rate(plain.with(besideImport)), rate(plain), atLeast(0.9))
	row("beside an expiry of "+number(open.awards)+" awards with return ÷ without", rate(open.with(besideExpiry)), rate(open), atLeast(0.8))
	row("beside a hook on all of it ÷ without", rate(plain.with(besideHook)), rate(plain), atLeast(0.95))
	for _, d := range []struct {
		database               string
		claims, importsSeconds float64
	}{{"postgres", 500, 60}, {"mysql", 300, 120}, {"sqlite", 500, 120}} {
		here, name := few.on(d.database), place.Of(d.database).Name
		each := func(what string, t task, m metric, l limits) { row(name+": "+what, of(here.to(t), m), constant(1), l) }
		row(name+": claims/s of one pool, 32 callers", rate(here.withAwards(waiting).to(taskClaims)), constant(1), atLeast(d.claims))
		imported := here.withAwards(0).to(taskImport)
		row(name+": import of "+codes+" codes, s", of(imported, took), constant(1), atMost(d.importsSeconds))
		row(name+": its memory, MB", of(imported, memory), constant(1), atMost(300))
		each("expiry of "+awards+" awards with return, s", taskExpiry, took, atMost(60))
		each("file that fulfils "+awards+" awards, s", taskFulfil, took, atMost(60))
	}
	here := few.on("postgres")
	row("relay: events/s, one hook, a receiver of 10 ms", rate(here.to(taskRelay)), constant(1), atLeast(2000))
	row("relay: from the draw to the receiver when idle, s", of(here.withAwards(0).to(taskIdle), took), constant(1), atMost(2))
	row("relay: from the kill of its instance to the receiver, s", of(here.withAwards(0).to(taskKilled), took), constant(1), atMost(60))
	audited := history.to(taskAudit)
	full := audited.coded()
	full.steps = true
	row(fmt.Sprintf("audit of %s awards with codes and steps ÷ without", codes), of(full, took), of(audited, took), atMost(1.5))
	return list
}

// wonSection returns the section of the page about performance: each target, and whether
// it is reached.
func (d document) wonSection(results string) string {
	return fmt.Sprintf("%[2]s.\nA row says the median of the rounds, lowest and highest; without a ratio it is the figure itself.\n\n%[3]s\n"+
		"Raw: [%[1]s.json](%[4]s/%[1]s.json).\n", settings{won: true}.publishedName(), d.made(), d.ratioTable(), results)
}
