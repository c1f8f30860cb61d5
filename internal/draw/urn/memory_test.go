package urn_test

import (
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

// seenAgain reads the pool twice more, unchanged: then it may be planned from the copy.
func seenAgain(u *urn.Urn) *urn.Urn {
	for range 2 {
		u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Head, Rules: u.Rules()})
	}
	return u
}

// TestMemoryFollowsTheHead: turns that a written plan read and made are cached. They
// are dropped if the pool is at another head, and if the copy is dropped. A plan that is
// undone changes nothing.
func TestMemoryFollowsTheHead(t *testing.T) {
	u := under(t, `{"fallback":"none","limits":[{"of":"draws","max":9},{"of":"wins","max":2,"per":"day"}]}`, drawtest.Campaign())
	asks := []*urn.Ask{asking("a", 1), of("v", asking("b", 1))}
	missing := func() []urn.Need { _, missing := u.Recall(u.Needs(asks)); return missing }
	require.Len(t, missing(), 4)
	u.PlanWith(asks, nobody(u, asks...), noon()).Undo()
	require.Len(t, missing(), 4, "the plan was not written")
	u.PlanWith(asks, nobody(u, asks...), noon()).Settle()
	require.Empty(t, missing())
	seenAgain(u)
	require.Empty(t, missing(), "the head is the same")
	for i := range int64(3) {
		facts, missing := u.Recall(u.Needs(asks))
		require.Empty(t, missing)
		require.Equal(t, i+1, facts.Last("u", draw.CountedDraw))
		u.PlanWith(asks, facts, noon()).Undo()
		u.PlanWith(asks, facts, noon()).Settle()
		require.Equal(t, i+1, facts.Last("u", draw.CountedDraw), "facts do not change")
	}
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Next(1), Rules: u.Rules()})
	require.Len(t, missing(), 4, "the other session may have written their turns")

	u.PlanWith(asks, nobody(u, asks...), noon()).Settle()
	require.Empty(t, missing())
	u.Invalidate()
	require.Zero(t, u.CachedTurns())
}

// TestMemoryOfWindows: turns that may leave the windows of limits are needed, too. They
// are cached as long as the windows are short, or not yet full.
func TestMemoryOfWindows(t *testing.T) {
	for most, caches := range map[int]int{1: 40, 4: 40, 16: 40, 17: 17, 31: 31, 100: 40} {
		u := seenAgain(under(t, fmt.Sprintf(`{"fallback":"none","limits":[{"of":"draws","max":%d,"per":"day"},{"of":"draws","max":1,"per":"1h"}]}`, most), drawtest.Campaign()))
		drawn := 0
		for facts := nobody(u, asking("a", 1)); drawn < 40; drawn++ {
			asks := []*urn.Ask{asking("a", 1)}
			if drawn > 0 {
				var missing []urn.Need
				if facts, missing = u.Recall(u.Needs(asks)); len(missing) > 0 {
					break
				}
			}
			p := u.PlanWith(asks, facts, noon().AddDate(0, 0, drawn))
			require.NoError(t, p.Err(0))
			p.Settle()
		}
		require.Equal(t, caches, drawn, "%d per day", most)
	}
}

// TestLastTurnMayLeaveItsWindow: a batch may need the time of the last turn, too.
func TestLastTurnMayLeaveItsWindow(t *testing.T) {
	for _, most := range []int{2, 16, 17, 20} {
		u := seenAgain(under(t, fmt.Sprintf(`{"fallback":"none","limits":[{"of":"draws","max":%d,"per":"day"}]}`, most), drawtest.Campaign()))
		first := asking("a", 1)
		u.PlanWith([]*urn.Ask{first}, nobody(u, first), noon()).Settle()
		next := []*urn.Ask{asking("b", most)}
		facts, missing := u.Recall(u.Needs(next))
		require.True(t, u.RecallsAny(u.Needs(next)))
		if most > 16 {
			require.NotEmpty(t, missing, "its time is not cached")
			continue
		}
		require.Empty(t, missing)
		require.NoError(t, u.PlanWith(next, facts, noon().AddDate(0, 0, 1)).Err(0), "%d a day", most)
	}
}

