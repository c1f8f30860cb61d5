package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// soon is how far ahead tests plan what is to become due: what comes before it
// in the test may take long on a busy machine, and then finds it due.
const soon = 5 * time.Second

// StateAt is an item that sets a pool's state.
func StateAt(at time.Time, state draw.State) draw.Item {
	return draw.Item{At: at, Kind: draw.ItemState, State: state}
}

// StockAt is an item that moves stock of a prize.
func StockAt(at time.Time, prizeID string, delta int64) draw.Item {
	return draw.Item{At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: prizeID, Delta: delta, Reason: "planned"}}
}

// PlanAll plans items one after another, and returns their numbers.
func PlanAll(tb testing.TB, s *stock.Store, poolID string, items ...draw.Item) []int64 {
	tb.Helper()
	numbers := make([]int64, len(items))
	for i, item := range items {
		planned, err := s.PlanItem(tb.Context(), poolID, item, "anna")
		require.NoError(tb, err)
		numbers[i] = planned.Number
	}
	return numbers
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

// clockOf asks the database for its time.
func clockOf(tb testing.TB, s *stock.Store) (now time.Time) {
	tb.Helper()
	if s.Engine().Clock == "" {
		return time.Now()
	}
	require.NoError(tb, s.LockDB().QueryRowContext(tb.Context(), `SELECT `+s.Engine().Clock).Scan(&now))
	return now
}

// itemsOf lists all items of a pool by their numbers.
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
