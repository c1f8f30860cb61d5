package stocktest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// testAgendaPlan tests which items may be planned, their visible form, and the entries
// that planning and removing add to the history.
func testAgendaPlan(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	noon := s.Now().Add(time.Hour).Truncate(time.Second)
	refusesItems(t, s, noon)
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)

	numbers := PlanAll(t, s, "p", StateAt(noon, draw.StateOpen), StateAt(noon.Add(time.Hour), draw.StateClosed), StockAt(noon, "gold", 5),
		draw.Item{At: noon, Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"none","win":"1/3"}`)}, draw.Item{At: noon, Kind: draw.ItemRules})
	require.Equal(t, []int64{1, 2, 3, 4, 5}, numbers)
	_, err = s.PlanItem(ctx, "p", StateAt(noon, draw.StatePaused), "", "anna")
	code(t, draw.CodeInvalidRequest, err)
	planned, err := s.PlanItems(ctx, "p", []draw.Item{StockAt(noon, "gold", 1), StockAt(noon.Add(time.Minute), "gold", 2)}, "salt", "ben")
	require.NoError(t, err)
	require.Equal(t, int64(6), planned.First)
	bad := []draw.Item{StockAt(noon, "gold", 1), StockAt(noon, "tin", 1)}
	bad[0].Line, bad[1].Line = 2, 3
	_, err = s.PlanItems(ctx, "p", bad, "salt", "ben")
	code(t, draw.CodeInvalidRequest, err)
	require.Contains(t, err.Error(), "line 3: the pool has no prize \"tin\"; nothing was imported")
	checksAgendaFile(t, s, noon)

	items := itemsOf(t, s, "p")
	require.Len(t, items, 7)
	require.Equal(t, draw.StateClosed, items[2].State)
	require.Equal(t, noon.UTC(), items[3].At)
	require.Equal(t, int64(5), items[3].Stock.Delta)
	require.Equal(t, `{"win":"1/3","fallback":"none"}`, items[4].Rules.Document())
	require.Nil(t, items[5].Rules)
	require.Equal(t, "ben", items[7].Actor)
	opens, closes, err := s.Opening(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, [2]time.Time{noon.UTC(), noon.Add(time.Hour).UTC()}, [2]time.Time{opens, closes})

	require.NoError(t, s.RemoveItem(ctx, "p", 2, "cleo"))
	code(t, draw.CodeNotFound, s.RemoveItem(ctx, "p", 2, "cleo"))
	code(t, draw.CodeNotFound, s.RemoveItem(ctx, "p", 99, "cleo"))
	require.NotContains(t, itemsOf(t, s, "p"), int64(2))
	_, closes, err = s.Opening(ctx, "p")
	require.NoError(t, err)
	require.Zero(t, closes)
	Pool(t, s, "q", 1)
	PlanAll(t, s, "q", StateAt(noon, draw.StatePaused), StateAt(noon.Add(time.Minute), draw.StateClosed), StateAt(noon.Add(time.Hour), draw.StateOpen))
	opens, closes, err = s.Opening(ctx, "q")
	require.NoError(t, err)
	require.Equal(t, [2]time.Time{{}, noon.UTC()}, [2]time.Time{opens, closes}, "closed is final, also where it is planned")
	require.NoError(t, s.DeletePool(ctx, "q", nil, "anna"))
	require.NoError(t, s.RemoveItem(ctx, "p", 7, "cleo"))
	require.Equal(t, []int64{8}, PlanAll(t, s, "p", StockAt(noon, "gold", 1)), "a number is never used again")

	changes, err := s.Changes(ctx, "p", before.Version, 100)
	require.NoError(t, err)
	var bodies []string
	for _, c := range changes {
		require.Equal(t, draw.WhatAgenda, c.What)
		bodies = append(bodies, c.Actor+" "+c.Body)
	}
	require.Len(t, bodies, 9)
	require.Equal(t, `anna {"item":1,"at":"`+noon.UTC().Format(draw.TimeFormat)+`","state":"open"}`, bodies[0])
	require.Equal(t, `ben {"item":6,"count":2,"sha256":"`+planned.Seal.SHA256+`"}`, bodies[5])
	require.Equal(t, `cleo {"item":2,"removed":true}`, bodies[6])
	NoViolations(t, s, "p")
	require.NoError(t, s.RunDue(ctx, "p"))
	after, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, before.Version+9, after.Version, "nothing is due")
	require.NoError(t, s.DeletePool(ctx, "p", nil, "anna"))
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM agenda`))
}

