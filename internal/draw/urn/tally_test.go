package urn_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/urn"
)

// histories is the number of random histories in the test of limits.
var histories = flag.Int("histories", 20_000, "random histories of TestLimitsAgainstCounting")

// history is a user's history before a batch: the times of the turns, and a limit.
type history struct {
	limit draw.Limit
	zone  *time.Location
	times []time.Time
	now   time.Time
	units int64
}

func randomHistory(t *testing.T, r *rand.Rand, zones []*time.Location) history {
	h := history{zone: zones[r.IntN(len(zones))], units: 1 + r.Int64N(5)}
	h.limit = draw.Limit{Of: draw.LimitDraws, Max: 1 + r.Int64N(6)}
	var rolling time.Duration
	switch n := r.IntN(8); {
	case n < 4:
		h.limit.Per = drawtest.Per(t, drawtest.Windows()[n])
	case n < 7:
		rolling = time.Duration(1+r.IntN(100)) * time.Hour
		h.limit.Per = drawtest.Per(t, rolling.String())
	}
	at := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
	for range r.IntN(14) {
		// Whole hours, so that turns are on the bounds of windows.
		at = at.Add(time.Duration(r.IntN(1<<r.IntN(7))) * time.Hour)
		h.times = append(h.times, at)
	}
	h.now = at.Add(time.Duration(r.IntN(100)) * time.Hour)
	if r.IntN(2) == 0 && rolling > 0 && len(h.times) > 0 {
		h.now = h.times[r.IntN(len(h.times))].Add(rolling)
		if h.now.Before(at) {
			h.now = at
		}
	}
	return h
}

// counted reports whether the k-th further unit is granted, by counting all turns in the
// window.
func (h history) counted(k int64, now time.Time) bool {
	start := h.limit.Per.Start(now, h.zone)
	used := k
	for _, at := range h.times {
		if !at.Before(start) {
			used++
		}
	}
	return used <= h.limit.Max
}

// facts returns only the turns that a need names, with times that are earlier by the
// given duration.
func (h history) facts(n urn.Need, earlier time.Duration) *urn.Facts {
	f := urn.NewFacts([]urn.Need{n})
	last := int64(len(h.times))
	for i, at := range h.times {
		seq := int64(i + 1)
		if seq == last || named(n, last, seq) {
			f.Add(draw.Turn{Subject: n.Subject, Counted: n.Counted, Seq: seq, At: at.Add(-earlier)})
		}
	}
	return f
}

// named reports whether a need names a turn before the last one.
func named(n urn.Need, last, seq int64) bool {
	return slices.ContainsFunc(n.Windows, func(window int64) bool {
		return seq >= last+1-window && seq <= last+n.Units-window
	})
}

// pools are urns by the document of their rules. They are kept because a document takes
// long to read.
type pools map[string]*urn.Urn

func (p pools) under(t *testing.T, h history) *urn.Urn {
	per := ""
	if !h.limit.Per.IsEver() {
		per = fmt.Sprintf(`,"per":%q`, h.limit.Per)
	}
	document := fmt.Sprintf(`{"limits":[{"of":"draws","max":%d%s}],"zone":%q}`, h.limit.Max, per, h.zone)
	if p[document] == nil {
		p[document] = under(t, document, drawtest.Campaign())
	}
	return p[document]
}

// refusal returns the pool's decision on a draw of k units after the history. The times
// of the turns are earlier by the given duration.
func (h history) refusal(u *urn.Urn, k int64, earlier time.Duration) error {
	needs := u.Needs([]*urn.Ask{asking("d", int(h.units))})
	p := u.PlanWith([]*urn.Ask{asking("d", int(k))}, h.facts(needs[0], earlier), h.now)
	defer p.Undo()
	return p.Err(0)
}

// rule decides whether the k-th further unit is granted.
type rule func(h history, u *urn.Urn, k int64) bool

// wrong counts the units for which a rule and counting give different results.
func wrong(t *testing.T, n int, decide rule) (wrong int) {
	r := rand.New(rand.NewPCG(7, 11))
	zones, urns := zonesOf(t), pools{}
	for range n {
		h := randomHistory(t, r, zones)
		u := urns.under(t, h)
		for k := int64(1); k <= h.units; k++ {
			if decide(h, u, k) != h.counted(k, h.now) {
				wrong++
			}
		}
	}
	return wrong
}

func zonesOf(t *testing.T) (zones []*time.Location) {
	for _, name := range drawtest.OddZones() {
		zones = append(zones, drawtest.Zone(t, name))
	}
	return zones
}

// TestLimitsAgainstCounting: from the few turns that are read, a unit is allowed if and
// only if counting all turns of the window allows it.
func TestLimitsAgainstCounting(t *testing.T) {
	require.Zero(t, wrong(t, *histories, func(h history, u *urn.Urn, k int64) bool { return h.refusal(u, k, 0) == nil }))
	for name, double := range map[string]rule{
		"one too many":         func(h history, u *urn.Urn, k int64) bool { return h.refusal(u, k-1, 0) == nil },
		"the start is outside": func(h history, u *urn.Urn, k int64) bool { return h.refusal(u, k, time.Microsecond) == nil },
		"what was not read is old": func(h history, u *urn.Urn, k int64) bool {
			return k > h.limit.Max && !h.limit.Per.IsEver() || h.refusal(u, k, 0) == nil
		},
		"the batch is not counted": func(h history, u *urn.Urn, _ int64) bool { return h.refusal(u, 1, 0) == nil },
	} {
		require.NotZero(t, wrong(t, 2000, double), name)
	}
}

