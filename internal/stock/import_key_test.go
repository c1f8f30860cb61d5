package stock_test

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestImportOnce: an import with a key happens once. Its replay returns the first result,
// even if others have moved stock since.
func TestImportOnce(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "spring", 10)
			stocktest.Pool(t, s, "summer")
			const file = "prize,name,value,stock\na,,,5\nb,B,1,2\n"
			in := func(pool, key, text string) (draw.Imported, error) {
				return s.Import(t.Context(), draw.Import{PoolID: pool, Reason: "delivery", Actor: "test", Key: key}, strings.NewReader(text), nil)
			}
			longest := strings.Repeat("k", draw.KeyMax)
			first, err := in("spring", longest, file)
			require.NoError(t, err)
			require.Equal(t, draw.Imported{Added: 1, Restocked: 1, Units: 7, Version: 4, Encoding: draw.EncodingUTF8}, first)
			_, err = s.Stock(t.Context(), draw.Stocking{PoolID: "spring", PrizeID: "b", Delta: 1, Reason: "more", Key: longest}, "test")
			require.NoError(t, err, "the keys of stock moves are others")

			again, err := in("spring", longest, "NAME;prize;stock;value\n;a;5;\nB;b;2;1.00\n")
			require.NoError(t, err)
			first.Replayed = true
			require.Equal(t, first, again, "the same content, written in another way")
			for _, other := range []string{"prize,name,value,stock\na,,,5\n", file + "c,C,,1\n", strings.ReplaceAll(file, "2", "3")} {
				_, err = in("spring", longest, other)
				require.Equal(t, draw.CodeKeyReused, draw.CodeOf(err), other)
			}
			p, err := s.Pool(t.Context(), "spring")
			require.NoError(t, err)
			require.Equal(t, []int64{5, 15, 3}, []int64{p.Version, p.Prizes[0].Stocked, p.Prizes[1].Stocked})

			for range 2 { // without a key, the stock of the file is added each time
				_, err = in("spring", "", file)
				require.NoError(t, err)
			}
			other, err := in("summer", longest, "prize,name,value,stock\nb,B,1,2\n")
			require.NoError(t, err, "the key is another pool's")
			require.False(t, other.Replayed)
			_, err = in("spring", "ümlaut", file)
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
			stocktest.NoViolations(t, s, "spring")
		})
	}
}

// TestImportDryRun: a dry run reports the same errors as the import, and writes nothing.
func TestImportDryRun(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "spring", 10)
			const file = "prize,name,value,stock\na,,,5\nb,B,1,2\n"
			dry := draw.Import{PoolID: "spring", Reason: "delivery", Actor: "test", Key: "k", DryRun: true}
			before, err := s.Pool(t.Context(), "spring")
			require.NoError(t, err)
			would, err := s.Import(t.Context(), dry, strings.NewReader(file), nil)
			require.NoError(t, err)
			require.Equal(t, []draw.ImportedPrize{
				{PrizeID: "a", Name: "Prize a", Value: decimal.New(1990, -2), Delta: 5, Stocked: 15}, {PrizeID: "b", Name: "B", Value: decimal.New(1, 0), IsNew: true, Delta: 2, Stocked: 2},
			}, would.Preview)
			require.Equal(t, []string{"101.50", "300.50"}, []string{would.Value.StringFixed(2), would.StockValue.StringFixed(2)}, "of the file, and of all that remains")
			_, err = s.Import(t.Context(), dry, strings.NewReader(file+"a,,,1\n"), nil)
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
			after, err := s.Pool(t.Context(), "spring")
			require.NoError(t, err)
			require.Equal(t, before, after, "a dry run changed the pool")

			dry.PresentOnly = true
			_, err = s.Import(t.Context(), dry, strings.NewReader(file), nil)
			require.Equal(t, draw.CodeForbidden, draw.CodeOf(err), "%v", err)
			require.Contains(t, err.Error(), `line 3: prize "b" is new to the pool`)
			_, err = s.Import(t.Context(), dry, strings.NewReader("prize,name,value,stock\na,,,5\n"), nil)
			require.NoError(t, err)
			dry.PresentOnly = false

			dry.DryRun = false
			done, err := s.Import(t.Context(), dry, strings.NewReader(file), nil)
			require.NoError(t, err)
			would.Preview, would.Value, would.StockValue = nil, decimal.Decimal{}, decimal.Decimal{}
			require.Equal(t, would, done, "the dry run said something else, or took the key")
		})
	}
}
