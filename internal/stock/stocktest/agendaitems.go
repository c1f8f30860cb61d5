package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

const (
	// soon is how far ahead items are planned at first. On a busy machine the steps of a
	// test may take longer, so that an item is due too early.
	soon = 5 * time.Second
	// soonMax is how far ahead items are planned at most.
	soonMax = time.Minute
)

// StateAt returns an item that sets a pool's state.
func StateAt(at time.Time, state draw.State) draw.Item {
	return draw.Item{At: at, Kind: draw.ItemState, State: state}
}

// StockAt returns an item that moves stock of a prize.
func StockAt(at time.Time, prizeID string, delta int64) draw.Item {
	return draw.Item{At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: prizeID, Delta: delta, Reason: "planned"}}
}

// MomentAt returns a moment of a prize.
func MomentAt(at time.Time, prizeID string) draw.Item {
	return draw.Item{At: at, Kind: draw.ItemMoment, Stock: draw.MomentOf(prizeID)}
}

// PlanAll plans items one by one, and returns their numbers.
func PlanAll(tb testing.TB, s *stock.Store, poolID string, items ...draw.Item) []int64 {
	tb.Helper()
	numbers := make([]int64, len(items))
	for i, item := range items {
		planned, err := s.PlanItem(tb.Context(), poolID, item, "", "anna")
		require.NoError(tb, err)
		numbers[i] = planned.Number
	}
	return numbers
}

// InTime calls the function prepare, which plans items that become due at a given time.
// InTime returns that time. If a busy machine plans them too late, InTime reverts them by
// SQL, and plans them again for a later time.
func InTime(t *testing.T, s *stock.Store, poolID string, prepare func(at time.Time) error) time.Time {
	t.Helper()
	return inTime(t, s, poolID, soon, prepare)
}

func inTime(t *testing.T, s *stock.Store, poolID string, lead time.Duration, prepare func(at time.Time) error) time.Time {
	t.Helper()
	kept := Keep(t, s, poolID)
	for ; ; lead *= 2 {
		at := s.Now().Add(lead)
		err := prepare(at)
		if clockOf(t, s).Before(at) || lead > soonMax {
			require.NoError(t, err)
			return at
		}
		kept.PutBack(t, s)
	}
}

// planSoon is InTime for items that are planned one by one.
func planSoon(t *testing.T, s *stock.Store, poolID string, items func(at time.Time) []draw.Item) time.Time {
	t.Helper()
	return PlanInTime(t, s, poolID, soon, items)
}

// PlanInTime is InTime for items that are planned one by one, at first a given time
// ahead.
func PlanInTime(t *testing.T, s *stock.Store, poolID string, lead time.Duration, items func(at time.Time) []draw.Item) time.Time {
	t.Helper()
	return inTime(t, s, poolID, lead, func(at time.Time) error { return plan(t, s, poolID, items(at)) })
}

func plan(tb testing.TB, s *stock.Store, poolID string, items []draw.Item) error {
	tb.Helper()
	for _, item := range items {
		var err error
		if item.Kind == draw.ItemMoment {
			_, err = s.PlanMoment(tb.Context(), poolID, item, "", "anna")
		} else {
			_, err = s.PlanItem(tb.Context(), poolID, item, "", "anna")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Await waits until the database's clock has passed a time.
func Await(tb testing.TB, s *stock.Store, at time.Time) {
	tb.Helper()
	for {
		left := at.Sub(clockOf(tb, s))
		if left < 0 {
			return
		}
		select {
		case <-tb.Context().Done():
			tb.Fatal("the test ends before the agenda")
		case <-time.After(left):
		}
	}
}

// clockOf reads the database's time.
func clockOf(tb testing.TB, s *stock.Store) (now time.Time) {
	tb.Helper()
	if s.Engine().Clock == "" {
		return time.Now()
	}
	require.NoError(tb, s.LockDB().QueryRowContext(tb.Context(), `SELECT `+s.Engine().Clock).Scan(&now))
	return now
}

// itemsOf returns all items of a pool by their numbers.
func itemsOf(t *testing.T, s *stock.Store, poolID string) map[int64]draw.Item {
	t.Helper()
	all, err := s.Agenda(t.Context(), poolID, 0, 10_000, false)
	require.NoError(t, err)
	found := map[int64]draw.Item{}
	for _, i := range all {
		found[i.Number] = i
	}
	return found
}
