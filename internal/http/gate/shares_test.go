package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// judgeShares returns the faults of a bound. While each rank holds all places that it can
// get, every higher rank must find a place.
func judgeShares(s *Shares) error {
	for of := RankDraw; of < RankAdmin; of++ {
		if s.Limit(of) == 0 { // no call of this rank needs it
			continue
		}
		var all []func()
		for {
			done, ok := s.Try(of, 1)
			if !ok {
				break
			}
			all = append(all, done)
		}
		if len(all) == 0 {
			return errors.New("a rank got nothing")
		}
		for above := of + 1; above < Ranks; above++ {
			done, ok := s.Try(above, 1)
			if !ok {
				return errors.New("a lower rank has used up what a higher one needs")
			}
			done()
		}
		for _, done := range all {
			done()
		}
	}
	if done, ok := s.Try(RankAdmin, s.Limit(RankAdmin)); ok {
		done()
		return nil
	}
	return errors.New("what was given back is not free")
}

// TestSharesOfLowerRanksEnd: no rank uses up the places of a higher rank. The broken
// double has one limit for all ranks.
func TestSharesOfLowerRanksEnd(t *testing.T) {
	t.Parallel()
	require.NoError(t, judgeShares(NewShares([Ranks]int64{2, 3, 4, 5})))
	require.ErrorContains(t, judgeShares(NewShares([Ranks]int64{5, 5, 5, 5})), "used up")
	b := NewBounds(4)
	for _, bound := range []*Shares{b.Reads, b.Changes, b.Claims, b.Streams, b.Listeners, b.Imports, b.PublicLogs, b.Proofs, NewBounds(1).Listeners} {
		require.NoError(t, judgeShares(bound), "%v", bound.limits)
	}
}

// TestSharesAreWaitedFor: waiting callers are served in order, and a caller that stops
// waiting keeps no place.
func TestSharesAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewShares([Ranks]int64{1, 2, 3, 4})
		first, err := s.Wait(t.Context(), RankDraw)
		require.NoError(t, err)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.Wait(canceled, RankDraw)
		require.ErrorIs(t, err, context.Canceled)
		second := make(chan func())
		go func() {
			done, _ := s.Wait(t.Context(), RankDraw)
			second <- done
		}()
		synctest.Wait()
		_, ok := s.Try(RankDraw, 1)
		require.False(t, ok, "somebody waits for the place")
		first()
		(<-second)()
		require.NoError(t, judgeShares(s))
	})
}
