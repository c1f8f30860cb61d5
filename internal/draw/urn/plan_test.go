package urn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// urnOf returns the cached copy of a pool in the given state at version 10, whose
// prizes p0, p1 … have the given units.
func urnOf(state draw.State, stock ...int64) *urn.Urn {
	s := urn.Snapshot{State: state, Head: draw.NewHead().Next(10)}
	for i, n := range stock {
		s.Prizes = append(s.Prizes, draw.Prize{ID: fmt.Sprint("p", i), Name: "Prize", Stocked: n})
	}
	u := urn.NewUrn("p")
	u.Seen(s)
	return u
}

// asking returns a request for count units, under a name that the caller chose.
func asking(id string, count int) *urn.Ask {
	return &urn.Ask{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: id, Named: true, Count: count}}
}

func player(user string) draw.Player { return draw.Player{UserID: user} }

func of(user string, a *urn.Ask) *urn.Ask { a.UserID = user; return a }

// inLog returns the ask of a draw that the log has with the given awards.
func inLog(a *urn.Ask, awards ...draw.Award) *urn.Ask {
	a.Learn(map[string]draw.Draw{a.DrawID: {ID: a.DrawID, PoolID: "p", UserID: "u", Awards: awards}})
	return a
}

func code(t *testing.T, want draw.Code, err error) {
	t.Helper()
	require.Equal(t, want, draw.CodeOf(err), "%v", err)
}

// TestPlanInOrder: draws are decided in order, each from the units that the earlier
// draws have left. After a draw that needs too many units, a smaller draw may still
// win.
func TestPlanInOrder(t *testing.T) {
	u := urnOf(draw.StateOpen, 4, 2)
	p := u.Plan([]*urn.Ask{asking("a", 3), asking("b", 4), asking("c", 2), asking("d", 1), asking("e", 1)}, time.Now())
	from := p.From
	p.Settle()

	require.Equal(t, int64(10), from.Version)
	require.Equal(t, int64(16), u.Version)
	require.Equal(t, p.To, u.Head)
	require.True(t, u.Head.Follows(from))
	require.Zero(t, u.Remaining())
	var ids []string
	var ordinals []int
	units := map[string]int64{}
	for i, a := range p.Awards {
		ids, ordinals = append(ids, a.DrawID), append(ordinals, a.Ordinal)
		units[a.PrizeID]++
		require.Equal(t, int64(11+i), a.Version)
		require.Equal(t, units[a.PrizeID], a.Unit, "a prize's units count up from 1")
		require.Equal(t, p.Awards[0].At, a.At)
		require.Equal(t, a.At, a.At.UTC().Truncate(time.Microsecond))
	}
	require.Equal(t, []string{"a", "a", "a", "c", "c", "d"}, ids)
	require.Equal(t, []int{1, 2, 3, 1, 2, 1}, ordinals)
	require.Equal(t, map[string]int64{"p0": 4, "p1": 2}, units)
	require.Len(t, p.Raises, 2, "each prize once")
	for _, c := range p.Raises {
		require.Equal(t, units[c.PrizeID], c.Issued)
	}
	d, err := p.Answer(2)
	require.NoError(t, err)
	require.Equal(t, p.Awards[3:5], d.Awards)
	code(t, draw.CodeSoldOut, p.Err(1))
	code(t, draw.CodeSoldOut, p.Err(4))
}

// TestPlanUndone: after an undo the units are in the urn again, and a later plan takes
// the same units for the same versions.
func TestPlanUndone(t *testing.T) {
	u := urnOf(draw.StateOpen, 1<<20, 1<<20)
	var first []draw.Award
	for range 20 {
		p := u.Plan([]*urn.Ask{asking("a", 30), asking("b", 20)}, time.Unix(0, 0))
		require.Equal(t, int64(2<<20-50), u.Remaining())
		require.Equal(t, int64(10), p.From.Version)
		if first == nil {
			first = p.Awards
		}
		require.Equal(t, first, p.Awards)
		p.Undo()
		p.Undo()
		require.Equal(t, int64(2<<20), u.Remaining())
	}
	p := u.Plan([]*urn.Ask{asking("c", 1), asking("a", 30)}, time.Unix(0, 0))
	for i, a := range p.Awards {
		require.Equal(t, [2]any{first[i].PrizeID, first[i].Unit}, [2]any{a.PrizeID, a.Unit}, "whoever stands at the version")
	}
}

