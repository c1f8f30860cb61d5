package draw

import (
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// perVersion are numbers that are a function of the version alone.
type perVersion struct{ seed uint64 }

func (s perVersion) Of(version int64) Numbers {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], s.seed)
	binary.BigEndian.PutUint64(key[8:], uint64(version))
	return &seeded{words: mathrand.NewChaCha8(key)}
}

// model is a pool that keeps lists, and counts them whenever it is asked.
type model struct {
	prizes []Prize
	rules  *Rules
	awards []modelAward
	at     time.Time
	source Source
}

type modelAward struct {
	user, prize string
	win         bool
	at          time.Time
	cents       int64
	// counted are the kinds of turns that the rules counted; budget says that
	// they had one.
	counted map[Counted]bool
	budget  bool
}

func (m *model) prize(id string) *Prize {
	for i := range m.prizes {
		if m.prizes[i].ID == id {
			return &m.prizes[i]
		}
	}
	return nil
}

// within counts a user's turns of a kind since the window's start.
func (m *model) within(user string, c Counted, per Per) (n int64) {
	start := per.Start(m.at, m.rules.Zone)
	for _, a := range m.awards {
		if a.user == user && a.counted[c] && !a.at.Before(start) {
			n++
		}
	}
	return n
}

func (m *model) misses(user string) (n int64) {
	for _, a := range m.awards {
		switch {
		case a.user != user || !a.counted[CountedMiss]:
		case a.win:
			n = 0
		default:
			n++
		}
	}
	return n
}

func (m *model) spent() (n int64) {
	start := m.rules.Budget.Per.Start(m.at, m.rules.Zone)
	for _, a := range m.awards {
		if a.budget && !a.at.Before(start) {
			n += a.cents
		}
	}
	return n
}

// units is one entry for each unit of the urn.
func (m *model) units() (list []string) {
	for _, p := range m.prizes {
		if !p.IsEndless() {
			for range p.Remaining() {
				list = append(list, p.ID)
			}
		}
	}
	return list
}

func (m *model) refusal(user string, count int) Code {
	var stocked int64
	for _, p := range m.prizes[:4] {
		stocked += p.Stocked
	}
	if stocked == 0 && (m.rules == nil || m.rules.Fallback == "") {
		return CodePoolNotOpen
	}
	if m.rules != nil {
		if m.rules.Blocked[user] {
			return CodeUserBlocked
		}
		for _, l := range m.rules.Limits {
			if l.Of == LimitDraws && m.within(user, CountedDraw, l.Per)+int64(count) > l.Max {
				return CodeLimitReached
			}
		}
	}
	if (m.rules == nil || m.rules.Fallback == "") && len(m.units()) < count {
		return CodeSoldOut
	}
	return ""
}

func (m *model) drawn(version int64) string {
	n, units := m.source.Of(version), m.units()
	r := m.rules
	if r != nil && r.Odds != nil {
		unit := n.Below(r.Odds.Of)
		for _, p := range m.prizes {
			for _, o := range r.Odds.Prizes {
				if o.PrizeID != p.ID {
					continue
				}
				if unit < o.Share {
					return p.ID
				}
				unit -= o.Share
			}
		}
		return ""
	}
	if r != nil && !r.Win.IsOne() && n.Below(r.Win.B) >= r.Win.A {
		return ""
	}
	if len(units) == 0 {
		return ""
	}
	return units[n.Below(int64(len(units)))]
}

func (m *model) withheld(user, id string) Why {
	p := m.prize(id)
	if p.Remaining() == 0 {
		return WhySoldOut
	}
	for _, l := range m.rules.Limits {
		applies := l.Of == LimitWins && p.IsWin() || l.Of == LimitPrize && l.PrizeID == id
		if applies && m.within(user, l.Counted(), l.Per) >= l.Max {
			return WhyLimit
		}
	}
	if b := m.rules.Budget; b != nil && m.spent()+Cents(p.Value) > b.Max {
		return WhyBudget
	}
	return ""
}