// checksAgendaFile checks that the items of a file for noon are returned or refused, and
// are not planned.
func checksAgendaFile(t *testing.T, s *stock.Store, noon time.Time) {
	t.Helper()
	check := func(poolID, lines string) ([]draw.Item, draw.Encoding, error) {
		return s.CheckAgendaFile(t.Context(), poolID, strings.NewReader("at,prize,delta,reason,moment\n"+lines))
	}
	at := noon.UTC().Format(time.RFC3339)
	items, encoding, err := check("p", at+",gold,5,eve,\n"+at+",gold,,,true\n")
	require.NoError(t, err)
	require.Equal(t, draw.EncodingUTF8, encoding)
	require.Equal(t, []draw.ItemKind{draw.ItemStock, draw.ItemMoment}, []draw.ItemKind{items[0].Kind, items[1].Kind})
	_, _, err = check("p", at+",gold,5,eve,\n"+at+",tin,1,eve,\n")
	require.ErrorContains(t, err, `line 3: the pool has no prize "tin"`)
	_, _, err = check("p", "2000-01-01T00:00:00Z,gold,5,eve,\n")
	require.ErrorContains(t, err, "line 2: at has passed")
	_, _, err = check("absent", at+",gold,5,eve,\n")
	code(t, draw.CodePoolNotFound, err)
}

