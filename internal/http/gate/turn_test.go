package gate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errWanted = errors.New("a higher rank wants the place")

// taker is a place that calls take. The Turn and its broken doubles implement it.
type taker interface {
	Take(ctx context.Context, of Rank, outranked error) (held context.Context, done func(), ok bool)
}

// judgeTurn returns the faults of a place: while it is held, callers of the same and of
// lower ranks must be refused. A caller of a higher rank must get the place at once
// after its holder has left, and not earlier. It runs in a bubble of synctest.
func judgeTurn(ctx context.Context, place taker) error {
	held, done, ok := place.Take(ctx, RankStock, errWanted)
	if !ok {
		return errors.New("a free place was refused")
	}
	for _, of := range []Rank{RankAuditor, RankStock} {
		if _, _, ok := place.Take(ctx, of, errWanted); ok {
			return errors.New("two hold it")
		}
	}
	var isAlone atomic.Bool
	var work sync.WaitGroup
	defer work.Wait()
	work.Go(func() { // the holder leaves some time after its work was ended
		select {
		case <-held.Done():
			time.Sleep(time.Second)
		case <-time.After(time.Hour):
		}
		isAlone.Store(true)
		done()
	})
	begun := time.Now()
	_, leave, ok := place.Take(ctx, RankAdmin, errWanted)
	switch {
	case !ok:
		return errors.New("a lower rank keeps it from a higher one")
	case !isAlone.Load():
		return errors.New("two hold it")
	case time.Since(begun) > time.Minute:
		return errors.New("the lower rank was not ended")
	case !errors.Is(context.Cause(held), errWanted):
		return errors.New("the holder does not know why it has to end")
	}
	leave()
	work.Wait()
	if _, leave, ok = place.Take(ctx, RankAuditor, errWanted); !ok {
		return errors.New("what was given back is not free")
	}
	leave()
	return nil
}

// shared is a broken double: a place among Shares, as other calls use it.
type shared struct{ *Shares }

func (s shared) Take(ctx context.Context, of Rank, _ error) (held context.Context, done func(), ok bool) {
	done, ok = s.Try(of, 1)
	return ctx, done, ok
}

// impatient is a broken double: a higher rank does not wait until the holder has left.
type impatient struct{ Turn }

func (i *impatient) Take(ctx context.Context, of Rank, outranked error) (held context.Context, done func(), ok bool) {
	i.mu.Lock()
	if h := i.holder; h != nil && h.rank < of {
		h.end(outranked)
		i.holder = nil
	}
	i.mu.Unlock()
	return i.Turn.Take(ctx, of, outranked)
}

// TestTurnIsHeldByOneCall: one call at a time holds the place, and a lower rank does
// not block a higher one. The broken doubles are shares with one place, shares with one
// place for each rank, and a place that is given to a higher rank before its holder has
// left.
func TestTurnIsHeldByOneCall(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		place taker
		wrong string
	}{
		"the turn": {&Turn{}, ""}, "one share": {shared{NewShares([Ranks]int64{0, 1, 1, 1})}, "keeps it"},
		"shares": {shared{NewShares([Ranks]int64{0, 1, 2, 3})}, "two hold it"}, "impatient": {&impatient{}, "two hold it"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if err := judgeTurn(t.Context(), of.place); of.wrong == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, of.wrong, name)
			}
		})
	}
}

// TestTurnIsNotWaitedForInVain: a call of a higher rank stops waiting if its caller
// disconnects, and then keeps no place.
func TestTurnIsNotWaitedForInVain(t *testing.T) {
	t.Parallel()
	var place Turn
	_, done, ok := place.Take(t.Context(), RankAuditor, errWanted)
	require.True(t, ok)
	left, leave := context.WithCancel(t.Context())
	leave()
	_, _, ok = place.Take(left, RankAdmin, errWanted)
	require.False(t, ok)
	done()
	_, done, ok = place.Take(t.Context(), RankAuditor, errWanted)
	require.True(t, ok)
	done()
}
