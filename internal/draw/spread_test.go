package draw_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// TestSpread: all units are released within the span, and at fixed intervals no two
// releases differ by more than one unit.
func TestSpread(t *testing.T) {
	from := time.Date(2999, 12, 1, 0, 0, 0, 0, time.UTC)
	rapid.Check(t, func(rt *rapid.T) {
		s := draw.Spread{
			PrizeID: "gold", Reason: "r", From: from, Units: rapid.Int64Range(1, 1000).Draw(rt, "units"),
			Every: time.Duration(rapid.IntRange(0, 5000).Draw(rt, "every")) * time.Second,
		}
		s.To = from.Add(time.Duration(rapid.Int64Range(1, int64(time.Hour/time.Microsecond)).Draw(rt, "span")) * time.Microsecond)
		items, err := s.Items(rand.Int64N)
		require.NoError(rt, err)
		var units, least, most int64
		for i, item := range items {
			units += item.Stock.Delta
			if i == 0 || item.Stock.Delta < least {
				least = item.Stock.Delta
			}
			most = max(most, item.Stock.Delta)
			require.False(rt, item.At.Before(s.From))
			require.True(rt, item.At.Before(s.To))
			require.True(rt, i == 0 || items[i-1].At.Before(item.At))
			require.True(rt, s.Every == 0 || item.At.Sub(from)%s.Every == 0)
		}
		require.Equal(rt, s.Units, units)
		require.True(rt, s.Every == 0 || most-least <= 1)
	})
	for _, s := range []draw.Spread{
		{Units: 0, To: from.Add(time.Hour)},
		{Units: 1, To: from},
		{Units: 1, To: from.Add(time.Hour), Every: time.Millisecond},
		{Units: draw.AgendaMax + 1, To: from.Add(time.Hour)},
		{Units: 1, To: from.Add(100_001 * time.Second), Every: time.Second},
		{Units: 5, To: from.AddDate(1000, 0, 0)},
		{Units: 5, To: from.AddDate(1000, 0, 0), Every: 1000 * 24 * time.Hour},
		{Units: 5, To: from.AddDate(250, 0, 0), Every: time.Second},
		{Units: 5, To: from.Add(math.MaxInt64 - 1), Every: time.Hour},
	} {
		s.PrizeID, s.Reason, s.From = "gold", "r", from
		_, err := s.Items(rand.Int64N)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
	}
	// There is one release, although the sum of the span and the interval exceeds a
	// time.Duration.
	long := draw.Spread{PrizeID: "gold", Reason: "r", From: from, To: from.AddDate(250, 0, 0), Units: 5, Every: math.MaxInt64}
	items, err := long.Items(rand.Int64N)
	require.NoError(t, err)
	require.Len(t, items, 1)
}

// TestItemBodies: the plan of an item can be read from its body, and a seal depends
// only on the schedule.
func TestItemBodies(t *testing.T) {
	parsed, err := rules.Parse([]byte(`{"fallback":"none"}`))
	require.NoError(t, err)
	at := time.Date(2999, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, item := range []draw.Item{
		{At: at, Kind: draw.ItemState, State: draw.StateClosed},
		{At: at, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: -7, Reason: `a "b"`}},
		{At: at, Kind: draw.ItemRules, Rules: parsed},
		{At: at, Kind: draw.ItemRules},
	} {
		back := draw.Item{At: at, Kind: item.Kind}
		back.ReadBody(item.Body(), rules.ReadOf)
		require.NoError(t, back.Unreadable())
		require.Equal(t, item.Body(), back.Body())
		require.Contains(t, string(item.Shown("")), `"at":"2999-12-01T00:00:00.000000Z",`)
		back.ReadBody("x", rules.ReadOf)
		require.Equal(t, draw.CodeRulesUnreadable, draw.CodeOf(back.Unreadable()))
	}
	one := []draw.Item{{At: at, Kind: draw.ItemStock, Number: 1, Stock: draw.Stocking{PrizeID: "gold", Delta: 1, Reason: "r"}}}
	seal := draw.NewSeal("salt", one)
	// printf 'salt\n2999-12-01T00:00:00.000000Z,gold,1,r\n' | sha256sum
	require.Equal(t, "f9729a16d0b4628fdfee48199eaadb7dcf8ec8001a6b90d7c4ff19fff9c825a3", seal.SHA256)
	one[0].Number, one[0].Done = 9, 12
	require.Equal(t, seal, draw.NewSeal("salt", one))
	require.NotEqual(t, seal.SHA256, draw.NewSeal("pepper", one).SHA256)
	require.EqualValues(t, 9, draw.ItemOfKey(one[0].MoveKey()))
	require.Zero(t, draw.ItemOfKey("item 9"))
	require.Error(t, draw.CheckKey(one[0].MoveKey()), "no caller can take it")
}