// refusesItems checks the items that cannot be planned at noon in the pool p.
func refusesItems(t *testing.T, s *stock.Store, noon time.Time) {
	t.Helper()
	ctx := t.Context()
	for name, item := range map[string]draw.Item{
		"no time":               StateAt(time.Time{}, draw.StateOpen),
		"past":                  StateAt(s.Now().Add(-time.Second), draw.StateOpen),
		"no state":              StateAt(noon, "ajar"),
		"unknown prize":         StockAt(noon, "tin", 1),
		"delta 0":               StockAt(noon, "gold", 0),
		"an endless blank":      StockAt(noon, "none", 1),
		"no kind":               {At: noon},
		"rules that do not fit": {At: noon, Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"gold"}`)},
	} {
		_, err := s.PlanItem(ctx, "p", item, "", "anna")
		code(t, draw.CodeInvalidRequest, err)
		require.NotEmpty(t, name)
	}
	_, err := s.PlanItem(ctx, "absent", StateAt(noon, draw.StateOpen), "", "anna")
	code(t, draw.CodePoolNotFound, err)
}

// left returns the result of a statement that counts, "" for 0.
func left(t *testing.T, s *stock.Store, statement string) string {
	t.Helper()
	var n int
	require.NoError(t, s.LockDB().QueryRowContext(t.Context(), statement).Scan(&n))
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// testAgendaRuns: items become entries in the order of their times and numbers, once. An
// item that cannot be carried out is recorded as failed and blocks no other item.
func testAgendaRuns(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	var at time.Time
	tick := func(n int) time.Time { return at.Add(time.Duration(n) * time.Millisecond) }
	planSoon(t, s, "p", func(from time.Time) []draw.Item {
		at = from
		return []draw.Item{
			StockAt(tick(9), "gold", -1), // the pool is closed by then
			StockAt(tick(1), "gold", 5),
			StockAt(tick(1), "gold", 7),
			StockAt(tick(2), "gold", -100), // fewer than issued
			StockAt(tick(3), "gold", -2),
			StateAt(tick(4), draw.StatePaused),
			StateAt(tick(5), draw.StateOpen),
			{At: tick(6), Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"none","win":"1/2"}`)},
			StateAt(tick(7), draw.StateClosed),
			StateAt(tick(8), draw.StateOpen), // a closed pool stays closed
		}
	})
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	Await(t, s, tick(9))
	require.NoError(t, s.RunDue(ctx, "p"))
	require.NoError(t, s.RunDue(ctx, "p"), "nothing is left")

	after, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, before.Version+10, after.Version)
	require.Equal(t, draw.StateClosed, after.State)
	require.EqualValues(t, 20+5+7-2, after.Prizes[0].Stocked)
	require.Equal(t, before.Version+7, after.RulesVersion)
	entries, err := s.Log(ctx, "p", before.Version, 100)
	require.NoError(t, err)
	var got []string
	for _, e := range entries {
		if e.Move != nil {
			require.Equal(t, "anna", e.Move.Actor)
			got = append(got, fmt.Sprint(e.Move.Delta, " to ", e.Move.Stocked))
			continue
		}
		require.Equal(t, "anna", e.Change.Actor)
		got = append(got, string(e.Change.What)+e.Change.Body)
	}
	require.Equal(t, []string{
		"5 to 25", "7 to 32",
		`agenda{"item":4,"failed":"stock-below-issued","detail":"prize \"gold\" has issued 0 of 32 units; 100 more cannot be withdrawn"}`,
		"-2 to 30", `state{"state":"paused"}`, `state{"state":"open"}`, `rules{"rules":{"win":"1/2","fallback":"none"}}`,
		`state{"state":"closed"}`, `agenda{"item":10,"failed":"pool-closed","detail":"pool \"p\" is closed, which is final"}`,
		`agenda{"item":1,"failed":"pool-closed","detail":"pool \"p\" is closed, which is final"}`,
	}, got)
	why := map[int64]draw.Code{4: draw.CodeStockBelowIssued, 10: draw.CodePoolClosed, 1: draw.CodePoolClosed}
	for number, item := range itemsOf(t, s, "p") {
		require.Greater(t, item.Done, before.Version, "item %d", number)
		require.Equal(t, why[number], item.Failed, "item %d", number)
	}
	testDoneParts(t, s, tick, why)
	code(t, draw.CodeAgendaDone, s.RemoveItem(ctx, "p", 3, "anna"))
	deep, err := s.AuditDeep(ctx, "p")
	require.NoError(t, err)
	require.Empty(t, deep.Violations)
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM pools WHERE due_at IS NOT NULL`))
	_, err = s.PlanItem(ctx, "p", StockAt(s.Now().Add(time.Hour), "gold", 1), "", "anna")
	code(t, draw.CodePoolClosed, err)
}

// testDoneParts reads the items of testAgendaRuns by parts and as sums. why has the codes
// of those that failed.
func testDoneParts(t *testing.T, s *stock.Store, tick func(n int) time.Time, why map[int64]draw.Code) {
	t.Helper()
	require.Equal(t, []int64{1, 10, 9, 8, 7, 6, 5, 4, 3, 2}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDone, Limit: 3}))
	require.Equal(t, []int64{10, 9, 7, 6}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDone, Kind: draw.ItemState, Limit: 2}))
	require.Empty(t, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDue, Limit: 3}))
	require.Equal(t, []int64{1, 5, 4, 3, 2}, partOf(t, s, draw.AgendaPage{Part: draw.AgendaDone, PrizeID: "gold", From: tick(1), To: tick(10), Limit: 2}))
	sums, err := s.AgendaSums(t.Context(), "p", nil, true)
	require.NoError(t, err)
	require.Equal(t, []draw.AgendaSum{{PrizeID: "gold", Items: 5, Done: 5 + 7 - 2, Failed: -1 - 100}}, sums.Sums)
	done, _, err := s.AgendaPart(t.Context(), "p", draw.AgendaPage{Part: draw.AgendaDone, Limit: 10})
	require.NoError(t, err)
	for _, item := range done {
		require.Equal(t, why[item.Number], item.Failed, "item %d", item.Number)
	}
}

// testAgendaGuards: a due item comes before every write and every change, whether the
// plan is from the cached copy or from a read.
func testAgendaGuards(t *testing.T, s *stock.Store) {
	for name, o := range ways() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits most of the time
			testAgendaGuard(t, s, "pool-"+name, o)
		})
	}
}

func testAgendaGuard(t *testing.T, s *stock.Store, id string, o stock.TxOptions) {
	ctx := t.Context()
	Pool(t, s, id, 9)
	var u *urn.Urn
	planned := func(name string) *urn.Plan {
		return u.Plan([]*urn.Ask{{Request: draw.Request{PoolID: id, UserID: "u", DrawID: name, Named: true, Count: 1}}}, s.Now())
	}
	var early *urn.Plan
	at := InTime(t, s, id, func(at time.Time) error {
		err := plan(t, s, id, []draw.Item{StockAt(at, "a", 1)})
		if err != nil {
			return err
		}
		u = urn.NewUrn(id)
		tx, err := s.Read(ctx, u, stock.TxOptions{Fence: o.Fence})
		if err == nil {
			tx.Rollback()
			early = planned("early")
		}
		return err
	})
	require.WithinDuration(t, at, u.DueAt, time.Microsecond)
	require.False(t, early.IsDue())
	require.True(t, early.At.Before(at))
	Await(t, s, at)
	require.ErrorIs(t, s.Write(ctx, early, o), stock.ErrConflict)
	early.Undo()

	tx, err := s.Read(ctx, u, o)
	require.NoError(t, err)
	due := planned("due")
	require.True(t, due.IsDue(), "the read says so")
	require.Empty(t, due.Awards)
	due.Undo()
	tx.Rollback()

	w := draw.Stocking{PoolID: id, PrizeID: "a", Delta: 2, Reason: "by hand"}
	move, err := s.Stock(ctx, w, "ben")
	require.NoError(t, err)
	require.EqualValues(t, 12, move.Stocked, "behind the item")
	require.Equal(t, int64(5), move.Version)
	require.NoError(t, Write(t, s, o, Plan(id, 5, "a", 0, "late")))
	NoViolations(t, s, id)
}

// testAgendaMany: several instances carry out 2,500 items that became due while none of
// them was running. The items keep their order.
func testAgendaMany(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	Pool(t, s, "p", 1, 1)
	at := InTime(t, s, "p", func(at time.Time) error {
		var items []draw.Item
		for i := range 2500 {
			items = append(items, StockAt(at.Add(time.Duration(i%500)*time.Microsecond), string(rune('a'+i%2)), 1))
		}
		_, err := s.PlanItems(ctx, "p", items, "salt", "anna")
		return err
	})
	Await(t, s, at)
	failed := make(chan error, 3)
	for range cap(failed) {
		go func() { failed <- s.RunAllDue(ctx) }()
	}
	for range cap(failed) {
		require.NoError(t, <-failed)
	}
	require.NoError(t, s.RunAllDue(ctx)) // waits for the transactions of the other instances
	last := draw.Item{}
	moves, err := s.Moves(ctx, "p", 4, 10_000)
	require.NoError(t, err)
	require.Len(t, moves, 2500)
	byVersion := map[int64]draw.Item{}
	for _, i := range itemsOf(t, s, "p") {
		byVersion[i.Done] = i
	}
	require.Len(t, byVersion, 2500)
	for _, m := range moves {
		item := byVersion[m.Version]
		require.Equal(t, m.PrizeID, item.Stock.PrizeID)
		require.True(t, item.At.After(last.At) || item.At.Equal(last.At) && item.Number > last.Number)
		last = item
	}
	pool, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, [2]int64{1251, 1251}, [2]int64{pool.Prizes[0].Stocked, pool.Prizes[1].Stocked})
	NoViolations(t, s, "p")
}