// unit decides one unit, and says it in words.
func (m *model) unit(user string, version int64) string {
	drawn := m.drawn(version)
	id, why := drawn, Why("")
	if r := m.rules; r != nil {
		if drawn != "" {
			if why = m.withheld(user, drawn); why != "" {
				id = ""
			}
		}
		lost := id == "" || !m.prize(id).IsWin()
		if g := r.Guarantee; lost && g != nil && m.misses(user) >= g.After && m.withheld(user, g.PrizeID) == "" {
			id, why = g.PrizeID, WhyGuarantee
		}
		if id == "" {
			id = r.Fallback
		}
	}
	p := m.prize(id)
	p.Issued++
	a := modelAward{user: user, prize: id, win: p.IsWin(), at: m.at, cents: Cents(p.Value), counted: map[Counted]bool{}}
	if r := m.rules; r != nil {
		a.budget = r.Budget != nil
		a.counted[CountedMiss] = r.Guarantee != nil
		for _, l := range r.Limits {
			switch l.Of {
			case LimitDraws:
				a.counted[CountedDraw] = true
			case LimitWins:
				a.counted[CountedWin] = p.IsWin()
			case LimitPrize:
				a.counted[CountedPrize(l.PrizeID)] = l.PrizeID == id
			}
		}
	}
	m.awards = append(m.awards, a)
	return words(id, p.Issued, drawn, why)
}

func words(id string, unit int64, drawn string, why Why) string {
	if why == "" {
		drawn = ""
	}
	return fmt.Sprint(id, " ", unit, " ", drawn, " ", why)
}

