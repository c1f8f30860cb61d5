package stocktest

import (
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testBlankTexts: release 0.1.0 stored texts of only blanks, which are refused now. A caller
// who does not send them can copy a pool that has them, and change its prizes. A planned
// move with such a reason is carried out.
func testBlankTexts(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	noon := s.Now().Add(time.Hour).Truncate(time.Second)
	PlanAll(t, s, "p", StockAt(noon, "gold", 5), StockAt(noon.Add(time.Minute), "gold", 2))
	spread := draw.Spread{PrizeID: "gold", Units: 3, From: noon, To: noon.Add(time.Hour), Reason: "planned"}
	_, err := s.SpreadAgenda(ctx, "p", spread, "", "ben")
	require.NoError(t, err)
	for _, statement := range []string{
		`UPDATE agenda SET body = REPLACE(body, '"reason":"planned"', '"reason":"  "') WHERE pool_id = 'p' AND item <> 2`,
		`UPDATE prizes SET name = '  ' WHERE pool_id = 'p' AND id = 'gold'`,
	} {
		_, err = s.LockDB().ExecContext(ctx, statement)
		require.NoError(t, err)
	}

	campaign(t, s, "r", `{"fallback":"none"}`)
	at := InTime(t, s, "r", func(at time.Time) error {
		if err := plan(t, s, "r", []draw.Item{StockAt(at, "gold", 5)}); err != nil {
			return err
		}
		_, err := s.LockDB().ExecContext(ctx, `UPDATE agenda SET body = REPLACE(body, '"reason":"planned"', '"reason":"  "') WHERE pool_id = 'r'`)
		return err
	})
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "r"))
	moved, err := s.Pool(ctx, "r")
	require.NoError(t, err)
	require.EqualValues(t, 25, moved.Prizes[0].Stocked)
	NoViolations(t, s, "r")

	days := 7
	_, planned, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "q", Name: "Again", Days: &days}, "cleo")
	require.NoError(t, err)
	require.Len(t, planned, 2)
	var reasons []string
	for _, item := range itemsOf(t, s, "q") {
		if item.Hidden == nil {
			reasons = append(reasons, item.Stock.Reason)
		}
	}
	require.ElementsMatch(t, []string{draw.AgendaReason, "planned"}, reasons)

	prize, err := s.ChangePrize(ctx, "p", "gold", draw.PrizeChange{Value: new(decimal.RequireFromString("7.50"))}, "cleo")
	require.NoError(t, err)
	require.Equal(t, "7.5", prize.Value.String())
	_, err = s.ChangePrize(ctx, "p", "none", draw.PrizeChange{Value: new(decimal.RequireFromString("7.50"))}, "cleo")
	code(t, draw.CodeInvalidRequest, err)
	_, err = s.ChangePrize(ctx, "p", "gold", draw.PrizeChange{Name: new("  ")}, "cleo")
	code(t, draw.CodeInvalidRequest, err)
}
