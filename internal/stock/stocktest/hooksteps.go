package stocktest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/hook"
	"drawsvc/internal/stock"
)

// JudgeSteps reports what is wrong with the events of two claimed awards: which events
// are missing, and which steps come before their awards.
func JudgeSteps(t *testing.T, s *stock.Store, feed hook.Feed) (faults []string) {
	t.Helper()
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	claimedPool(t, s, "p", `{"claims":{}}`, 2)
	createHook(t, s, r.URL, true, hook.TypeWon, hook.TypeClaimed)
	for i, user := range []string{"u1", "u2"} {
		_, err := s.Claim(t.Context(), "p", []string{"d1", "d2"}[i], user, 0, "test")
		require.NoError(t, err)
	}
	defer StartRelay(t, s, feed)()
	for range 300 {
		if len(firsts(r, "p")) == 4 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	won := map[int64]bool{}
	events := firsts(r, "p")
	for _, e := range events {
		if e.Type == string(hook.TypeWon) {
			won[e.Award] = true
		} else if !won[e.Award] {
			faults = append(faults, "a step came before its award")
		}
	}
	if len(events) != 4 {
		faults = append(faults, "not all events arrived")
	}
	return faults
}

// testHooksSteps: the events of steps arrive in order, after their awards, also if a hook
// requests only some types of events. A hook that starts "from now" begins at the heads
// of both logs.
func testHooksSteps(t *testing.T, s *stock.Store) {
	require.Empty(t, JudgeSteps(t, s, s))
	awards := claimedPool(t, s, "q", `{"claims":{"within":"1h","prizes":["gold"]}}`, 2)
	all, claims, none, now := NewReceiver(t), NewReceiver(t), NewReceiver(t), NewReceiver(t)
	createHook(t, s, all.URL, true)
	createHook(t, s, claims.URL, true, hook.TypeClaimed)
	_, err := s.CreateHook(t.Context(), hook.Create{URL: none.URL, Filter: hook.Filter{Pools: []string{"q"}, Prizes: []string{"other"}}, FromStart: true})
	require.NoError(t, err)
	_, err = s.Claim(t.Context(), "q", "d1", "u1", 0, "shop")
	require.NoError(t, err)
	late := createHook(t, s, now.URL, false)
	seen, _, err := s.ReadHook(t.Context(), late.ID)
	require.NoError(t, err)
	require.Zero(t, seen.Lag.Events, "it begins at the last step")
	fulfil := wantStep(awards[0].Version, draw.StepFulfilled)
	fulfil.Reference = "DHL 1"
	void := wantStep(awards[1].Version, draw.StepVoided)
	void.Return = true
	for _, step := range []draw.WantedStep{fulfil, wantStep(awards[0].Version, draw.StepReopened), void} {
		_, _, err := s.Step(t.Context(), "q", step, "depot")
		require.NoError(t, err)
	}
	seen, _, err = s.ReadHook(t.Context(), late.ID)
	require.NoError(t, err)
	require.Equal(t, int64(4), seen.Lag.Events, "three steps and a move")
	require.False(t, seen.Lag.Oldest.IsZero())

	defer StartRelay(t, s, s)()
	want := []string{"award.claimed", "award.fulfilled", "award.reopened", "award.voided"}
	require.Eventually(t, func() bool { return len(stepsOf(firsts(all, "q"))) == 4 && len(firsts(now, "q")) == 3 }, received, 10*time.Millisecond)
	require.Eventually(t, func() bool { return len(firsts(claims, "q")) == 1 && len(firsts(none, "q")) > 0 }, received, 10*time.Millisecond)
	events := stepsOf(firsts(all, "q"))
	require.Equal(t, want, typesOf(events))
	require.Equal(t, want[1:], typesOf(firsts(now, "q")))
	for i, e := range events {
		require.Equal(t, []any{int64(i) + 1, int64(0), "gold"}, []any{e.Step, e.Version, e.Prize})
	}
	require.Equal(t, []any{awards[0].Version, "d1", "u1", "DHL 1"}, []any{events[1].Award, events[1].Draw, events[1].User, events[1].Reference})
	require.Positive(t, events[3].Returned)
	require.Empty(t, stepsOf(firsts(none, "q")))
	for _, e := range firsts(all, "q") {
		if e.Type == string(hook.TypeWon) {
			require.NotNil(t, e.ClaimUntil)
		}
	}
	replayed(t, s, late.ID, now)
	NoViolations(t, s, "q")
}

// replayed sends the last two steps of pool q again.
func replayed(t *testing.T, s *stock.Store, id string, r *Receiver) {
	t.Helper()
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), id)
		return err == nil && seen.Lag.Events == 0
	}, received, 10*time.Millisecond)
	head, err := s.Pool(t.Context(), "q")
	require.NoError(t, err)
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(s.ReplayHook(t.Context(), id, "q", hook.Place{Version: head.Version, Step: 5})))
	first := firsts(r, "q")
	r.Clear()
	require.NoError(t, s.ReplayHook(t.Context(), id, "q", hook.Place{Version: head.Version, Step: 2}))
	require.Eventually(t, func() bool { return len(firsts(r, "q")) == 2 }, received, 10*time.Millisecond)
	require.Equal(t, first[1:], firsts(r, "q"))
}

// stepsOf returns those events that are steps.
func stepsOf(events []Received) (steps []Received) {
	for _, e := range events {
		if e.Step > 0 {
			steps = append(steps, e)
		}
	}
	return steps
}

// testHooksStepsFork: a relay does not continue if the steps before its cursor have
// changed.
func testHooksStepsFork(t *testing.T, s *stock.Store) {
	UseSealKeys(t, s, "k1")
	r := NewReceiver(t)
	claimedPool(t, s, "p", `{"claims":{}}`, 2)
	made := createHook(t, s, r.URL, true, hook.TypeClaimed)
	before := Keep(t, s, "p")
	_, err := s.Claim(t.Context(), "p", "d1", "u1", 0, "test")
	require.NoError(t, err)
	defer StartRelay(t, s, s)()
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.Lag.Events == 0
	}, received, 10*time.Millisecond)
	NoViolations(t, s, "p")

	before.PutBack(t, s)
	found, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, "hook-ahead", found.Violations[0].Rule)
	for i, user := range []string{"u2", "u1"} {
		_, err = s.Claim(t.Context(), "p", []string{"d2", "d1"}[i], user, 0, "test")
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		seen, _, err := s.ReadHook(t.Context(), made.ID)
		return err == nil && seen.State == hook.StateForked && strings.Contains(seen.Status.Why, "step 1")
	}, received, 10*time.Millisecond)
	require.Len(t, firsts(r, "p"), 1)
	require.NoError(t, s.ReplayHook(t.Context(), made.ID, "p", hook.Place{}))
	require.Eventually(t, func() bool { return len(firsts(r, "p")) == 3 }, received, 10*time.Millisecond)
}