// randomRules is a document, or "" for none.
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
	limit := func(name, of string) {
		if rapid.Bool().Draw(t, name) {
			limits = append(limits, fmt.Sprintf(`{"of":%s,"max":%d%s}`, of, rapid.IntRange(1, 6).Draw(t, "max"), per("per", "hour", "day", "90m", "1h", "30s")))
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

// bench is a pool as the service has it, beside the model and a fold of its log.
type bench struct {
	*rapid.T
	model model
	urn   *Urn
	turns []Turn
	names int
	log   []Entry
	rules []*Rules
	// spoil, where not nil, breaks the pool after a plan that is undone.
	spoil func(*Urn)
}

func newBench(t *rapid.T) *bench {
	source := perVersion{rapid.Uint64().Draw(t, "seed")}
	b := &bench{T: t, urn: NewUrnFrom("p", source)}
	prize := func(id string, value int64) Prize {
		return Prize{ID: id, Name: id, Value: decimal.New(value, -2), Stocked: rapid.Int64Range(0, 12).Draw(t, id)}
	}
	b.model = model{source: source, at: noon(), prizes: []Prize{prize("gold", 500), prize("silver", 175), prize("bronze", 1), prize("lost", 0), campaign()[4]}}
	b.model.prizes[3].Kind = KindBlank
	b.urn.Seen(Snapshot{State: StateOpen, Head: NewHead(), At: b.model.at, Prizes: b.model.prizes})
	for i := range b.model.prizes {
		b.move(&b.model.prizes[i], 0)
	}
	return b
}

// move stocks a prize.
func (b *bench) move(p *Prize, delta int64) {
	p.Stocked += delta
	b.see(1)
	b.log = append(b.log, Entry{Move: &Move{Version: b.urn.Version, PrizeID: p.ID, Delta: delta, Stocked: p.Stocked, At: b.model.at}})
}

// see reads the pool as a store would, so many versions later.
func (b *bench) see(versions int) {
	s := Snapshot{State: StateOpen, Head: b.urn.Next(versions), At: b.model.at, Prizes: b.model.prizes, Rules: b.model.rules}
	if r := b.model.rules; r != nil && r.Budget != nil {
		s.Spending = Spending{From: r.Budget.Per.Start(b.model.at, r.Zone), Cents: b.model.spent()}
	}
	require.True(b, b.urn.Seen(s))
}

func (b *bench) facts(needs []Need) *Facts {
	f := NewFacts(needs)
	last := map[who]int64{}
	for _, turn := range b.turns {
		last[who{turn.UserID, turn.Counted}] = turn.Seq
	}
	for _, n := range needs {
		s := last[who{n.UserID, n.Counted}]
		for _, turn := range b.turns {
			if turn.UserID == n.UserID && turn.Counted == n.Counted &&
				(turn.Seq == s || n.Max > 0 && turn.Seq >= s+1-n.Max && turn.Seq <= s+n.Units-n.Max) {
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
		b.model.rules = rulesOf(t, document)
		require.NoError(t, b.model.rules.Check(b.model.prizes))
		b.rules = append(b.rules, b.model.rules)
	}
	b.see(1)
	b.log = append(b.log, Entry{Change: &Change{Version: b.urn.Version, What: WhatRules, Body: RulesBody(b.model.rules), At: b.model.at}})
}

// draws plans a batch, perhaps undoes it and plans it again, settles it, and
// compares it with the model. It is false where they differ.
func (b *bench) draws(t *rapid.T) bool {
	var asks []*Ask
	for range rapid.IntRange(1, 4).Draw(t, "asks") {
		b.names++
		asks = append(asks, draw(fmt.Sprint("d", b.names), fmt.Sprint("u", rapid.IntRange(0, 2).Draw(t, "user")), rapid.IntRange(1, 4).Draw(t, "count")))
	}
	facts := b.facts(b.urn.Needs(asks))
	p := b.urn.PlanWith(asks, facts, b.model.at)
	if rapid.Bool().Draw(t, "undo") {
		p.Undo()
		if b.spoil != nil {
			b.spoil(b.urn)
		}
		p = b.urn.PlanWith(asks, facts, b.model.at)
	}
	version := b.urn.Version
	p.Settle()
	b.turns = append(b.turns, p.Turns...)
	for i := range p.Awards {
		b.log = append(b.log, Entry{Award: &p.Awards[i]})
	}
	same := true
	for i, a := range asks {
		code := b.model.refusal(a.UserID, a.Count)
		if same = same && code == CodeOf(p.Err(i)); code != "" {
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
			r := Redirect{}
			if got.Redirect != nil {
				r = *got.Redirect
			}
			same = same && want == words(got.PrizeID, got.Unit, r.Drawn, r.Why)
		}
	}
	return same
}

// run goes through a random history. It is false where the pool and the model
// differ.
func (b *bench) run(t *rapid.T) (same bool) {
	same = true
	b.change(t)
	for range rapid.IntRange(1, 25).Draw(t, "steps") {
		switch rapid.SampledFrom([]string{"draw", "draw", "draw", "time", "rules", "stock"}).Draw(t, "step") {
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

// folded are the violations of the bench's log.
func (b *bench) folded() (violations []Violation) {
	f := NewFold("p", b.model.prizes, b.rules)
	for _, e := range b.log {
		violations = append(violations, f.Add(e)...)
	}
	return violations
}

// TestAgainstModel: random rules, stock, times and draws come out as lists say,
// a plan that is undone leaves nothing behind, and the log folds without fault
// to the same stock.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		if !b.run(t) {
			t.Fatal("the model decides otherwise")
		}
		if v := b.folded(); len(v) > 0 {
			t.Fatalf("%v", v)
		}
	})
	for name, spoil := range map[string]func(*Urn){
		"spending is left behind": func(u *Urn) { u.spending.Cents += 100 },
		"a unit is left out":      func(u *Urn) { u.move(0, 1) },
		"time is left behind":     func(u *Urn) { u.At = u.At.Add(time.Hour) },
	} {
		caught := false
		for seed := 0; seed < 500 && !caught; seed++ {
			rapid.Custom(func(t *rapid.T) bool {
				b := newBench(t)
				b.spoil = spoil
				caught = caught || !b.run(t)
				return true
			}).Example(seed)
		}
		require.True(t, caught, name)
	}
}

// TestFoldCatches: an award that is changed after the fact, in each of the ways
// that have a rule.
func TestFoldCatches(t *testing.T) {
	prizes := []Prize{
		{ID: "gold", Name: "Gold", Value: decimal.New(500, -2), Stocked: 100}, {ID: "lost", Name: "Lost", Kind: KindBlank, Stocked: 100},
		{ID: "none", Name: "None", Kind: KindBlank, Stocked: EndlessStock}, {ID: "other", Name: "Other", Kind: KindBlank, Stocked: EndlessStock},
	}
	const limits = `{"fallback":"none","limits":[{"of":"draws","max":2,"per":"day"},{"of":"wins","max":1}]}`
	const owed = `{"fallback":"none","win":"1/2","guarantee":{"after":1,"prize":"gold"}}`
	award := func(id string, r *Redirect) Award { return Award{UserID: "u", PrizeID: id, Redirect: r} }
	limited := &Redirect{Drawn: "gold", Why: WhyLimit}
	for _, c := range []struct {
		rules, want string
		awards      []Award
	}{
		{limits, "", []Award{award("gold", nil), award("none", limited)}},
		{limits, "", []Award{award("gold", nil), award("lost", nil)}},
		{limits, RuleLimitPassed, []Award{award("gold", nil), award("gold", nil)}},
		{limits, RuleLimitPassed, []Award{award("lost", nil), award("lost", nil), award("lost", nil)}},
		{limits, RuleRedirectUnlawful, []Award{award("none", limited)}},
		{limits, RuleRedirectUnlawful, []Award{award("gold", nil), award("lost", limited)}},
		{limits, RuleRedirectUnlawful, []Award{award("gold", nil), award("none", &Redirect{Drawn: "gold", Why: WhyBudget})}},
		{limits, RuleOutsideUrn, []Award{award("none", nil)}},
		{limits, RuleOutsideUrn, []Award{award("other", nil)}},
		{limits, RuleOutsideUrn, []Award{award("absent", nil)}},
		{limits, RuleOutsideUrn, []Award{award("none", &Redirect{Drawn: "absent", Why: WhyLimit})}},
		{limits, RuleBlankValue, []Award{{UserID: "u", PrizeID: "lost", Value: decimal.New(1, -2)}}},
		{``, RuleOutsideUrn, []Award{award("none", nil)}},
		{``, RuleRedirectUnlawful, []Award{award("gold", limited)}},
		{owed, "", []Award{award("none", nil), award("gold", &Redirect{Why: WhyGuarantee}), award("lost", nil), award("gold", &Redirect{Drawn: "lost", Why: WhyGuarantee})}},
		{owed, RuleGuaranteeMissed, []Award{award("none", nil), award("none", nil)}},
		{owed, RuleGuaranteeMissed, []Award{award("lost", nil), award("lost", nil)}},
		{owed, RuleRedirectUnlawful, []Award{award("gold", &Redirect{Why: WhyGuarantee})}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":10}}}`, RuleOutsideUrn, []Award{award("none", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, RuleOutsideUrn, []Award{award("lost", nil)}},
		{`{"fallback":"none","odds":{"of":10,"prizes":{"gold":9}}}`, "", []Award{award("none", nil), award("gold", nil)}},
	} {
		f := NewFold("p", prizes, nil)
		var got []Violation
		for i, p := range prizes {
			got = append(got, f.Add(Entry{Move: &Move{Version: int64(i + 1), PrizeID: p.ID, Delta: p.Stocked, Stocked: p.Stocked, At: noon()}})...)
		}
		if c.rules != "" {
			r := rulesOf(t, c.rules)
			f.expect(r)
			got = append(got, f.Add(Entry{Change: &Change{Version: 5, What: WhatRules, Body: RulesBody(r), At: noon()}})...)
		}
		for i := range c.awards {
			a := c.awards[i]
			a.Version, a.At = int64(6+i), noon()
			got = append(got, f.Add(Entry{Award: &a})...)
		}
		if c.want == "" {
			require.Empty(t, got, "%+v", c)
			continue
		}
		require.Len(t, got, 1, "%+v", c)
		require.Equal(t, c.want, got[0].Rule, "%+v: %v", c, got)
		require.Contains(t, got[0].Detail, fmt.Sprintf("version %d: ", 5+len(c.awards)))
	}
	f := NewFold("p", prizes, nil)
	require.Equal(t, RuleRulesUnknown, f.Add(Entry{Change: &Change{Version: 1, What: WhatRules, Body: `{"rules":{"x":1}}`}})[0].Rule)
	require.Empty(t, f.Add(Entry{Change: &Change{Version: 2, What: WhatCreated, Body: `{"name":"P","state":"open"}`}}))
	require.Empty(t, f.Add(Entry{Change: &Change{Version: 3, What: WhatRules, Body: RulesBody(nil)}}))
}
