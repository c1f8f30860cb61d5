package urn_test

import (
	"fmt"
	"math/rand/v2"
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

// TestMemoryFollowsTheHead: an urn caches the turns that were read and written at its
// head. It drops them if the pool is at another head, and if the copy is dropped.
func TestMemoryFollowsTheHead(t *testing.T) {
	u := under(t, `{"fallback":"none","limits":[{"of":"draws","max":9},{"of":"wins","max":2,"per":"day"}]}`, drawtest.Campaign())
	asks := []*urn.Ask{asking("a", 1), of("v", asking("b", 1))}
	missing := func() []urn.Need { _, missing := u.Recall(u.Needs(asks)); return missing }
	require.Len(t, missing(), 4)
	u.CacheTurns(nobody(u, asks...))
	require.Empty(t, missing())
	seenAgain(u)
	require.Empty(t, missing(), "the head is the same")
	for i := range 3 {
		facts, _ := u.Recall(u.Needs(asks))
		p := u.PlanWith(asks, facts, noon())
		require.NoError(t, p.Err(0))
		require.NotEmpty(t, p.Turns)
		p.Undo()
		again, _ := u.Recall(u.Needs(asks))
		require.Equal(t, int64(i), again.Last("u", draw.CountedDraw), "the plan was not written")
		p = u.PlanWith(asks, facts, noon())
		p.Settle()
		require.Empty(t, missing())
		again, _ = u.Recall(u.Needs(asks))
		require.Equal(t, int64(i+1), again.Last("u", draw.CountedDraw))
	}
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: u.Next(1), Rules: u.Rules()})
	seenAgain(u)
	require.Len(t, missing(), 4, "the other session may have written their turns")

	u.CacheTurns(nobody(u, asks...))
	require.Empty(t, missing())
	u.Invalidate()
	require.Zero(t, u.CachedTurns())
}

// TestMemoryOfWindows: turns that may leave the window of a limit are needed, too. The
// memory holds the last few of a user.
func TestMemoryOfWindows(t *testing.T) {
	for most, cached := range map[int64]bool{1: true, 4: true, 5: false, 20: false, 31: true} {
		u := seenAgain(under(t, fmt.Sprintf(`{"fallback":"none","limits":[{"of":"draws","max":%d,"per":"hour"}]}`, most), drawtest.Campaign()))
		asks := []*urn.Ask{asking("a", 1)}
		u.CacheTurns(nobody(u, asks...))
		for i := range 30 {
			facts, missing := u.Recall(u.Needs(asks))
			if len(missing) > 0 {
				break
			}
			p := u.PlanWith(asks, facts, noon().Add(time.Duration(i)*time.Hour))
			require.NoError(t, p.Err(0))
			p.Settle()
		}
		_, missing := u.Recall(u.Needs(asks))
		require.Equal(t, cached, len(missing) == 0, "%d per hour", most)
	}
}

// TestMemoryIsBounded: the turns that were used longest ago are dropped first.
func TestMemoryIsBounded(t *testing.T) {
	u := seenAgain(under(t, `{"fallback":"none","limits":[{"of":"draws","max":9}]}`, drawtest.Campaign()))
	need := func(i int) []urn.Need { return u.Needs([]*urn.Ask{of(fmt.Sprint("u", i), asking("a", 1))}) }
	most := 0
	for i := range 200_000 {
		u.CacheTurns(urn.NewFacts(need(i)))
		_, missing := u.Recall(need(0))
		require.Empty(t, missing, "is used all the time")
		most = max(most, u.CachedTurns())
	}
	require.LessOrEqual(t, most, 1<<16)
	_, missing := u.Recall(need(199_000))
	require.Empty(t, missing)
	_, missing = u.Recall(need(1))
	require.NotEmpty(t, missing)
}

// truth returns the turns that users have, as if they were read.
func truth(needs []urn.Need, last map[urn.Need]int64) *urn.Facts {
	f := urn.NewFacts(needs)
	for _, n := range needs {
		for seq := range last[urn.Need{Subject: n.Subject, Counted: n.Counted}] {
			f.Add(draw.Turn{Subject: n.Subject, Counted: n.Counted, Seq: seq + 1, Run: seq + 1, At: noon().Add(-time.Minute)})
		}
	}
	return f
}

// TestProvenSuppositionsAreTrue: a plan may suppose that users have no turns. If it
// proves that, and none of its turns exists, then it is the plan that would have been
// made from the turns.
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
	for range 20_000 {
		document := documents[r.IntN(len(documents))]
		u := under(t, document, drawtest.Campaign())
		var asks []*urn.Ask
		for i := range 1 + r.IntN(3) {
			asks = append(asks, of([]string{"u", "v"}[r.IntN(2)], asking(fmt.Sprint("d", i), 1+r.IntN(2))))
		}
		needs, last := u.Needs(asks), map[urn.Need]int64{}
		for _, n := range needs {
			last[urn.Need{Subject: n.Subject, Counted: n.Counted}] = r.Int64N(3)
		}
		supposed, _ := u.Recall(nil)
		supposed.Suppose(needs)
		p := u.PlanWith(asks, supposed, noon())
		p.Undo()
		taken := false
		for i := range asks {
			taken = taken || p.Err(i) != nil // a draw is refused only from turns that were read
		}
		for _, turn := range p.Turns {
			taken = taken || turn.Seq <= last[urn.Need{Subject: turn.Subject, Counted: turn.Counted}]
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
	}
	require.Greater(t, proven, 1000)
	require.Greater(t, met, 1000)
	t.Logf("%d plans are proven, %d meet a turn", proven, met)
}
