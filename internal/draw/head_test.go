package draw

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHeadFollows: a later state follows from a former one of its history as
// far as the trail reaches, and from no state of another history.
func TestHeadFollows(t *testing.T) {
	states := []Head{NewHead()}
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

func read(h Head, stock ...int64) Snapshot {
	s := Snapshot{State: StateOpen, Head: h}
	for i, n := range stock {
		s.Prizes = append(s.Prizes, Prize{ID: string(rune('a' + i)), Stocked: n})
	}
	return s
}

// TestUrnSeen: an urn takes what follows from its copy, and drops the copy
// when the pool is of another history.
func TestUrnSeen(t *testing.T) {
	first := NewHead().Next(2)
	u := NewUrn("p")
	require.False(t, u.WasRead())
	for i := range hitsMin + 1 {
		require.False(t, u.IsCached(), "read %d", i)
		require.True(t, u.Seen(read(first, 5, 5)))
	}
	require.True(t, u.IsCached())

	second := first.Next(1)
	require.True(t, u.Seen(Snapshot{State: StatePaused, Mode: "optimistic", Head: second, Prizes: []Prize{{ID: "b", Stocked: 5, Issued: 1}}}))
	require.False(t, u.IsCached(), "somebody else writes")
	require.Equal(t, []any{int64(9), StatePaused, "optimistic", second}, []any{u.Remaining(), u.State, u.Mode, u.Head})

	for name, other := range map[string]Head{
		"restored": first, "restored and drawn from": first.Next(1), "restored and drawn from more": first.Next(7),
	} {
		copied := NewUrn("p")
		require.True(t, copied.Seen(read(second, 5, 5)))
		require.False(t, copied.Seen(Snapshot{State: StateOpen, Head: other}), name)
		require.Zero(t, copied.Version, "dropped")
		require.True(t, copied.WasRead())
		require.True(t, copied.Seen(read(other, 3)), "read anew, whole")
		require.Equal(t, int64(3), copied.Remaining())
	}
}

// TestUrnPicksAgainAlike: from one state the same versions take the same
// units, however often the plan fails and whether the copy is kept or dropped;
// another history has another deck.
func TestUrnPicksAgainAlike(t *testing.T) {
	h := NewHead().Next(2)
	stock := []int64{1 << 30, 1 << 30}
	picks := func(u *Urn) (places []int) {
		for v := range int64(64) {
			places = append(places, u.take(h.Version+1+v))
		}
		for _, place := range places {
			u.putBack(place)
		}
		return places
	}
	u := NewUrn("p")
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
	require.True(t, u.Seen(read(NewHead().Next(2), stock...)))
	require.NotEqual(t, want, picks(u), "another history")
	other := NewUrn("p")
	require.True(t, other.Seen(read(h, stock...)))
	require.NotEqual(t, want, picks(other), "another instance")
}

// noNumbers are seeds that nobody may ask.
type noNumbers struct{ Seeds }

func (noNumbers) Of(int64) Numbers { panic("the seeds of a history that was lost are used") }

// TestUrnForgetsSeeds: what a pool was committed to is of its history. Where
// another history took its place, which was not committed, its numbers are secret.
func TestUrnForgetsSeeds(t *testing.T) {
	h := NewHead().Next(9)
	committed := read(h, 5)
	committed.Committed = 9
	u := NewUrn("p")
	require.True(t, u.Seen(committed))
	require.True(t, u.LacksSeeds())
	u.SetSeeds(noNumbers{})
	u.GiveReceipts()
	restored := NewHead().Next(3)
	require.False(t, u.Seen(read(restored)))
	require.True(t, u.Seen(read(restored, 5)))
	require.False(t, u.LacksSeeds())
	require.NotPanics(t, func() { u.take(restored.Version + 1) })
	p := u.PlanWith([]*Ask{{Request: Request{PoolID: "p", UserID: "u", DrawID: "d", Count: 1}}}, nil, time.Time{})
	made, err := p.Answer(0)
	require.NoError(t, err)
	require.False(t, made.Receipt, "it is committed to nothing")
}
