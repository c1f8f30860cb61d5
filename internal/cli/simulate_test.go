package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/draw/odds"
)

// TestSimulationBeginsInTheWindowOfTheBudget: what the budget has already given counts
// only if the run begins in the same window. It never counts with --as-stocked.
func TestSimulationBeginsInTheWindowOfTheBudget(t *testing.T) {
	t.Parallel()
	rules := drawtest.Rules(t, `{"fallback":"none","budget":{"max":"20.00","per":"month"}}`)
	now := time.Now()
	read := func(s simulation, b *api.Budget, r *draw.Rules) []draw.Spending {
		require.NoError(t, s.readSpent(b, r))
		return s.run.SpentBefore
	}
	given := &api.Budget{Spent: "12.50"}
	begins := func(at time.Time) simulation { return simulation{run: odds.Simulation{From: at}} }
	require.Equal(t, []draw.Spending{{From: rules.Budget.Per.Start(now, rules.Zone), Cents: 1250}}, read(begins(now), given, rules))
	for _, months := range []int{-2, 2} {
		at := now.AddDate(0, months, 0)
		require.Equal(t, []draw.Spending{{From: rules.Budget.Per.Start(at, rules.Zone)}}, read(begins(at), given, rules), "another window")
	}
	require.Empty(t, read(begins(now), nil, rules))
	require.Empty(t, read(begins(now), given, drawtest.Rules(t, `{"fallback":"none"}`)))
	require.Empty(t, read(simulation{run: odds.Simulation{From: now}, asStocked: true}, given, rules))
	require.Error(t, (&simulation{run: odds.Simulation{From: now}}).readSpent(&api.Budget{Spent: "much"}, rules))
}
