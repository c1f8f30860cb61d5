package stocktest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testAgendaParts: each part of an agenda is read page by page. Open items come in the
// order in which they will be carried out, which is not that of their numbers.
func testAgendaParts(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	noon := s.Now().Add(time.Hour).Truncate(time.Second)
	PlanAll(t, s, "p", StateAt(noon.Add(5*time.Minute), draw.StateClosed), StockAt(noon, "gold", 1), StateAt(noon.Add(-time.Minute), draw.StateOpen),
		draw.Item{At: noon, Kind: draw.ItemRules}, StockAt(noon.Add(time.Minute), "gold", 2), StockAt(noon, "gold", 3))
	list, err := s.PlanItems(ctx, "p", []draw.Item{StockAt(noon.Add(2*time.Minute), "gold", 4), MomentAt(noon, "gold")}, "salt", "ben")
	require.NoError(t, err)
	spread, err := s.SpreadAgenda(ctx, "p", draw.Spread{PrizeID: "gold", Units: 9, From: noon, To: noon.Add(time.Hour), Reason: "by chance"}, "", "ben")
	require.NoError(t, err)

	due := []int64{3, 2, 4, 6, 5, 7, 1}
	for _, limit := range []int{1, 2, 3, 100} {
		require.Equal(t, due, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, Limit: limit}), "%d on a page", limit)
	}
	require.Equal(t, []int64{3, 1}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, Kind: draw.ItemState, Limit: 1}))
	require.Equal(t, []int64{2, 6, 5, 7}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, Kind: draw.ItemStock, Limit: 3}))
	require.Empty(t, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, Kind: draw.ItemMoment, Limit: 3}), "they are hidden")
	require.Equal(t, []int64{3, 4, 1}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, WithoutStock: true, Limit: 2}))
	states, omitted, err := s.AgendaPart(ctx, "p", draw.AgendaPage{Part: draw.AgendaDue, WithoutStock: true, Limit: 1})
	require.NoError(t, err)
	require.EqualValues(t, 4, omitted)
	_, omitted, err = s.AgendaPart(ctx, "p", draw.AgendaPage{Part: draw.AgendaDue, WithoutStock: true, After: states[0].Number, Limit: 1})
	require.NoError(t, err)
	require.Zero(t, omitted, "only the first page has it")
	require.Empty(t, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDone, Limit: 3}))
	require.Equal(t, []int64{list.First + 1, spread.First}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaHidden, Limit: 1}))
	hidden, _, err := s.AgendaPart(ctx, "p", draw.AgendaPage{Part: draw.AgendaHidden, Limit: 10})
	require.NoError(t, err)
	require.True(t, hidden[0].Hidden.IsMoments)
	require.EqualValues(t, 9, hidden[1].Hidden.Count)

	require.Equal(t, []int64{2, 6, 5, 7}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, PrizeID: "gold", Limit: 3}))
	require.Empty(t, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, PrizeID: "gol", Limit: 3}))
	require.Equal(t, []int64{5, 7}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, From: noon.Add(time.Minute), To: noon.Add(5 * time.Minute), Limit: 3}))
	times := []time.Time{noon, noon.Add(time.Minute), noon.Add(3 * time.Minute)}
	sums, err := s.AgendaSums(ctx, "p", times, false)
	require.NoError(t, err)
	first, last := noon.Add(-time.Minute).UTC(), noon.Add(5*time.Minute).UTC()
	require.Equal(t, draw.AgendaSums{First: first, Last: last, Sums: []draw.AgendaSum{
		{Span: 1, PrizeID: "gold", Items: 2, Planned: 4}, {Span: 2, PrizeID: "gold", Items: 2, Planned: 6},
	}}, utc(sums))
	sums, err = s.AgendaSums(ctx, "p", times, true)
	require.NoError(t, err)
	require.Equal(t, draw.AgendaSums{First: first, Last: last, Omitted: 4}, utc(sums), "without open moves of stock")

	require.NoError(t, s.RemoveItem(ctx, "p", 2, "cleo"))
	rest, _, err := s.AgendaPart(ctx, "p", draw.AgendaPage{Part: draw.AgendaDue, After: 2, Limit: 1})
	require.NoError(t, err, "a page can follow an item that was removed meanwhile")
	require.Equal(t, int64(4), rest[0].Number)
	for _, wrong := range []draw.AgendaPage{
		{Part: draw.AgendaDue, After: 99, Limit: 1}, {Part: draw.AgendaDue, After: list.First + 1, Limit: 1}, {Part: draw.AgendaDone, After: 3, Limit: 1},
		{Part: draw.AgendaDue, WithoutStock: true, After: 6, Limit: 1}, {Part: draw.AgendaDue, WithoutStock: true, After: 2, Limit: 1},
	} {
		_, _, err := s.AgendaPart(ctx, "p", wrong)
		code(t, draw.CodeInvalidRequest, err)
	}
	momentAsCursor := draw.AgendaPage{Part: draw.AgendaDue, After: list.First + 1, Limit: 1}
	_, err = s.RemovePlanned(ctx, "p", list.Version, "cleo")
	require.NoError(t, err)
	_, _, err = s.AgendaPart(ctx, "p", momentAsCursor)
	code(t, draw.CodeInvalidRequest, err) // the next page would reveal the time of the removed moment, which may be planned again
	after, _, err := s.AgendaPart(ctx, "p", draw.AgendaPage{Part: draw.AgendaDue, After: list.First, Limit: 1})
	require.NoError(t, err, "the visible item of the same list")
	require.Equal(t, int64(1), after[0].Number)
	_, _, err = s.AgendaPart(ctx, "q", draw.AgendaPage{Part: draw.AgendaDue, Limit: 1})
	code(t, draw.CodePoolNotFound, err)
}

