package urn_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/urn"
)

// randomRules returns a document, or "" for none.
func randomRules(t *rapid.T) string {
	if rapid.IntRange(0, 5).Draw(t, "no rules") == 0 {
		return ""
	}
	var members, limits []string
	add := func(name, format string, args ...any) {
		if rapid.Bool().Draw(t, name) {
			members = append(members, fmt.Sprintf(format, args...))
		}
	}
	per := func(name string, from ...string) string {
		if p := rapid.SampledFrom(append(from, "")).Draw(t, name); p != "" {
			return `,"per":"` + p + `"`
		}
		return ""
	}
	// Two limits of one kind have different windows.
	limit := func(name, of string) {
		for _, pers := range [][]string{{"hour", "day", "1h"}, {"90m", "30s", "20h"}} {
			if rapid.IntRange(0, 2).Draw(t, name) == 0 {
				most := rapid.SampledFrom([]int{1, 2, 3, 4, 6, 8, 17, 18}).Draw(t, "max")
				limits = append(limits, fmt.Sprintf(`{"of":%s,"max":%d,"per":%q}`, of, most, rapid.SampledFrom(pers).Draw(t, "per")))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			limits = append(limits, fmt.Sprintf(`{"of":%s,"max":%d}`, of, rapid.IntRange(1, 20).Draw(t, "max")))
		}
	}
	limit("draws", `"draws"`)
	if rapid.Bool().Draw(t, "blocked") {
		members = append(members, `"blocked":["u2"]`)
	}
	if rapid.IntRange(0, 4).Draw(t, "fallback") > 0 {
		members = append(members, `"fallback":"none"`)
		limit("wins", `"wins"`)
		limit("gold", `"prize","prize":"gold"`)
		limit("lost", `"prize","prize":"lost"`)
		if rapid.Bool().Draw(t, "fixed") {
			members = append(members, `"odds":{"of":10,"prizes":{"gold":3,"silver":2,"bronze":0,"lost":2}}`)
		} else {
			add("win", `"win":"%d/5"`, rapid.IntRange(1, 5).Draw(t, "of five"))
		}
		add("guarantee", `"guarantee":{"after":%d,"prize":%q}`, rapid.IntRange(0, 3).Draw(t, "after"), rapid.SampledFrom([]string{"gold", "bronze"}).Draw(t, "guaranteed"))
		add("budget", `"budget":{"max":"%d.50"%s}`, rapid.IntRange(0, 20).Draw(t, "budget's max"), per("budget's per", "hour", "day"))
	}
	if limits != nil {
		members = append(members, `"limits":[`+strings.Join(limits, ",")+`]`)
	}
	add("zone", `"zone":"Asia/Kolkata"`)
	return "{" + strings.Join(members, ",") + "}"
}

// bench is a pool as the service has it, together with the model and a fold of its log.
type bench struct {
	*rapid.T
	model model
	// urn is the cached copy of one instance. head is the head of the pool, which is
	// later than the urn's if another session has written since.
	urn   *urn.Urn
	head  draw.Head
	turns []draw.Turn
	names int
	log   []draw.Entry
	rules []*draw.Rules
	// spoil, unless it is nil, is called after a plan that is undone. It breaks the pool,
	// or the turns that were read.
	spoil func(*bench, *urn.Plan, []*urn.Ask, *urn.Facts)
	// cached counts the plans from cached turns that are written.
	cached int
}

func newBench(t *rapid.T) *bench {
	source := perVersion{rapid.Uint64().Draw(t, "seed")}
	b := &bench{T: t, urn: urn.NewUrnFrom("p", source)}
	prize := func(id string, value int64) draw.Prize {
		return draw.Prize{ID: id, Name: id, Value: decimal.New(value, -2), Stocked: rapid.Int64Range(0, 12).Draw(t, id)}
	}
	b.model = model{source: source, at: noon(), prizes: []draw.Prize{prize("gold", 500), prize("silver", 175), prize("bronze", 1), prize("lost", 0), drawtest.Campaign()[4]}}
	b.model.prizes[3].Kind = draw.KindBlank
	b.head = draw.NewHead()
	b.see(b.urn)
	for i := range b.model.prizes {
		b.move(&b.model.prizes[i], 0)
	}
	return b
}

// move stocks a prize.
func (b *bench) move(p *draw.Prize, delta int64) {
	p.Stocked += delta
	b.head = b.head.Next(1)
	b.log = append(b.log, draw.Entry{Move: &draw.Move{Version: b.head.Version, PrizeID: p.ID, Delta: delta, Stocked: p.Stocked, At: b.model.at}})
}

// see reads the pool as a store would.
func (b *bench) see(u *urn.Urn) {
	if s := b.snapshot(b.head); !u.Seen(s) {
		require.True(b, u.Seen(s), "the second read is complete")
	}
}

// snapshot returns the data that a store would read at a head.
func (b *bench) snapshot(h draw.Head) urn.Snapshot {
	s := urn.Snapshot{State: draw.StateOpen, Head: h, At: b.model.at, Prizes: b.model.prizes, Rules: b.model.rules}
	if r := b.model.rules; r != nil && r.Budget != nil {
		s.Spending = urn.Spending{From: r.Budget.Per.Start(b.model.at, r.Zone), Cents: b.model.spent()}
	}
	return s
}

// turnsOf names the turns of one user and kind.
type turnsOf struct {
	user    string
	counted draw.Counted
}

func (b *bench) facts(needs []urn.Need) *urn.Facts {
	f := urn.NewFacts(needs)
	last := map[turnsOf]int64{}
	for _, turn := range b.turns {
		last[turnsOf{turn.Subject, turn.Counted}] = turn.Seq
	}
	for _, n := range needs {
		s := last[turnsOf{n.Subject, n.Counted}]
		for _, turn := range b.turns {
			if turn.Subject == n.Subject && turn.Counted == n.Counted &&
				(turn.Seq == s || named(n, s, turn.Seq)) {
				f.Add(turn)
			}
		}
	}
	return f
}

// change puts other rules in force.
func (b *bench) change(t *rapid.T) {
	b.model.rules = nil
	if document := randomRules(t); document != "" {
		b.model.rules = drawtest.Rules(t, document)
		require.NoError(t, b.model.rules.Check(b.model.prizes))
		b.rules = append(b.rules, b.model.rules)
	}
	b.head = b.head.Next(1)
	b.log = append(b.log, draw.Entry{Change: &draw.Change{Version: b.head.Version, What: draw.WhatRules, Body: draw.RulesBody(b.model.rules), At: b.model.at}})
}

// planRead reads the pool and the turns, plans a batch, perhaps undoes it and plans it
// again.
func (b *bench) planRead(t *rapid.T, u *urn.Urn, asks []*urn.Ask) *urn.Plan {
	b.see(u)
	facts := b.facts(u.Needs(asks))
	p := u.PlanWith(asks, facts, b.model.at)
	if rapid.Bool().Draw(t, "undo") {
		p.Undo()
		if b.spoil != nil {
			b.spoil(b, p, asks, facts)
		}
		p = u.PlanWith(asks, facts, b.model.at)
	}
	return p
}

// planCached plans a batch from cached turns, perhaps supposing that other users are new.
// It returns nil if turns or the pool must be read. right is false if the plan is wrong
// and only a wrong cached turn can be the reason.
func (b *bench) planCached(t *rapid.T, asks []*urn.Ask) (p *urn.Plan, right bool) {
	if !b.urn.IsCached() {
		return nil, true
	}
	facts, missing := b.urn.Recall(b.urn.Needs(asks))
	if len(missing) > 0 && !rapid.Bool().Draw(t, "supposes") {
		return nil, true
	}
	facts.Suppose(missing)
	p = b.urn.PlanWith(asks, facts, b.model.at)
	grants := len(p.Awards) > 0 && p.ProvesSuppositions()
	for i := range asks {
		grants = grants && p.Err(i) == nil
	}
	exists := slices.ContainsFunc(p.Turns, func(turn draw.Turn) bool {
		return slices.ContainsFunc(b.turns, func(other draw.Turn) bool {
			return other.Subject == turn.Subject && other.Counted == turn.Counted && other.Seq == turn.Seq
		})
	})
	if grants && p.From.Is(b.head) && !exists {
		b.cached++
		return p, true
	}
	right = !grants || !p.From.Is(b.head) || p.IsSupposed()
	p.Undo()
	return nil, right
}

// draws plans a batch, here or on another instance, settles it, and compares it with the
// model. It returns false if they differ.
func (b *bench) draws(t *rapid.T) bool {
	var asks []*urn.Ask
	for range rapid.SampledFrom([]int{1, 1, 2, 4}).Draw(t, "asks") {
		b.names++
		asks = append(asks, of(fmt.Sprint("u", rapid.IntRange(0, 2).Draw(t, "user")), asking(fmt.Sprint("d", b.names), rapid.SampledFrom([]int{1, 1, 2, 4, 20}).Draw(t, "count"))))
	}
	var p *urn.Plan
	if rapid.IntRange(0, 9).Draw(t, "elsewhere") == 0 {
		p = b.planRead(t, urn.NewUrnFrom("p", b.model.source), asks)
	} else {
		var right bool
		if p, right = b.planCached(t, asks); !right {
			return false
		}
		if p == nil {
			p = b.planRead(t, b.urn, asks)
		}
	}
	version := b.head.Version
	p.Settle()
	if len(p.Awards) > 0 {
		b.head = p.To
	}
	b.turns = append(b.turns, p.Turns...)
	for i := range p.Awards {
		b.log = append(b.log, draw.Entry{Award: &p.Awards[i]})
	}
	same := true
	for i, a := range asks {
		code := b.model.refusal(a.UserID, a.Count)
		if same = same && code == draw.CodeOf(p.Err(i)); code != "" {
			continue
		}
		taken := p.Taken(i)
		for ordinal := range a.Count {
			version++
			want := b.model.unit(a.UserID, version)
			if ordinal >= len(taken) {
				return false
			}
			got := taken[ordinal]
			r := draw.Redirect{}
			if got.Redirect != nil {
				r = *got.Redirect
			}
			same = same && want == words(got.PrizeID, got.Unit, r.Drawn, r.Why)
		}
	}
	return same
}

// evict makes the instance drop turns, or only their times.
func (b *bench) evict(t *rapid.T) {
	for user := range 3 {
		for _, c := range b.model.rules.Counted() {
			if times := rapid.IntRange(-1, 9).Draw(t, "times"); times < 5 {
				b.urn.Evict(fmt.Sprint("u", user), c, times)
			}
		}
	}
}

// run goes through a random history. It returns false if the pool and the model differ.
func (b *bench) run(t *rapid.T) (same bool) {
	same = true
	b.change(t)
	for range rapid.IntRange(1, 80).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"draw", "draw", "draw", "draw", "draw", "draw", "draw", "draw", "again", "again", "time", "evict", "rules", "stock"}).Draw(t, "step") {
		case "again": // two reads that find the pool unchanged
			for range 3 {
				b.see(b.urn)
			}
		case "evict":
			b.evict(t)
		case "draw":
			if same = b.draws(t); !same {
				return false
			}
		case "time":
			b.model.at = b.model.at.Add(time.Duration(rapid.SampledFrom([]int{1, 30, 1800, 3600, 5400, 40_000}).Draw(t, "seconds")) * time.Second)
		case "rules":
			b.change(t)
		case "stock":
			p := &b.model.prizes[rapid.IntRange(0, 3).Draw(t, "prize")]
			b.move(p, rapid.Int64Range(-p.Remaining(), 5).Draw(t, "delta"))
		}
	}
	return same
}

// folded returns the violations of the bench's log.
func (b *bench) folded() (violations []draw.Violation) {
	f := fold.New("p", b.model.prizes, b.rules)
	for _, e := range b.log {
		violations = append(violations, f.Add(e)...)
	}
	return violations
}
