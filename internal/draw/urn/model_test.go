package urn_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// keyed returns a source whose key follows from a seed.
func keyed(seed uint64) *urn.Keyed {
	var key [32]byte
	binary.BigEndian.PutUint64(key[:], seed)
	k := &urn.Keyed{}
	k.SetKey(key)
	return k
}

// perVersion gives numbers that depend only on the version, so that the model reads the
// same ones as the urn.
type perVersion struct{ seed uint64 }

func (s perVersion) Of(version int64) urn.Numbers {
	return keyed(s.seed).Of(version)
}

// model is a simple implementation of a pool: it keeps lists, and counts them for every
// answer.
type model struct {
	prizes []draw.Prize
	rules  *draw.Rules
	awards []modelAward
	at     time.Time
	source urn.Source
}

type modelAward struct {
	user, prize string
	win         bool
	at          time.Time
	cents       int64
	// counted are the kinds of turns that the rules counted at some time. budget means
	// that rules with a budget were in force.
	counted map[draw.Counted]bool
	budget  bool
}

func (m *model) prize(id string) *draw.Prize {
	for i := range m.prizes {
		if m.prizes[i].ID == id {
			return &m.prizes[i]
		}
	}
	return nil
}

// within counts a user's turns of a kind since the window's start.
func (m *model) within(user string, c draw.Counted, per draw.Per) (n int64) {
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
		case a.user != user || !a.counted[draw.CountedMiss]:
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

// units returns one entry for each unit of the urn.
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

func (m *model) refusal(user string, count int) draw.Code {
	var stocked int64
	for _, p := range m.prizes[:4] {
		stocked += p.Stocked
	}
	if stocked == 0 && (m.rules == nil || m.rules.Fallback == "") {
		return draw.CodePoolNotOpen
	}
	if m.rules != nil {
		if m.rules.Blocked[user] {
			return draw.CodeUserBlocked
		}
		for _, l := range m.rules.Limits {
			if l.Of == draw.LimitDraws && m.within(user, draw.CountedDraw, l.Per)+int64(count) > l.Max {
				return draw.CodeLimitReached
			}
		}
	}
	if (m.rules == nil || m.rules.Fallback == "") && len(m.units()) < count {
		return draw.CodeSoldOut
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

func (m *model) withheld(user, id string) draw.Why {
	p := m.prize(id)
	if p.Remaining() == 0 {
		return draw.WhySoldOut
	}
	for _, l := range m.rules.Limits {
		applies := l.Of == draw.LimitWins && p.IsWin() || l.Of == draw.LimitPrize && l.PrizeID == id
		if applies && m.within(user, l.Counted(), l.Per) >= l.Max {
			return draw.WhyLimit
		}
	}
	if b := m.rules.Budget; b != nil && !p.Value.IsZero() && m.spent()+draw.Cents(p.Value) > b.Max {
		return draw.WhyBudget
	}
	return ""
}

// unit decides one unit, and returns it as a text.
func (m *model) unit(user string, version int64) string {
	drawn := m.drawn(version)
	id, why := drawn, draw.Why("")
	if r := m.rules; r != nil {
		if drawn != "" {
			if why = m.withheld(user, drawn); why != "" {
				id = ""
			}
		}
		lost := id == "" || !m.prize(id).IsWin()
		if g := r.Guarantee; lost && g != nil && m.misses(user) >= g.After && m.withheld(user, g.PrizeID) == "" {
			id, why = g.PrizeID, draw.WhyGuarantee
		}
		if id == "" {
			id = r.Fallback
		}
	}
	p := m.prize(id)
	p.Issued++
	a := modelAward{user: user, prize: id, win: p.IsWin(), at: m.at, cents: draw.Cents(p.Value), counted: map[draw.Counted]bool{}}
	if r := m.rules; r != nil {
		a.budget = r.Budget != nil
		a.counted[draw.CountedMiss] = r.Guarantee != nil
		for _, l := range r.Limits {
			switch l.Of {
			case draw.LimitDraws:
				a.counted[draw.CountedDraw] = true
			case draw.LimitWins:
				a.counted[draw.CountedWin] = p.IsWin()
			case draw.LimitPrize:
				a.counted[draw.CountedPrize(l.PrizeID)] = l.PrizeID == id
			}
		}
	}
	m.awards = append(m.awards, a)
	return words(id, p.Issued, drawn, why)
}

func words(id string, unit int64, drawn string, why draw.Why) string {
	if why == "" {
		drawn = ""
	}
	return fmt.Sprint(id, " ", unit, " ", drawn, " ", why)
}

// TestAgainstModel: under random rules, stock, times and draws the results equal those
// of simple lists, whether turns are read or cached, and whatever other instances
// write. A plan that is undone changes nothing, and the fold of the log finds
// no violation and the same stock.
func TestAgainstModel(t *testing.T) {
	cached := 0
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(t)
		defer func() { cached += b.cached }()
		if !b.run(t) {
			t.Fatal("the model decides otherwise")
		}
		if v := b.folded(); len(v) > 0 {
			t.Fatalf("%v", v)
		}
	})
	require.Greater(t, cached, 50, "plans from cached turns")
	for name, spoil := range map[string]func(*bench, *urn.Plan, []*urn.Ask, *urn.Facts){
		"spending is left behind": func(b *bench, _ *urn.Plan, _ []*urn.Ask, _ *urn.Facts) {
			s := b.snapshot(b.urn.Head)
			s.Spending.Cents += 100
			require.True(b, b.urn.Seen(s))
		},
		"units are left out":  func(b *bench, _ *urn.Plan, asks []*urn.Ask, f *urn.Facts) { b.urn.PlanWith(asks, f, b.model.at) },
		"time is left behind": func(b *bench, _ *urn.Plan, _ []*urn.Ask, _ *urn.Facts) { b.urn.At = b.urn.At.Add(time.Hour) },
		"a tally is left behind": func(_ *bench, p *urn.Plan, _ []*urn.Ask, f *urn.Facts) {
			for _, turn := range p.Turns {
				f.Add(turn)
			}
		},
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