// TestMemoryIsBounded: the turns that were used longest ago are dropped first.
func TestMemoryIsBounded(t *testing.T) {
	u := seenAgain(under(t, `{"fallback":"none","limits":[{"of":"draws","max":1000000}]}`, drawtest.Campaign()))
	const most = 1 << 17
	for first := 0; first < most+most/4; first += 1000 {
		asks := []*urn.Ask{of("always", asking("a", 1))}
		for i := range 1000 {
			asks = append(asks, of(fmt.Sprint("u", first+i), asking(fmt.Sprint("d", i), 1)))
		}
		facts := nobody(u, asks...)
		known, missing := u.Recall(u.Needs(asks[:1]))
		require.Equal(t, first == 0, len(missing) > 0, "is used all the time")
		if first > 0 {
			require.Equal(t, int64(first/1000), known.Last("always", draw.CountedDraw))
			facts.Add(draw.Turn{Subject: "always", Counted: draw.CountedDraw, Seq: int64(first / 1000)})
		}
		u.PlanWith(asks, facts, noon()).Settle()
		require.LessOrEqual(t, u.CachedTurns(), most)
	}
	for user, caches := range map[string]bool{fmt.Sprint("u", most): true, "u1": false} {
		_, missing := u.Recall(u.Needs([]*urn.Ask{of(user, asking("a", 1))}))
		require.Equal(t, caches, len(missing) == 0, user)
	}
}

// truth returns the turns that users have, as if they were read.
func truth(needs []urn.Need, last map[turnsOf]int64) *urn.Facts {
	f := urn.NewFacts(needs)
	for _, n := range needs {
		for seq := range last[turnsOf{n.Subject, n.Counted}] {
			f.Add(draw.Turn{Subject: n.Subject, Counted: n.Counted, Seq: seq + 1, Run: seq + 1, At: noon().Add(-time.Minute)})
		}
	}
	return f
}

// TestProvenSuppositionsAreTrue: a plan may suppose that users have no turns. If the plan
// proves that, and none of its turns exists in the log, it equals the plan that would
// have been made from the users' turns. Only turns that the write proves are cached.
func TestProvenSuppositionsAreTrue(t *testing.T) {
	documents := []string{
		`{"fallback":"none","limits":[{"of":"draws","max":2}]}`,
		`{"fallback":"none","limits":[{"of":"wins","max":1,"per":"day"}]}`,
		`{"fallback":"none","limits":[{"of":"wins","max":1}],"budget":{"max":"5.00"}}`,
		`{"fallback":"none","limits":[{"of":"prize","prize":"silver","max":1},{"of":"draws","max":9}],"budget":{"max":"1.00"}}`,
		`{"fallback":"none","win":"1/4","limits":[{"of":"prize","prize":"bronze","max":1}],"guarantee":{"after":1,"prize":"bronze"}}`,
		`{"fallback":"none","win":"1/4","limits":[{"of":"wins","max":1}],"guarantee":{"after":2,"prize":"gold"},"budget":{"max":"60.00"}}`,
	}
	r := rand.New(rand.NewPCG(1, 2))
	proven, met := 0, 0
	for range 5000 {
		document := documents[r.IntN(len(documents))]
		u := under(t, document, drawtest.Campaign())
		var asks []*urn.Ask
		for i := range 1 + r.IntN(3) {
			asks = append(asks, of([]string{"u", "v"}[r.IntN(2)], asking(fmt.Sprint("d", i), 1+r.IntN(2))))
		}
		needs, last := u.Needs(asks), map[turnsOf]int64{}
		for _, n := range needs {
			last[turnsOf{n.Subject, n.Counted}] = r.Int64N(3)
		}
		supposed, missing := u.Recall(needs)
		supposed.Suppose(missing)
		p := u.PlanWith(asks, supposed, noon())
		p.Undo()
		taken := false
		for i := range asks {
			taken = taken || p.Err(i) != nil // a draw is refused only from turns that were read
		}
		for _, turn := range p.Turns {
			taken = taken || turn.Seq <= last[turnsOf{turn.Subject, turn.Counted}]
		}
		switch {
		case taken:
			met++
			continue
		case !p.ProvesSuppositions():
			continue
		}
		proven++
		want := u.PlanWith(asks, truth(needs, last), noon())
		require.Equal(t, want.Awards, p.Awards, "%s %v", document, last)
		require.Equal(t, want.Turns, p.Turns, "%s %v", document, last)
		want.Undo()
		u.PlanWith(asks, supposed, noon()).Settle()
		_, missing = u.Recall(needs)
		for _, n := range needs {
			made := slices.ContainsFunc(p.Turns, func(turn draw.Turn) bool { return turn.Subject == n.Subject && turn.Counted == n.Counted })
			drops := slices.ContainsFunc(missing, func(m urn.Need) bool { return m.Subject == n.Subject && m.Counted == n.Counted })
			require.NotEqual(t, made, drops, "%s: only what the write proved is cached", document)
		}
	}
	require.Greater(t, proven, 250)
	require.Greater(t, met, 250)
}