// TestPlanRefusedNameIsFree: a draw that was refused as sold out is not recorded, so
// its name may win in the same plan.
func TestPlanRefusedNameIsFree(t *testing.T) {
	p := urnOf(draw.StateOpen, 3).Plan([]*urn.Ask{asking("a", 5), asking("a", 2)}, time.Now())
	code(t, draw.CodeSoldOut, p.Err(0))
	require.Len(t, p.Taken(1), 2)
}

// TestPlanOfAPoolThatIsNotOpen: known draws are answered whatever the pool's
// state is.
func TestPlanOfAPoolThatIsNotOpen(t *testing.T) {
	for _, state := range []draw.State{draw.StatePaused, draw.StateClosed} {
		u := urnOf(state, 9)
		p := u.Plan([]*urn.Ask{inLog(asking("old", 1), draw.Award{DrawID: "old"}), asking("new", 1)}, time.Now())
		d, err := p.Answer(0)
		require.NoError(t, err)
		require.True(t, d.Replayed)
		code(t, draw.CodePoolNotOpen, p.Err(1))
		require.Equal(t, int64(9), u.Remaining())
	}
}

// TestPlanReplays: known draws are answered even by a plan that refuses all others.
func TestPlanReplays(t *testing.T) {
	u := urnOf(draw.StateOpen, 9)
	old := draw.Award{DrawID: "old", Version: 3, PrizeID: "p0", Unit: 1}
	mine := inLog(asking("mine", 1), old)
	mine.Log.Try(draw.Head{}, old)
	skipped := asking("expired", 1)
	skipped.Skip = true
	busy := draw.Errorf(draw.CodeContended, "busy")
	p := u.PlanReplays([]*urn.Ask{
		inLog(asking("old", 1), old), asking("new", 1), of("other", inLog(asking("old2", 1), old)), mine, skipped,
	}, busy)
	require.Empty(t, p.Awards)
	require.Equal(t, int64(9), u.Remaining())
	d, err := p.Answer(0)
	require.NoError(t, err)
	require.True(t, d.Replayed)
	require.Equal(t, error(busy), p.Err(1))
	code(t, draw.CodeKeyReused, p.Err(2))
	d, err = p.Answer(3)
	require.NoError(t, err)
	require.False(t, d.Replayed, "its own write made it")
	require.NoError(t, p.Err(4))
}

// TestPlanLearns: a draw that was refused without a lookup becomes a replay if the log
// has it. Granted draws, and draws that were already looked up, do not change.
func TestPlanLearns(t *testing.T) {
	u := urnOf(draw.StateOpen, 1)
	asked := asking("asked", 1)
	asked.Learn(nil)
	p := u.Plan([]*urn.Ask{
		asking("new", 1), asking("old", 1), of("other", asking("old", 1)), asking("old", 2), asked,
		{Request: draw.Request{PoolID: "p", UserID: "u", DrawID: "made", Count: 1}}, asking("none", 1),
	}, time.Now())
	require.Equal(t, []string{"none", "old"}, p.Unasked())
	known := map[string]draw.Draw{}
	for _, id := range []string{"new", "old", "asked", "made"} {
		known[id] = draw.Draw{ID: id, UserID: "u", Awards: []draw.Award{{DrawID: id}}}
	}
	p.Learn(known)
	require.Empty(t, p.Unasked())
	want := []draw.Code{"", "", draw.CodeKeyReused, draw.CodeKeyReused, draw.CodeSoldOut, draw.CodeSoldOut, draw.CodeSoldOut}
	for i, c := range want {
		code(t, c, p.Err(i))
	}
	old, err := p.Answer(1)
	require.NoError(t, err)
	require.True(t, old.Replayed)
	fresh, err := p.Answer(0)
	require.NoError(t, err)
	require.False(t, fresh.Replayed)
	p.Undo()
	require.Equal(t, int64(1), u.Remaining())
}
