package stocktest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testMomentsHidden tests which moments may be planned, how moments and random spreads
// are shown, and how they are removed.
func testMomentsHidden(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	noon := s.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for _, prize := range []string{"none", "tin", ""} {
		_, err := s.PlanMoment(ctx, "p", MomentAt(noon, prize), "", "anna")
		code(t, draw.CodeInvalidRequest, err)
	}
	_, err := s.PlanMoment(ctx, "p", MomentAt(s.Now().Add(-time.Second), "gold"), "", "anna")
	code(t, draw.CodeInvalidRequest, err)
	_, err = s.PlanItem(ctx, "p", MomentAt(noon, "gold"), "", "anna")
	code(t, draw.CodeInvalidRequest, err)

	one, err := s.PlanMoment(ctx, "p", MomentAt(noon, "gold"), "key-1", "anna")
	require.NoError(t, err)
	require.Equal(t, 1, one.Count)
	require.Equal(t, one.Seal, draw.NewSeal(one.Seal.Salt, []draw.Item{MomentAt(noon, "gold")}), "the salt opens the seal")
	again, err := s.PlanMoment(ctx, "p", MomentAt(noon, "gold"), "key-1", "anna")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, one.Seal, again.Seal)
	_, err = s.PlanMoment(ctx, "p", MomentAt(noon.Add(time.Second), "gold"), "key-1", "anna")
	code(t, draw.CodeKeyReused, err)
	many, err := s.PlanItems(ctx, "p", []draw.Item{MomentAt(noon, "gold"), StockAt(noon, "gold", 3), MomentAt(noon.Add(time.Minute), "gold")}, "salt", "ben")
	require.NoError(t, err)
	spread := draw.Spread{PrizeID: "gold", Units: 9, From: noon, To: noon.Add(time.Hour), Reason: "by chance"}
	random, err := s.SpreadAgenda(ctx, "p", spread, "", "ben")
	require.NoError(t, err)
	spread.IsMoments, spread.Every, spread.Units = true, 30*time.Minute, 5
	hourly, err := s.SpreadAgenda(ctx, "p", spread, "", "ben")
	require.NoError(t, err)
	require.Equal(t, 5, hourly.Count, "each moment is an item")

	showsHidden(t, s, noon, one, many, random, hourly)
	refusesRemoval(t, s, many)
	removed, err := s.RemovePlanned(ctx, "p", many.Version, "cleo")
	require.NoError(t, err)
	require.EqualValues(t, 3, removed)
	_, err = s.RemovePlanned(ctx, "p", many.Version, "cleo")
	code(t, draw.CodeAgendaDone, err)
	for _, version := range []int64{1, 99} {
		_, err = s.RemovePlanned(ctx, "p", version, "cleo")
		code(t, draw.CodeNotFound, err)
	}
	items, err := s.Agenda(ctx, "p", 0, 100, false)
	require.NoError(t, err)
	require.Len(t, items, 3)
	changes, err := s.Changes(ctx, "p", 0, 100)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf(`{"import":%d,"removed":true,"count":3}`, many.Version), changes[len(changes)-1].Body)
	NoViolations(t, s, "p")
	stated, err := s.Odds(ctx, "p", "")
	require.NoError(t, err)
	require.True(t, stated.HasMoments)
	campaign(t, s, "q", `{"fallback":"none"}`)
	stated, err = s.Odds(ctx, "q", "")
	require.NoError(t, err)
	require.False(t, stated.HasMoments)
	require.NoError(t, s.DeletePool(ctx, "p", nil, "anna"))
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM hidden_items`))
}

// showsHidden checks the list of items, and that no entry of the history contains an
// instant.
func showsHidden(t *testing.T, s *stock.Store, noon time.Time, one, many, random, hourly draw.Planned) {
	t.Helper()
	items, err := s.Agenda(t.Context(), "p", 0, 100, true)
	require.NoError(t, err)
	require.Len(t, items, 5)
	want := []draw.Hidden{
		{PrizeID: "gold", Count: 1, Version: one.Version, SHA256: one.Seal.SHA256, IsMoments: true},
		{PrizeID: "gold", Count: 2, Version: many.Version, SHA256: many.Seal.SHA256, IsMoments: true},
		{PrizeID: "gold", Count: 9, From: noon, To: noon.Add(time.Hour), Version: random.Version, SHA256: random.Seal.SHA256},
		{PrizeID: "gold", Count: 5, From: noon, To: noon.Add(time.Hour), Version: hourly.Version, SHA256: hourly.Seal.SHA256, IsMoments: true},
	}
	require.Equal(t, draw.ItemStock, items[1].Kind)
	require.Equal(t, many.First, items[1].Number, "moments come after what is shown")
	for i, line := range []draw.Item{items[0], items[2], items[3], items[4]} {
		require.Equal(t, &want[i], line.Hidden)
		require.Zero(t, line.At)
	}
	page, err := s.Agenda(t.Context(), "p", items[1].Number, 1, false)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, &want[1], page[0].Hidden)
	changes, err := s.Changes(t.Context(), "p", one.Version-1, 100)
	require.NoError(t, err)
	for _, c := range changes {
		var body map[string]any
		require.NoError(t, json.Unmarshal([]byte(c.Body), &body))
		delete(body, "key")
		require.Len(t, body, 3, "%s", c.Body)
	}
}

func refusesRemoval(t *testing.T, s *stock.Store, many draw.Planned) {
	t.Helper()
	code(t, draw.CodeInvalidRequest, s.RemoveItem(t.Context(), "p", many.First+1, "cleo"))
}

// testMomentsTaken: the first attempt to draw after the time of a moment carries the
// moment out. The first draw that may win it gets it. This holds for every way of reading
// and writing.
func testMomentsTaken(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			testMomentTaken(t, s, "pool-"+name, o)
		})
	}
}

func testMomentTaken(t *testing.T, s *stock.Store, id string, o stock.TxOptions) {
	ctx := t.Context()
	campaign(t, s, id, `{"fallback":"none","win":"1/1000000000","limits":[{"of":"prize","prize":"gold","max":1}]}`)
	at := planSoon(t, s, id, func(at time.Time) []draw.Item {
		return []draw.Item{MomentAt(at, "gold"), MomentAt(at, "gold"), MomentAt(at, "gold")}
	})
	before, err := s.Pool(ctx, id)
	require.NoError(t, err)
	Await(t, s, at)
	require.NoError(t, s.RunAllDue(ctx))
	idle, err := s.Pool(ctx, id)
	require.NoError(t, err)
	require.Equal(t, before.Version, idle.Version, "the ticker passes over moments")
	items, err := s.Agenda(ctx, id, 0, 100, false)
	require.NoError(t, err)
	require.Len(t, items, 3)
	NoViolations(t, s, id)

	u := urn.NewUrn(id)
	tx, err := s.Read(ctx, u, o)
	require.NoError(t, err)
	tx.Rollback()
	require.True(t, u.IsDue())
	require.NoError(t, s.RunDue(ctx, id))
	var got []string
	for i, user := range []string{"anna", "anna", "ben", "anna", "ben", "cleo", "cleo"} {
		d, err := drawOne(t, s, u, o, user, fmt.Sprint("d", i))
		require.NoError(t, err)
		why := ""
		if r := d.Awards[0].Redirect; r != nil {
			why = string(r.Why) + " " + r.Drawn
		}
		got = append(got, user+" "+d.Awards[0].PrizeID+" "+why)
	}
	require.Equal(t, []string{
		"anna gold moment ", "anna none ", "ben gold moment ", "anna none ", "ben none ", "cleo gold moment ", "cleo none ",
	}, got)
	after, err := s.Pool(ctx, id)
	require.NoError(t, err)
	require.Equal(t, [2]int64{23, 3}, [2]int64{after.Prizes[0].Stocked, after.Prizes[0].Issued})
	moves, err := s.Moves(ctx, id, before.Version, 10)
	require.NoError(t, err)
	require.Len(t, moves, 3)
	for _, m := range moves {
		require.Equal(t, "1 moment anna", fmt.Sprint(m.Delta, " ", m.Reason, " ", m.Actor))
	}
	items, err = s.Agenda(ctx, id, 0, 100, false)
	require.NoError(t, err)
	for _, i := range items {
		require.Equal(t, "gold", i.Stock.PrizeID)
		require.Nil(t, i.Hidden, "done, it is shown whole")
	}
	lawful(t, s, id)
}

// lawful requires that a deep audit finds nothing.
func lawful(t *testing.T, s *stock.Store, id string) {
	t.Helper()
	deep, err := s.AuditDeep(t.Context(), id)
	require.NoError(t, err)
	require.Empty(t, deep.Violations)
}

// testMomentsAudit: the audit finds each way in which rows of moments contradict the log.
func testMomentsAudit(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none","win":"1/1000000000"}`)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item { return []draw.Item{MomentAt(at, "gold"), MomentAt(at, "gold")} })
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	u := urn.NewUrn("p")
	won, err := drawOne(t, s, u, stock.TxOptions{}, "anna", "d1")
	require.NoError(t, err)
	require.Equal(t, "gold", won.Awards[0].PrizeID)
	lawful(t, s, "p")
	kept := Keep(t, s, "p")
	for rule, statements := range map[string][]string{
		"moment-double": {`UPDATE agenda SET taken = 0 WHERE taken > 0`},
		"moment-missed": {`UPDATE agenda SET taken = 99 WHERE taken = 0`},
	} {
		ExecAll(t, s, statements)
		deep, err := s.AuditDeep(ctx, "p")
		require.NoError(t, err)
		require.NotEmpty(t, deep.Violations, rule)
		require.Equal(t, rule, deep.Violations[0].Rule)
		kept.PutBack(t, s)
	}
	// Another instance, which does not see the moment as pending, draws without taking
	// it.
	ExecAll(t, s, []string{`UPDATE agenda SET taken = 99 WHERE taken = 0`})
	_, err = drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "ben", "d2")
	require.NoError(t, err)
	deep, err := s.AuditDeep(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, "moment-missed", deep.Violations[0].Rule)
	kept.PutBack(t, s)
	closed := draw.StateClosed
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &closed}, "anna")
	require.NoError(t, err)
	lawful(t, s, "p")
}
