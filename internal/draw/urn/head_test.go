package urn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// The number of marks in a trail, their size in bytes, and how many reads in a row must
// find a pool unchanged before draws are planned from the cached copy.
const (
	trailMax = 8
	markSize = 8
	hitsMin  = 2
)

// TestHeadFollows: a later state follows an earlier state of the same history as far as
// the trail reaches. It does not follow a state of another history.
func TestHeadFollows(t *testing.T) {
	states := []draw.Head{draw.NewHead()}
	for range 20 {
		states = append(states, states[len(states)-1].Next(3))
	}
	fork := states[5].Next(3)
	for i, h := range states {
		require.LessOrEqual(t, len(h.Trail), trailMax*markSize)
		for j, former := range states {
			require.Equal(t, j <= i && i-j <= trailMax, h.Follows(former), "state %d, former %d", i, j)
			require.Equal(t, i == j, h.Is(former))
		}
		require.False(t, h.Follows(fork), "another history of the same version %d", fork.Version)
	}
	require.True(t, fork.Follows(states[5]))
	require.False(t, fork.Follows(states[6]), "a state that was lost")
	paused := states[5].Next(0)
	require.Equal(t, states[5].Version, paused.Version)
	require.True(t, paused.Follows(states[5]))
	require.False(t, paused.Is(states[5]), "a change of state makes another head")
}

func read(h draw.Head, stock ...int64) urn.Snapshot {
	s := urn.Snapshot{State: draw.StateOpen, Head: h}
	for i, n := range stock {
		s.Prizes = append(s.Prizes, draw.Prize{ID: string(rune('a' + i)), Stocked: n})
	}
	return s
}

// TestUrnSeen: an urn applies writes that follow its copy, and drops the copy if the
// pool has another history.
func TestUrnSeen(t *testing.T) {
	first := draw.NewHead().Next(2)
	u := urn.NewUrn("p")
	require.False(t, u.WasRead())
	for i := range hitsMin + 1 {
		require.False(t, u.IsCached(), "read %d", i)
		require.True(t, u.Seen(read(first, 5, 5)))
	}
	require.True(t, u.IsCached())

	second := first.Next(1)
	require.True(t, u.Seen(urn.Snapshot{State: draw.StatePaused, Mode: "optimistic", Head: second, Prizes: []draw.Prize{{ID: "b", Stocked: 5, Issued: 1}}}))
	require.False(t, u.IsCached(), "somebody else writes")
	require.Equal(t, []any{int64(9), draw.StatePaused, "optimistic", second}, []any{u.Remaining(), u.State, u.Mode, u.Head})

	for name, other := range map[string]draw.Head{
		"restored": first, "restored and drawn from": first.Next(1), "restored and drawn from more": first.Next(7),
	} {
		copied := urn.NewUrn("p")
		require.True(t, copied.Seen(read(second, 5, 5)))
		require.False(t, copied.Seen(urn.Snapshot{State: draw.StateOpen, Head: other}), name)
		require.Zero(t, copied.Version, "dropped")
		require.True(t, copied.WasRead())
		require.True(t, copied.Seen(read(other, 3)), "read anew, whole")
		require.Equal(t, int64(3), copied.Remaining())
	}
}

// TestUrnPicksAgainAlike: from one state the same versions take the same units, however
// often the plan fails, and whether the copy is kept or dropped. In another history the
// versions get other numbers.
func TestUrnPicksAgainAlike(t *testing.T) {
	h := draw.NewHead().Next(2)
	stock := []int64{1 << 30, 1 << 30}
	picks := func(u *urn.Urn) (prizes []string) {
		p := u.Plan([]*urn.Ask{asking("d", 64)}, noon())
		require.Equal(t, h.Version, p.From.Version)
		for _, a := range p.Awards {
			prizes = append(prizes, a.PrizeID)
		}
		p.Undo()
		return prizes
	}
	u := urn.NewUrn("p")
	require.True(t, u.Seen(read(h, stock...)))
	want := picks(u)
	require.Equal(t, want, picks(u))
	u.Invalidate()
	require.True(t, u.Seen(read(h, stock...)))
	require.Equal(t, want, picks(u), "the same history was read again")
	u.Invalidate()
	require.True(t, u.Seen(read(h.Next(0), stock...)))
	require.Equal(t, want, picks(u), "a later state of the same history")

	u.Invalidate()
	require.True(t, u.Seen(read(draw.NewHead().Next(2), stock...)))
	require.NotEqual(t, want, picks(u), "another history")
	other := urn.NewUrn("p")
	require.True(t, other.Seen(read(h, stock...)))
	require.NotEqual(t, want, picks(other), "another instance")
}

// noNumbers are seeds that must not be used.
type noNumbers struct{ urn.Seeds }

func (noNumbers) Of(int64) urn.Numbers { panic("the seeds of a history that was lost are used") }

// TestUrnForgetsSeeds: a commitment belongs to its history. If a history without a
// commitment replaces it, the numbers are secret.
func TestUrnForgetsSeeds(t *testing.T) {
	h := draw.NewHead().Next(9)
	committed := read(h, 5)
	committed.Committed = 9
	u := urn.NewUrn("p")
	require.True(t, u.Seen(committed))
	require.True(t, u.LacksSecrets())
	u.SetSecrets(urn.Secrets{Seeds: noNumbers{}, GivesReceipts: true})
	restored := draw.NewHead().Next(3)
	require.False(t, u.Seen(read(restored)))
	require.True(t, u.Seen(read(restored, 5)))
	require.False(t, u.LacksSecrets())
	var p *urn.Plan
	require.NotPanics(t, func() { p = u.Plan([]*urn.Ask{asking("d", 1)}, noon()) })
	require.Len(t, p.Awards, 1)
	made, err := p.Answer(0)
	require.NoError(t, err)
	require.False(t, made.Receipt, "it is committed to nothing")
}