// testAgendaSumsHide: hidden items change neither the sums of any hour nor the times of the
// first and last item, wherever their lists lie among visible items.
func testAgendaSumsHide(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	noon := s.Now().Add(24 * time.Hour).Truncate(time.Hour)
	var hours []time.Time
	for h := range 24 {
		hours = append(hours, noon.Add(time.Duration(h-12)*time.Hour))
	}
	read := func() (all [2]draw.AgendaSums) {
		for i := range all {
			sums, err := s.AgendaSums(ctx, "p", hours, i == 1)
			require.NoError(t, err)
			all[i] = utc(sums)
		}
		return all
	}
	hide := func() {
		before := read()
		_, err := s.SpreadAgenda(ctx, "p", draw.Spread{PrizeID: "gold", Units: 30, From: noon.Add(-10 * time.Hour), To: noon.Add(10 * time.Hour), Reason: "planned"}, "", "ben")
		require.NoError(t, err)
		_, err = s.PlanItems(ctx, "p", []draw.Item{MomentAt(noon.Add(-9*time.Hour), "gold"), MomentAt(noon.Add(9*time.Hour), "gold")}, "salt", "ben")
		require.NoError(t, err)
		require.Equal(t, before, read())
	}
	hide()
	for _, h := range []time.Duration{-2, 2} {
		PlanAll(t, s, "p", StockAt(noon.Add(h*time.Hour), "gold", 3), StateAt(noon.Add(2*h*time.Hour), draw.StateOpen))
		hide()
	}
	sums := read()
	first, last := noon.Add(-4*time.Hour).UTC(), noon.Add(4*time.Hour).UTC()
	require.Equal(t, draw.AgendaSums{First: first, Last: last, Omitted: 2}, sums[1])
	visible := draw.AgendaSums{First: first, Last: last, Sums: []draw.AgendaSum{{Span: 11, PrizeID: "gold", Items: 1, Planned: 3}, {Span: 15, PrizeID: "gold", Items: 1, Planned: 3}}}
	require.Equal(t, visible, sums[0])

	later := PlanAll(t, s, "p", StockAt(noon.Add(-6*time.Hour), "gold", 5), StockAt(noon.Add(6*time.Hour), "gold", 6))
	ExecAll(t, s, []string{
		fmt.Sprintf(`UPDATE agenda SET body = '{"of":"gold","parts":2}' WHERE pool_id = 'p' AND item = %d`, later[0]),
		fmt.Sprintf(`UPDATE agenda SET body = '{"prize":"gold","delta":6,"reason":"r","parts":2}' WHERE pool_id = 'p' AND item = %d`, later[1]),
	})
	sums = read()
	visible.First, visible.Last = noon.Add(-6*time.Hour).UTC(), noon.Add(6*time.Hour).UTC()
	require.Equal(t, visible, sums[0], "the items of a later release have times, and no units that this one understands")
}

// utc returns sums with times in UTC.
func utc(sums draw.AgendaSums) draw.AgendaSums {
	sums.First, sums.Last = sums.First.UTC(), sums.Last.UTC()
	return sums
}

// partOf reads a part of the agenda of pool p, page by page, and returns the numbers of
// its items.
func partOf(t *testing.T, s *stock.Store, page draw.AgendaPage) (numbers []int64) {
	t.Helper()
	for {
		found, _, err := s.AgendaPart(t.Context(), "p", page)
		require.NoError(t, err)
		require.LessOrEqual(t, len(found), page.Limit)
		for _, item := range found {
			numbers = append(numbers, item.Number)
		}
		if len(found) < page.Limit {
			return numbers
		}
		page.After = numbers[len(numbers)-1]
	}
}
