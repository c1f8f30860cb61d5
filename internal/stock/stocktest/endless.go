package stocktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testEndless: the units of an endless blank are marked in every answer that contains
// them. A prize may have the same number of units without being endless.
func testEndless(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	_, err := s.CreatePool(ctx, draw.Pool{ID: "p", Name: "P", Prizes: []draw.Prize{
		{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
		{ID: "heap", Name: "As many", Stocked: draw.StockMax},
		{ID: "dud", Name: "Losing ticket", Kind: draw.KindBlank, Stocked: 7},
	}}, "anna")
	require.NoError(t, err)
	moves, err := s.Moves(ctx, "p", 0, 10)
	require.NoError(t, err)
	entries, err := s.Log(ctx, "p", 1, 10)
	require.NoError(t, err)
	a, err := s.Audit(ctx, "p")
	require.NoError(t, err)
	require.Len(t, moves, 3)
	for i, id := range []string{"none", "heap", "dud"} {
		require.Equal(t, id, moves[i].PrizeID)
		require.Equal(t, id == "none", moves[i].IsEndless, "the move of %s", id)
		require.Equal(t, id == "none", entries[i].Move.IsEndless, "the entry of %s", id)
		require.Equal(t, id == "none", a.Prizes[i].IsEndless, "the audit of %s", id)
	}
	require.True(t, a.OK())
}
