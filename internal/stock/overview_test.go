package stock_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestOverviews: sums exclude the stock of endless blanks, but include their awards. If
// there are many prizes, they are summed but not listed. Archived pools are left out.
func TestOverviews(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			none, err := s.Overviews(ctx, 10, 3)
			require.NoError(t, err)
			require.Empty(t, none)

			stocktest.Pool(t, s, "spring", 10, draw.StockMax)
			_, err = s.AddPrize(ctx, "spring", draw.Prize{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock}, "test")
			require.NoError(t, err)
			stocktest.Pool(t, s, "empty")
			stocktest.Pool(t, s, "many", 1, 2, 3, 4)
			stocktest.Pool(t, s, "old", 1)
			closed, archived := draw.StateClosed, true
			_, err = s.ChangePool(ctx, "old", draw.PoolChange{State: &closed, Archived: &archived}, "test")
			require.NoError(t, err)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", 4, "a", 0, "d1", "d2")))
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", 6, "none", 0, "d3")))

			all, err := s.Overviews(ctx, 10, 3)
			require.NoError(t, err)
			require.Len(t, all, 3)
			empty, many, spring := all[0], all[1], all[2]
			require.Equal(t, "empty", empty.ID)
			require.Equal(t, draw.Overview{Pool: empty.Pool}, empty)
			require.Equal(t, [4]int64{4, 10, 0, 10}, [4]int64{many.PrizeCount, many.Stocked, many.Issued, many.Remaining()})
			require.Empty(t, many.Prizes)
			require.Equal(t, [5]int64{3, draw.StockMax + 10, 2, 3, 7}, [5]int64{spring.PrizeCount, spring.Stocked, spring.Issued, spring.Awards, spring.Version})
			pool, err := s.Pool(ctx, "spring")
			require.NoError(t, err)
			require.Equal(t, pool, spring.Pool, "from one snapshot, as the pool itself")

			first, err := s.Overviews(ctx, 1, 3)
			require.NoError(t, err)
			require.Equal(t, all[:1], first)
		})
	}
}

// TestFindAwards: awards are found by user, prize and draw, in order, together with the
// version up to which they were searched.
func TestFindAwards(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			stocktest.Pool(t, s, "p", 10, 10)
			first, second := stocktest.Plan("p", 3, "a", 0, "d1", "d2"), stocktest.Plan("p", 5, "b", 0, "d3", "d4")
			for i := range first.Awards {
				first.Awards[i].UserID, second.Awards[i].UserID = "ann", []string{"ann", "Ann"}[i]
			}
			err := stocktest.Write(t, s, stock.TxOptions{}, first)
			require.NoError(t, err)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, second))
			for _, c := range []struct {
				about   string
				filter  draw.AwardFilter
				after   int64
				limit   int
				want    []string
				through int64
			}{
				{"a user, byte by byte", draw.AwardFilter{UserID: "ann"}, 0, 10, []string{"d1", "d2", "d3"}, 7},
				{"a page", draw.AwardFilter{UserID: "ann"}, 0, 2, []string{"d1", "d2"}, 5},
				{"the next one", draw.AwardFilter{UserID: "ann"}, 5, 2, []string{"d3"}, 7},
				{"a prize", draw.AwardFilter{PrizeID: "b"}, 0, 10, []string{"d3", "d4"}, 7},
				{"both", draw.AwardFilter{PrizeID: "b", UserID: "Ann"}, 0, 10, []string{"d4"}, 7},
				{"a draw", draw.AwardFilter{DrawID: "d2"}, 0, 10, []string{"d2"}, 7},
				{"a draw of another user", draw.AwardFilter{DrawID: "d2", UserID: "Ann"}, 0, 10, nil, 7},
				{"nobody", draw.AwardFilter{UserID: "bob"}, 0, 10, nil, 7},
				{"at the end", draw.AwardFilter{UserID: "ann"}, 7, 10, nil, math.MaxInt64},
				{"behind the end", draw.AwardFilter{DrawID: "d2"}, 1 << 62, 10, nil, math.MaxInt64},
			} {
				found, through, err := s.FindAwards(ctx, "p", c.filter, c.after, c.limit)
				require.NoError(t, err, c.about)
				var draws []string
				for _, a := range found {
					draws = append(draws, a.DrawID)
				}
				require.Equal(t, c.want, draws, c.about)
				require.Equal(t, c.through, through, c.about)
			}
			_, _, err = s.FindAwards(ctx, "q", draw.AwardFilter{UserID: "ann"}, 0, 10)
			require.Equal(t, draw.CodePoolNotFound, draw.CodeOf(err))

			acts, err := s.Acts(ctx, "p", 0, 10)
			require.NoError(t, err)
			require.Len(t, acts, 3, "the change that made the pool, and a move with each prize")
			acts, err = s.Acts(ctx, "p", 1, 1)
			require.NoError(t, err)
			require.NotNil(t, acts[0].Move)

			// In a long history, a search reads only a part.
			_, err = s.Engine().Write.ExecContext(ctx, `UPDATE pools SET version = 250000 WHERE id = 'p'`)
			require.NoError(t, err)
			for after, want := range map[int64]int64{0: 100_000, 100_000: 200_000, 200_000: 250_000} {
				_, through, err := s.FindAwards(ctx, "p", draw.AwardFilter{UserID: "ann"}, after, 10)
				require.NoError(t, err)
				require.Equal(t, want, through)
			}
			_, through, err := s.FindAwards(ctx, "p", draw.AwardFilter{DrawID: "d2"}, 0, 10)
			require.NoError(t, err)
			require.EqualValues(t, 250_000, through, "a draw is found at once")
		})
	}
}
