package draw

import (
	"encoding/binary"
	"fmt"
	mathrand "math/rand/v2"
	"testing"
	"time"

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
	for name, spoil := range map[string]func(*Plan, *Facts){
		"spending is left behind": func(p *Plan, _ *Facts) { p.urn.spending.Cents += 100 },
		"a unit is left out":      func(p *Plan, _ *Facts) { p.urn.move(0, 1) },
		"time is left behind":     func(p *Plan, _ *Facts) { p.urn.At = p.urn.At.Add(time.Hour) },
		"a tally is left behind": func(p *Plan, f *Facts) {
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
