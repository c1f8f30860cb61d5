package draw_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestNextIsTheTable checks, for all states, steps and facts, which state a step leads
// to. No step follows a final state, and a blank has no steps.
func TestNextIsTheTable(t *testing.T) {
	t.Parallel()
	for bits := range 1 << 8 {
		is := func(bit int) bool { return bits&(1<<bit) != 0 }
		f := draw.LifeFacts{
			IsBlank: is(0), NeedsClaim: is(1), IsPast: is(2), HasCode: is(3), WasShown: is(4), HasReserve: is(5), Returns: is(6), IsClosed: is(7),
		}
		for _, state := range draw.AwardStates() {
			for _, step := range draw.StepKinds() {
				next, refusal := draw.Next(state, step, f)
				now := draw.StateNow(state, f)
				if refusal != "" {
					require.Equal(t, state, next, "a refused step changes nothing")
					continue
				}
				require.False(t, f.IsBlank, "a blank has no life")
				require.False(t, state.HasEnded(), "an end is final")
				if now.HasEnded() {
					require.Equal(t, draw.StepExpired, step, "only the job ends what is due")
				}
				want := map[draw.StepKind]draw.AwardState{
					draw.StepClaimed: draw.AwardClaimed, draw.StepFulfilled: draw.AwardFulfilled, draw.StepReopened: draw.AwardClaimed,
					draw.StepVoided: draw.AwardVoided, draw.StepExpired: draw.AwardExpired, draw.StepReplaced: state, draw.StepShown: state,
				}[step]
				require.Equal(t, want, next)
				if step == draw.StepVoided && f.Returns {
					require.False(t, f.IsClosed || f.HasCode && f.WasShown)
				}
				if step.IsOfCode() {
					require.True(t, f.HasCode && (state != draw.AwardWon || !f.NeedsClaim))
				}
			}
		}
	}
}

// TestRefusalsOfSteps: each refusal of the table has its own code.
func TestRefusalsOfSteps(t *testing.T) {
	t.Parallel()
	due := draw.LifeFacts{NeedsClaim: true, IsPast: true}
	for _, c := range []struct {
		state draw.AwardState
		step  draw.StepKind
		facts draw.LifeFacts
		code  draw.Code
	}{
		{draw.AwardWon, draw.StepClaimed, due, draw.CodeClaimExpired},
		{draw.AwardExpired, draw.StepFulfilled, due, draw.CodeClaimExpired},
		{draw.AwardWon, draw.StepClaimed, draw.LifeFacts{}, draw.CodeNothingToClaim},
		{draw.AwardWon, draw.StepVoided, draw.LifeFacts{IsBlank: true}, draw.CodeNothingToClaim},
		{draw.AwardVoided, draw.StepClaimed, draw.LifeFacts{NeedsClaim: true}, draw.CodeAwardEnded},
		{draw.AwardWon, draw.StepVoided, due, draw.CodeAwardEnded},
		{draw.AwardClaimed, draw.StepReopened, draw.LifeFacts{}, draw.CodeAwardNotFulfilled},
		{draw.AwardClaimed, draw.StepVoided, draw.LifeFacts{Returns: true, HasCode: true, WasShown: true}, draw.CodeCodeShown},
		{draw.AwardClaimed, draw.StepVoided, draw.LifeFacts{Returns: true, IsClosed: true}, draw.CodePoolClosed},
		{draw.AwardClaimed, draw.StepVoided, draw.LifeFacts{Returns: true, IsGuarded: true}, draw.CodePoolOpen},
		{draw.AwardWon, draw.StepShown, draw.LifeFacts{NeedsClaim: true, HasCode: true}, draw.CodeCodeNotOpen},
		{draw.AwardClaimed, draw.StepReplaced, draw.LifeFacts{HasCode: true}, draw.CodeCodesMissing},
	} {
		_, refusal := draw.Next(c.state, c.step, c.facts)
		require.Equal(t, c.code, refusal, "%s to %s", c.state, c.step)
	}
}
