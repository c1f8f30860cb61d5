package stock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestDisplaysOfPrizes: display texts can change after the first award and after the
// close, create no version, and are deleted with the pool.
func TestDisplaysOfPrizes(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s, ctx := stocktest.New(t, dialect), t.Context()
			stocktest.Pool(t, s, "spring", 10)
			stocktest.Pool(t, s, "unshown", 10)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{Lock: true}, stocktest.Plan("spring", 2, "a", 0, "d1")))
			_, err := s.ChangePrize(ctx, "spring", "a", draw.PrizeChange{Name: new("Other")}, "anna")
			require.Equal(t, draw.CodeAlreadyIssued, draw.CodeOf(err))
			before, err := s.Pool(ctx, "spring")
			require.NoError(t, err)

			show := func(c draw.DisplayChange) *draw.Display {
				t.Helper()
				p, err := s.ChangePrize(ctx, "spring", "a", draw.PrizeChange{Display: &c}, "anna")
				require.NoError(t, err)
				require.Equal(t, before.Prizes[0].Name, p.Name, "the name of the log stays")
				now, err := s.Pool(ctx, "spring")
				require.NoError(t, err)
				require.Equal(t, p.Display, now.Prizes[0].Display)
				require.Equal(t, [2]int64{before.Version, before.Revision}, [2]int64{now.Version, now.Revision}, "it makes no version")
				return now.Prizes[0].Display
			}
			all := draw.Display{Name: "Für 👨\u200d👩", Text: "Größe", Picture: "https://shop.example/p", Link: "https://shop.example/l"}
			require.Equal(t, &all, show(draw.DisplayChange{Name: &all.Name, Text: &all.Text, Picture: &all.Picture, Link: &all.Link}))
			require.Equal(t, &all, show(draw.DisplayChange{Name: &all.Name}), "the same again")
			require.Equal(t, &draw.Display{Name: "Coin", Text: all.Text, Link: all.Link}, show(draw.DisplayChange{Name: new("Coin"), Picture: new("")}))

			_, err = s.ChangePrize(ctx, "spring", "a", draw.PrizeChange{Name: new("Other"), Display: &draw.DisplayChange{Name: new("Lost")}}, "anna")
			require.Equal(t, draw.CodeAlreadyIssued, draw.CodeOf(err))
			_, err = s.ChangePrize(ctx, "spring", "zz", draw.PrizeChange{Display: &draw.DisplayChange{Name: new("Lost")}}, "anna")
			require.Equal(t, draw.CodePrizeNotFound, draw.CodeOf(err))
			changed, err := s.ChangePool(ctx, "spring", draw.PoolChange{State: new(draw.StateClosed)}, "anna")
			require.NoError(t, err)
			require.Equal(t, "Coin", changed.Prizes[0].Display.Name, "a change is whole or none")
			before = changed
			require.Equal(t, "Dukat", show(draw.DisplayChange{Name: new("Dukat")}).Name)
			require.Nil(t, show(draw.DisplayChange{Name: new(""), Text: new(""), Link: new("")}))
			other, err := s.Pool(ctx, "unshown")
			require.NoError(t, err)
			require.Nil(t, other.Prizes[0].Display)

			_, err = s.ChangePool(ctx, "unshown", draw.PoolChange{Text: new("Jeden Tag"), Fair: new(true)}, "anna")
			require.NoError(t, err)
			fair, err := s.ChangePool(ctx, "unshown", draw.PoolChange{Currency: new("EUR")}, "anna")
			require.NoError(t, err)
			require.Equal(t, []any{"EUR", "Jeden Tag", true}, []any{fair.Currency, fair.Text, fair.IsFair}, "each by itself")
			_, err = s.ChangePrize(ctx, "unshown", "a", draw.PrizeChange{Display: &draw.DisplayChange{Name: new("Coin")}}, "anna")
			require.NoError(t, err)
			require.NoError(t, s.DeletePool(ctx, "unshown", nil, "anna"))
			stocktest.Pool(t, s, "unshown", 10)
			again, err := s.Pool(ctx, "unshown")
			require.NoError(t, err)
			require.Equal(t, []any{"", "", false, (*draw.Display)(nil)}, []any{again.Currency, again.Text, again.IsFair, again.Prizes[0].Display})
		})
	}
}
