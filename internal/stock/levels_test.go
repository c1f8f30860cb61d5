package stock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

func TestLevels(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			none, err := s.Levels(t.Context())
			require.NoError(t, err)
			require.Empty(t, none)

			stocktest.Pool(t, s, "spring", 10, draw.StockMax)
			_, err = s.AddPrize(t.Context(), "spring", draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}, "test")
			require.NoError(t, err)
			_, err = s.AddPrize(t.Context(), "spring", draw.Prize{ID: "lost", Name: "Lost", Kind: draw.KindBlank, Stocked: 5}, "test")
			require.NoError(t, err)
			stocktest.Pool(t, s, "empty")
			stocktest.Pool(t, s, "paused", 5)
			paused := draw.StatePaused
			_, err = s.ChangePool(t.Context(), "paused", draw.PoolChange{State: &paused}, "test")
			require.NoError(t, err)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", 5, "a", 0, "d1", "d2", "d3")))

			levels, err := s.Levels(t.Context())
			require.NoError(t, err)
			require.Equal(t, []draw.Level{{PoolID: "empty"}, {PoolID: "spring", Stocked: draw.StockMax + 15, Issued: 3}}, levels, "the newest first; an endless blank counts for nothing")
			require.Equal(t, draw.StockMax+int64(12), levels[1].Remaining())
		})
	}
}

func TestLowPrizes(t *testing.T) {
	rules, err := rules.Parse([]byte(`{"low":[{"prize":"b","below":6},{"prize":"a","below":5}]}`))
	require.NoError(t, err)
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "spring", 5, 5)
			stocktest.Pool(t, s, "plain", 1)
			low := func(want ...draw.LowPrize) {
				t.Helper()
				watched, err := s.ReadWatched(t.Context())
				require.NoError(t, err)
				require.Equal(t, want, watched.Low)
			}
			low()
			set, err := s.SetRules(t.Context(), "spring", rules, nil, "test")
			require.NoError(t, err)
			b := draw.LowPrize{PoolID: "spring", PrizeID: "b", Remaining: 5, Below: 6}
			low(b)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", set.Version, "a", 0, "d1")))
			low(draw.LowPrize{PoolID: "spring", PrizeID: "a", Remaining: 4, Below: 5}, b)
			paused := draw.StatePaused
			_, err = s.ChangePool(t.Context(), "spring", draw.PoolChange{State: &paused}, "test")
			require.NoError(t, err)
			low()
		})
	}
}