// TestRetryAt: at the instant that retryAt returns, the same draw is allowed, and a
// microsecond before it is not. If retryAt returns never, no time allows the draw.
func TestRetryAt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	zones, urns, refusals := zonesOf(t), pools{}, 0
	for range *histories {
		h := randomHistory(t, r, zones)
		if h.counted(h.units, h.now) {
			continue
		}
		refusals++
		at := refused(t, draw.CodeLimitReached, h.refusal(urns.under(t, h), h.units, 0)).Reached.RetryAt
		if at.IsZero() {
			require.False(t, h.counted(h.units, h.now.AddDate(30, 0, 0)), "%+v", h)
			continue
		}
		require.True(t, at.After(h.now), "%+v", h)
		require.True(t, h.counted(h.units, at), "%+v", h)
		require.False(t, h.counted(h.units, at.Add(-time.Microsecond)), "%+v", h)
	}
	require.Positive(t, refusals)
}

// TestFactsKeepTheLastTurnAndAllTimes: turns may be added in any order and repeatedly.
// The last turn is the one with the highest seq, and each turn keeps its time.
func TestFactsKeepTheLastTurnAndAllTimes(t *testing.T) {
	u := under(t, `{"fallback":"none","guarantee":{"after":90,"prize":"gold"},"limits":[{"of":"draws","max":4,"per":"1h"}]}`, drawtest.Campaign())
	at := func(seq int64) time.Time { return noon().Add(time.Duration(seq-10) * time.Minute) }
	f := urn.NewFacts(u.NeedsOf(player("u")))
	for _, seq := range []int64{5, 9, 7, 5, 6, 8} {
		f.Add(draw.Turn{Subject: "u", Counted: draw.CountedMiss, Seq: seq, Run: 10 * seq, At: at(seq)})
		f.Add(draw.Turn{Subject: "u", Counted: draw.CountedDraw, Seq: seq, At: at(seq)})
	}
	for k := range int64(4) { // the turn that must leave the window for k more
		p := u.PlanWith([]*urn.Ask{asking("d", int(k+1))}, f, noon())
		require.Equal(t, at(6+k).Add(time.Hour+time.Microsecond), refused(t, draw.CodeLimitReached, p.Err(0)).Reached.RetryAt)
	}
	s, err := u.Standing(player("u"), f, noon())
	require.NoError(t, err)
	require.Equal(t, [2]int64{90, 1}, [2]int64{s.Misses, s.GuaranteedIn})
	p := u.PlanWith([]*urn.Ask{asking("d", 1)}, f, noon().Add(time.Hour))
	require.NoError(t, p.Err(0))
	for _, turn := range p.Turns {
		require.Equal(t, int64(10), turn.Seq, turn.Counted)
	}
}

// TestNeedsListEachKindOnce: for each user there is one need for each kind, with the
// windows of all its limits; there is none for rules that count nothing. A copy that may
// be planned from without a read needs whole windows, unless they are long.
func TestNeedsListEachKindOnce(t *testing.T) {
	u := under(t, `{"fallback":"none","guarantee":{"after":1,"prize":"gold"},"limits":[{"of":"draws","max":3,"per":"day"},
		{"of":"draws","max":7},{"of":"draws","max":2,"per":"1h"},{"of":"draws","max":99,"per":"week"},{"of":"prize","prize":"gold","max":1}]}`, drawtest.Campaign())
	known := of("u1", inLog(asking("a", 4)))
	skipped := of("u4", asking("b", 4))
	skipped.Skip = true
	asks := []*urn.Ask{known, of("u2", asking("c", 1)), skipped, of("u3", asking("d", 5)), of("u2", asking("e", 1))}
	all, gold := []int64{3, 2, 99}, draw.CountedPrize("gold")
	require.Equal(t, []urn.Need{
		{"u2", draw.CountedMiss, nil, 2}, {"u2", draw.CountedDraw, all, 2}, {"u2", gold, nil, 2},
		{"u3", draw.CountedMiss, nil, 5}, {"u3", draw.CountedDraw, all, 5}, {"u3", gold, nil, 5},
	}, u.Needs(asks))
	require.Equal(t, int64(99), u.NeedsOf(player("u"))[1].Units, "up to max")
	whole := []int64{99, 3}
	require.Equal(t, []urn.Need{
		{"u2", draw.CountedMiss, nil, 2}, {"u2", draw.CountedDraw, whole, 3}, {"u2", gold, nil, 2},
		{"u3", draw.CountedMiss, nil, 5}, {"u3", draw.CountedDraw, whole, 5}, {"u3", gold, nil, 5},
	}, seenAgain(u).Needs(asks))
	require.Empty(t, under(t, `{"tickets":true}`, drawtest.Campaign()).Needs([]*urn.Ask{of("u2", asking("c", 1))}))
	require.Empty(t, urnOf(draw.StateOpen, 5).Needs([]*urn.Ask{of("u2", asking("c", 1))}))
}
