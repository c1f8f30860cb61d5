package draw

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// histories is how many random histories the test of limits goes through.
var histories = flag.Int("histories", 20_000, "random histories of TestLimitsAgainstCounting")

// history is what a user did before a batch: the times of his turns, and a limit.
type history struct {
	limit Limit
	zone  *time.Location
	times []time.Time
	now   time.Time
	units int64
}

func randomHistory(r *rand.Rand, zones []*time.Location) history {
	h := history{zone: zones[r.IntN(len(zones))], units: 1 + r.Int64N(5)}
	h.limit = Limit{Of: LimitDraws, Max: 1 + r.Int64N(6)}
	switch n := r.IntN(8); {
	case n < 4:
		h.limit.Per.calendar = windows()[n]
	case n < 7:
		h.limit.Per.rolling = time.Duration(1+r.IntN(100)) * time.Hour
	}
	at := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
	for range r.IntN(14) {
		// Whole hours, so that turns lie on the bounds of windows.
		at = at.Add(time.Duration(r.IntN(1<<r.IntN(7))) * time.Hour)
		h.times = append(h.times, at)
	}
	h.now = at.Add(time.Duration(r.IntN(100)) * time.Hour)
	if r.IntN(2) == 0 && h.limit.Per.rolling > 0 && len(h.times) > 0 {
		h.now = h.times[r.IntN(len(h.times))].Add(h.limit.Per.rolling)
		if h.now.Before(at) {
			h.now = at
		}
	}
	return h
}

// counted is how many of the k-th further units a count of the window grants.
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

// facts are the turns that a need names, and no others.
func (h history) facts(n Need) *Facts {
	f := NewFacts([]Need{n})
	last := int64(len(h.times))
	for i, at := range h.times {
		seq := int64(i + 1)
		if seq == last || n.Max > 0 && seq >= last+1-n.Max && seq <= last+n.Units-n.Max {
			f.Add(Turn{UserID: n.UserID, Counted: n.Counted, Seq: seq, At: at})
		}
	}
	return f
}

// rule is how the k-th further unit is decided.
type rule func(t *tally, k, maximum int64, start time.Time) bool

// wrong counts the units that a rule decides otherwise than counting does.
func wrong(t *testing.T, n int, decide rule) (wrong int) {
	r := rand.New(rand.NewPCG(7, 11))
	var zones []*time.Location
	for _, name := range oddZones() {
		zones = append(zones, zone(t, name))
	}
	for range n {
		h := randomHistory(r, zones)
		need := Need{UserID: "u", Counted: CountedDraw, Units: h.units}
		if !h.limit.Per.IsEver() {
			need.Max = h.limit.Max
		}
		user := &tally{turns: h.facts(need).turns[who{"u", CountedDraw}]}
		start := h.limit.Per.Start(h.now, h.zone)
		for k := int64(1); k <= h.units; k++ {
			if decide(user, k, h.limit.Max, start) != h.counted(k, h.now) {
				wrong++
			}
		}
	}
	return wrong
}

// TestLimitsAgainstCounting: from the few turns that are read, a unit is allowed
// exactly where counting all turns of the window allows it.
func TestLimitsAgainstCounting(t *testing.T) {
	require.Zero(t, wrong(t, *histories, (*tally).allows))
	for name, double := range map[string]rule{
		"one too many": func(t *tally, k, m int64, start time.Time) bool { return t.allows(k-1, m, start) },
		"the start is outside": func(t *tally, k, m int64, start time.Time) bool {
			return t.allows(k, m, start.Add(time.Microsecond))
		},
		"what was not read is old": func(t *tally, k, m int64, start time.Time) bool {
			at, _ := t.at(t.oldest(k, m))
			return t.oldest(k, m) <= 0 || at.Before(start)
		},
		"the batch is not counted": func(t *tally, _, m int64, start time.Time) bool { return t.allows(1, m, start) },
	} {
		require.NotZero(t, wrong(t, 2000, double), name)
	}
}

// TestRetryAt: at that instant, and not a microsecond before, the same draw
// passes; where it is never, no time passes it.
func TestRetryAt(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	var zones []*time.Location
	for _, name := range oddZones() {
		zones = append(zones, zone(t, name))
	}
	refused := 0
	for range *histories {
		h := randomHistory(r, zones)
		if h.counted(h.units, h.now) {
			continue
		}
		refused++
		need := Need{UserID: "u", Counted: CountedDraw, Max: h.limit.Max, Units: h.units}
		user := &tally{turns: h.facts(need).turns[who{"u", CountedDraw}]}
		at := user.retryAt(h.units, h.limit, h.now, h.zone)
		if at.IsZero() {
			require.False(t, h.counted(h.units, h.now.AddDate(30, 0, 0)), "%+v", h)
			continue
		}
		require.True(t, at.After(h.now), "%+v", h)
		require.True(t, h.counted(h.units, at), "%+v", h)
		require.False(t, h.counted(h.units, at.Add(-time.Microsecond)), "%+v", h)
	}
	require.Positive(t, refused)
}

// TestFacts: turns come in any order and twice.
func TestFacts(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	f := NewFacts([]Need{{UserID: "u", Counted: CountedMiss}})
	for _, seq := range []int{5, 9, 7, 5, 6} {
		f.Add(Turn{UserID: "u", Counted: CountedMiss, Seq: int64(seq), Run: int64(10 * seq), At: at(seq)})
	}
	turns := f.turns[who{"u", CountedMiss}]
	require.Equal(t, [2]int64{9, 90}, [2]int64{turns.last, turns.run})
	require.Equal(t, []timeOf{{5, at(5)}, {6, at(6)}, {7, at(7)}, {9, at(9)}}, turns.times)
	turns.keep(1)
	require.Equal(t, []timeOf{{9, at(9)}}, turns.times)
}

// TestNeeds: per user one for each limit with a window, and one for each kind
// that has none; nothing for rules that count nothing.
func TestNeeds(t *testing.T) {
	u := under(t, `{"fallback":"none","guarantee":{"after":1,"prize":"gold"},"limits":[{"of":"draws","max":3,"per":"day"},
		{"of":"draws","max":7},{"of":"draws","max":2,"per":"1h"},{"of":"prize","prize":"gold","max":1}]}`, campaign())
	known := draw("a", "u1", 4)
	known.Known = &Draw{}
	skipped := draw("b", "u4", 4)
	skipped.Skip = true
	require.Equal(t, []Need{
		{"u2", CountedMiss, 0, 3}, {"u2", CountedDraw, 3, 3}, {"u2", CountedDraw, 2, 3}, {"u2", CountedPrize("gold"), 0, 3},
		{"u3", CountedMiss, 0, 5}, {"u3", CountedDraw, 3, 5}, {"u3", CountedDraw, 2, 5}, {"u3", CountedPrize("gold"), 0, 5},
	}, u.Needs([]*Ask{known, draw("c", "u2", 1), skipped, draw("d", "u3", 5), draw("e", "u2", 2)}))
	require.Equal(t, int64(3), u.NeedsOf("u")[1].Units, "up to max")
	require.Empty(t, under(t, `{"tickets":true}`, campaign()).Needs([]*Ask{draw("c", "u2", 1)}))
	require.Empty(t, urnOf(5).Needs([]*Ask{draw("c", "u2", 1)}))
}
