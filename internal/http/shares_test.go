package http

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// judgeShares says what is wrong with a bound: while each rank takes all that it
// gets, every rank above it must find a place.
func judgeShares(s *shares) error {
	for of := rankDraw; of < rankAdmin; of++ {
		if s.limits[of] == 0 { // no call of this rank needs it
			continue
		}
		var all []func()
		for {
			done, ok := s.try(of, 1)
			if !ok {
				break
			}
			all = append(all, done)
		}
		if len(all) == 0 {
			return errors.New("a rank got nothing")
		}
		for above := of + 1; above < ranks; above++ {
			done, ok := s.try(above, 1)
			if !ok {
				return errors.New("a lower rank has used up what a higher one needs")
			}
			done()
		}
		for _, done := range all {
			done()
		}
	}
	if done, ok := s.try(rankAdmin, s.limits[rankAdmin]); ok {
		done()
		return nil
	}
	return errors.New("what was given back is not free")
}

// TestSharesOfLowerRanksEnd: no rank uses up what a higher one needs. The double has
// one bound for all.
func TestSharesOfLowerRanksEnd(t *testing.T) {
	t.Parallel()
	require.NoError(t, judgeShares(newShares([ranks]int64{2, 3, 4, 5})))
	require.ErrorContains(t, judgeShares(newShares([ranks]int64{5, 5, 5, 5})), "used up")
	b := newBounds(4, readsUsual)
	for _, bound := range []*shares{b.reads, b.changes, b.streams, b.listeners, b.simulations, b.imports, newBounds(1, readsUsual).listeners} {
		require.NoError(t, judgeShares(bound), "%v", bound.limits)
	}
}

// TestSharesAreWaitedFor: in order, and a wait that is given up leaves nothing.
func TestSharesAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShares([ranks]int64{1, 2, 3, 4})
		first, err := s.wait(t.Context(), rankDraw)
		require.NoError(t, err)
		canceled, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = s.wait(canceled, rankDraw)
		require.ErrorIs(t, err, context.Canceled)
		second := make(chan func())
		go func() {
			done, _ := s.wait(t.Context(), rankDraw)
			second <- done
		}()
		synctest.Wait()
		_, ok := s.try(rankDraw, 1)
		require.False(t, ok, "somebody waits for the place")
		first()
		(<-second)()
		require.NoError(t, judgeShares(s))
	})
}
