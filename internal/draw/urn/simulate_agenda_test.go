package urn_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
)

// TestSimulateAgenda: a due item is carried out before the draw that follows it.
func TestSimulateAgenda(t *testing.T) {
	s := simulation(t, `{"fallback":"none"}`, []draw.Prize{
		{ID: "gold", Name: "Gold"}, {ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	})
	s.Draws, s.Users, s.Rate = 100, 3, 1
	at := func(n int) time.Time { return s.From.Add(time.Duration(n) * time.Second) }
	stock := func(n int, delta int64) draw.Item {
		return draw.Item{At: at(n), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: delta}}
	}
	state := func(n int, state draw.State) draw.Item {
		return draw.Item{At: at(n), Kind: draw.ItemState, State: state}
	}
	s.Agenda = []draw.Item{
		stock(10, 2), state(20, draw.StatePaused), state(30, draw.StateOpen), stock(40, -3),
		{At: at(50), Kind: draw.ItemRules, Rules: drawtest.Rules(t, `{}`)}, stock(60, 1), {At: at(70), Kind: draw.ItemRules},
	}
	r := simulated(t, s)
	require.Nil(t, r.Prizes[0].Expected, "no mean holds before and behind an item")
	require.Equal(t, int64(3), r.Prizes[0].Count)
	require.Equal(t, int64(38), r.Prizes[1].Count, "the first winning moment is at 10, paused from 20 to 30, no fallback from 50")
	require.Equal(t, map[draw.Code]int64{draw.CodePoolNotOpen: 10, draw.CodeSoldOut: 49}, r.Refusals)

	s.Pool.State = draw.StatePaused
	s.Agenda = []draw.Item{state(90, draw.StateOpen), state(95, draw.StateClosed), state(96, draw.StateOpen), stock(1000, 1)}
	r = simulated(t, s)
	require.Equal(t, map[draw.Code]int64{draw.CodePoolNotOpen: 95}, r.Refusals, "open from 90 to 95; closed is final")
	require.Equal(t, []draw.Code{draw.CodePoolClosed}, failedCodes(&r))

	// A failure is recorded, and the run continues, as in the service.
	s.Pool.State = draw.StateOpen
	s.Agenda = []draw.Item{
		{At: at(10), Kind: draw.ItemRules, Number: 7, Rules: drawtest.Rules(t, `{"fallback":"gold"}`)}, stock(20, -1), stock(30, draw.StockMax+1),
		{At: at(40), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "tin", Delta: 1}}, {At: at(50), Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "none", Delta: 1}},
		stock(60, 2),
	}
	r = simulated(t, s)
	require.Equal(t, []draw.Code{draw.CodeInvalidRequest, draw.CodeStockBelowIssued, draw.CodeInvalidRequest, draw.CodePrizeNotFound, draw.CodeInvalidRequest}, failedCodes(&r))
	require.Equal(t, int64(7), r.Failed[0].Item)
	require.Contains(t, r.Failed[0].Detail, "not an endless blank")
	require.Equal(t, int64(2), r.Prizes[0].Count, "the rules before hold, and the last item is done")
	require.Equal(t, int64(98), r.Prizes[1].Count)
}

func failedCodes(r *odds.Simulated) (codes []draw.Code) {
	for _, f := range r.Failed {
		codes = append(codes, f.Failed)
	}
	return codes
}
