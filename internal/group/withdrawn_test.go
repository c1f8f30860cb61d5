package group

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
)

// withdrawEach makes the callers of a batch give up, and checks each answer.
func withdrawEach(t *testing.T, b *Batch, codes ...draw.Code) {
	t.Helper()
	for i, want := range codes {
		w := b.waiters[i]
		require.True(t, w.giveUp())
		close(w.done)
		_, err := w.wait(t.Context())
		code(t, want, err)
	}
}

// TestFoundByTheWriteIsNotWithdrawn: a write found a draw in the log, but failed. No
// answer then says that the draw did not happen.
func TestFoundByTheWriteIsNotWithdrawn(t *testing.T) {
	b := batchOf(urnOf(0), named("old"), named("new"))
	p := planOf(t, b, map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old"}}}})
	b.Undo(p)
	withdrawEach(t, b, draw.CodeOutcomeUnknown, draw.CodeContended)
}

// TestPlanSkipsTheWithdrawn: a draw that was given up while it waited takes no unit.
func TestPlanSkipsTheWithdrawn(t *testing.T) {
	b := batchOf(urnOf(2), named("a"), named("b"), named("c"))
	b.waiters[0].state.Store(withdrawn)
	p := planOf(t, b, nil)
	require.Len(t, p.Awards, 2)
	require.False(t, b.waiters[1].state.CompareAndSwap(waiting, withdrawn), "planned draws cannot be withdrawn")
	b.Undo(p)
	require.True(t, b.waiters[1].state.CompareAndSwap(waiting, withdrawn), "those of a plan that wrote nothing can")
	p = planOf(t, b, nil)
	require.Equal(t, "c", p.Awards[0].DrawID)
	b.InDoubt(p)
	require.False(t, b.waiters[2].state.CompareAndSwap(waiting, withdrawn), "those that may be written cannot")
	b.Settle(planOf(t, b, nil))
	require.Equal(t, int64(1), b.Urn.Remaining())
}

// TestFoundIsNotWithdrawn: a lookup found a draw in the log. No answer then says that the
// draw was withdrawn or that nothing happened, whatever the result of its attempt is.
func TestFoundIsNotWithdrawn(t *testing.T) {
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":9}]}`))
	require.NoError(t, err)
	u := urn.NewUrn("p")
	u.Seen(urn.Snapshot{State: draw.StateOpen, Head: draw.NewHead().Next(10), Prizes: poolOf("p", 9).Prizes, Rules: rules})
	b := batchOf(u, named("old"), named("new"))
	b.KnownKey()
	_, err = b.Plan(t.Context(), time.Now(), noTurns{func([]string) (map[string]draw.Draw, error) {
		return map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old", Version: 3}}}}, nil
	}}, false)
	require.ErrorContains(t, err, "no turns")
	withdrawEach(t, b, draw.CodeOutcomeUnknown, draw.CodeContended)
}

// TestFoundWhileGivingUp: a caller gives up after the log's answer was recorded, but
// before its draw counts as planned. Its draw is in doubt.
func TestFoundWhileGivingUp(t *testing.T) {
	b := batchOf(urnOf(9), named("old"))
	b.waiters[0].Learn(map[string]draw.Draw{"old": {ID: "old", UserID: "u", Awards: []draw.Award{{DrawID: "old"}}}})
	withdrawEach(t, b, draw.CodeOutcomeUnknown)
}

// TestAbsentKeyIsNotInDoubt: if a lookup did not find a draw and a later lookup gets no
// answer, the draw is contended and not in doubt. If a write then meets a known key in
// its batch, the draw is in doubt.
func TestAbsentKeyIsNotInDoubt(t *testing.T) {
	lookup := func(err error) func(*Batch) {
		return func(b *Batch) {
			_, failed := b.PlanReplays(context.Background(), errors.New("given up"),
				lookUp(func([]string) (map[string]draw.Draw, error) { return nil, err }))
			require.Equal(t, err, failed)
		}
	}
	absent, silent, known := lookup(nil), lookup(errors.New("no answer")), (*Batch).KnownKey
	for _, c := range []struct {
		met  []func(*Batch)
		want draw.Code
	}{
		{nil, draw.CodeContended},
		{[]func(*Batch){silent}, draw.CodeOutcomeUnknown},
		{[]func(*Batch){silent, absent}, draw.CodeContended},
		{[]func(*Batch){absent, silent, silent}, draw.CodeContended},
		{[]func(*Batch){absent, known}, draw.CodeOutcomeUnknown},
		{[]func(*Batch){absent, known, silent}, draw.CodeOutcomeUnknown},
		{[]func(*Batch){absent, known, absent, silent}, draw.CodeContended},
	} {
		b := batchOf(urnOf(9), named("a"))
		for _, met := range c.met {
			met(b)
		}
		withdrawEach(t, b, c.want)
	}
}
