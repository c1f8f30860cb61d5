package serve

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock/checkup"
	"drawsvc/internal/stock/stocktest"
)

// TestLowPrizesAreWarnedOfOnce: a prize below the warning level of the rules causes one
// log line, and a second line only after the prize was above the level.
func TestLowPrizesAreWarnedOfOnce(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10, 10)
	rules, err := rules.Parse([]byte(`{"low":[{"prize":"a","below":5}]}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "spring", rules, nil, "test")
	require.NoError(t, err)
	var logged bytes.Buffer
	m := newPoolMetrics(slog.New(slog.NewTextHandler(&logged, nil)))
	registry := prometheus.NewRegistry()
	registry.MustRegister(m)
	reads := func(delta int64, low string, warned int) {
		t.Helper()
		if delta != 0 {
			_, err := s.Stock(t.Context(), draw.Stocking{PoolID: "spring", PrizeID: "a", Delta: delta, Reason: "test"}, "test")
			require.NoError(t, err)
		}
		m.read(t.Context(), s)
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(
			"# HELP drawsvc_prizes_low Prizes of open pools of which fewer units remain than their rules warn of.\n"+
				"# TYPE drawsvc_prizes_low gauge\ndrawsvc_prizes_low "+low+"\n"), "drawsvc_prizes_low"))
		require.Equal(t, warned, strings.Count(logged.String(), `level=WARN msg="prize is low" pool=spring prize=a`), logged.String())
	}
	reads(0, "0", 0)
	reads(-5, "0", 0)
	reads(-1, "1", 1)
	reads(-1, "1", 1)
	reads(7, "0", 1)
	reads(-6, "1", 2)
}

// TestUnreadableRulesAreSaid: rules and items that this binary cannot read are counted,
// logged once, and found by the doctor.
func TestUnreadableRulesAreSaid(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	parsed, err := rules.Parse([]byte(`{"fallback":"none"}`))
	require.NoError(t, err)
	_, err = s.AddPrize(t.Context(), "spring", draw.Prize{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock}, "test")
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "spring", parsed, nil, "test")
	require.NoError(t, err)
	stocktest.PlanAll(t, s, "spring", draw.Item{At: time.Now().Add(time.Hour), Kind: draw.ItemRules, Rules: parsed})
	var logged bytes.Buffer
	m := newPoolMetrics(slog.New(slog.NewTextHandler(&logged, nil)))
	reads := func(n int) {
		t.Helper()
		for range 2 {
			m.read(t.Context(), s)
		}
		require.Len(t, m.last.Load().unreadable, n)
		require.Equal(t, n, strings.Count(logged.String(), `msg="rules cannot be read here`), logged.String())
		require.Equal(t, n > 0, s.HasUnreadable())
		found, err := checkup.Run(t.Context(), s, checkup.Options{})
		require.NoError(t, err)
		found = slices.DeleteFunc(found, func(f checkup.Finding) bool { return f.Rule != "rules-unreadable" })
		require.Len(t, found, n)
		if n > 0 {
			require.Contains(t, found[0].Detail, `unknown member "cooldown"`)
			require.Contains(t, found[0].Detail, rules.ZoneRelease)
		}
	}
	reads(0)
	stocktest.LaterRules(t, s, "spring")
	reads(1)
	stocktest.LaterItems(t, s, "spring")
	reads(2)
}

// TestLateItemsAreMeasured: an item counts as late if it is due and not done, except a
// moment, which waits for a draw.
func TestLateItemsAreMeasured(t *testing.T) {
	t.Parallel()
	s := stocktest.New(t, "sqlite")
	stocktest.Pool(t, s, "spring", 10)
	m := newPoolMetrics(slog.New(slog.DiscardHandler))
	overdue := func() time.Duration {
		m.read(t.Context(), s)
		return m.last.Load().overdue
	}
	require.Zero(t, overdue())
	stocktest.PlanAll(t, s, "spring", draw.Item{At: time.Now().Add(time.Hour), Kind: draw.ItemState, State: draw.StateClosed})
	require.Zero(t, overdue(), "it is not due")
	stocktest.PlanAll(t, s, "spring", draw.Item{At: time.Now().Add(3 * time.Second), Kind: draw.ItemState, State: draw.StatePaused})
	require.Eventually(t, func() bool { return overdue() > 100*time.Millisecond }, time.Minute, 10*time.Millisecond)
	require.NoError(t, s.RunAllDue(t.Context()))
	require.Zero(t, overdue(), "it is done")
}

// TestPoolsWithMetricsAreBounded: the first pools have their own metrics, and the
// others share one.
func TestPoolsWithMetricsAreBounded(t *testing.T) {
	t.Parallel()
	var levels []draw.Level
	for i := range watchedPoolsMax + 50 {
		levels = append(levels, draw.Level{PoolID: fmt.Sprint("p", i), Stocked: 10, Issued: 1})
	}
	levels[3].PoolID = otherPools
	shown := boundLevels(levels, watchedPoolsMax)
	require.Len(t, shown, watchedPoolsMax+1)
	require.Equal(t, draw.Level{PoolID: otherPools, Stocked: 500, Issued: 50}, shown[watchedPoolsMax])
	require.Equal(t, levels[:2], boundLevels(levels[:2], 2), "no pool is left for other")
}
