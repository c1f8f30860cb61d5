package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
)

// testCopy: a copy has the prizes, the rules, the display texts and the agenda, shifted
// by the given days. Hidden items are spread again. A refused copy creates nothing.
func testCopy(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none","win":"1/2","zone":"Europe/Berlin"}`)
	currency, text, name := "EUR", "Every day", "Golden"
	_, err := s.ChangePool(ctx, "p", draw.PoolChange{Currency: &currency, Text: &text, Fair: new(true)}, "anna")
	require.NoError(t, err)
	_, err = s.ChangePrize(ctx, "p", "gold", draw.PrizeChange{Display: &draw.DisplayChange{Name: &name}}, "anna")
	require.NoError(t, err)
	_, err = s.AddPrize(ctx, "p", draw.Prize{ID: "card", Name: "Card", HasCodes: true}, "anna")
	require.NoError(t, err)
	berlin, err := rules.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	noon := time.Date(s.Now().Year()+1, 3, 20, 12, 0, 0, 0, berlin) // the copy is in summer time
	PlanAll(t, s, "p", StateAt(noon, draw.StateOpen), StateAt(noon.AddDate(0, 0, 2), draw.StateClosed), draw.Item{At: noon, Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"none"}`)})
	_, err = s.PlanItems(ctx, "p", []draw.Item{StockAt(noon, "gold", 3), MomentAt(noon.Add(time.Hour), "gold"), MomentAt(noon.Add(2*time.Hour), "gold")}, "salt", "ben")
	require.NoError(t, err)
	_, err = s.SpreadAgenda(ctx, "p", draw.Spread{PrizeID: "gold", Units: 30, From: noon, To: noon.AddDate(0, 0, 1), Reason: "by chance"}, "", "ben")
	require.NoError(t, err)
	removed := PlanAll(t, s, "p", StateAt(noon.Add(time.Minute), draw.StatePaused))
	require.NoError(t, s.RemoveItem(ctx, "p", removed[0], "ben"))
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)

	q, planned, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "q", Name: "Next", Days: new(14)}, "cleo")
	require.NoError(t, err)
	require.Equal(t, []any{"Next", draw.StatePaused, "EUR", text, false}, []any{q.Name, q.State, q.Currency, q.Text, q.IsFair})
	require.Len(t, q.Prizes, 3)
	require.Equal(t, "Golden", q.Prizes[0].ShownName())
	require.Equal(t, []int64{20, draw.EndlessStock, 0}, []int64{q.Prizes[0].Stocked, q.Prizes[1].Stocked, q.Prizes[2].Stocked})
	require.True(t, q.Prizes[2].HasCodes)
	ruling, err := s.Rules(ctx, "q", 0)
	require.NoError(t, err)
	require.Equal(t, `{"win":"1/2","fallback":"none","zone":"Europe/Berlin"}`, ruling.Rules.Document())
	later := noon.AddDate(0, 0, 14)
	require.NotEqual(t, noon.Add(14*24*time.Hour).UTC(), later.UTC(), "summer time has begun")
	copiedAgenda(t, s, planned, later)
	require.NotSubset(t, shifted(hiddenTimes(t, s, "p"), later.Sub(noon)), hiddenTimes(t, s, "q"), "nobody knows the new instants from the old ones")
	after, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, before, after)
	NoViolations(t, s, "q")

	for wanted, c := range map[draw.PoolCopy]draw.Code{
		{ID: "r", Name: "In the past", Days: new(-800)}: draw.CodeInvalidRequest, {ID: "r"}: draw.CodeInvalidRequest, {ID: "q", Name: "Again"}: draw.CodePoolExists,
	} {
		_, _, err = s.CopyPool(ctx, "p", wanted, "cleo")
		code(t, c, err)
	}
	_, _, err = s.CopyPool(ctx, "absent", draw.PoolCopy{ID: "r", Name: "R"}, "cleo")
	code(t, draw.CodePoolNotFound, err)
	_, err = s.Pool(ctx, "r")
	code(t, draw.CodePoolNotFound, err)
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM agenda WHERE pool_id = 'r'`))
}

// copiedAgenda checks the agenda of the copy q, whose first item is at a given time.
func copiedAgenda(t *testing.T, s *stock.Store, planned []draw.Planned, later time.Time) {
	t.Helper()
	items, err := s.Agenda(t.Context(), "q", 0, 100, false)
	require.NoError(t, err)
	require.Len(t, items, 6)
	require.Len(t, planned, 3)
	require.Equal(t, []any{later.UTC(), draw.StateOpen}, []any{items[0].At, items[0].State})
	require.Equal(t, []any{later.AddDate(0, 0, 2).UTC(), draw.StateClosed}, []any{items[1].At, items[1].State})
	require.Equal(t, []any{later.UTC(), `{"fallback":"none"}`}, []any{items[2].At, items[2].Rules.Document()})
	require.Equal(t, []any{later.UTC(), int64(3)}, []any{items[3].At, items[3].Stock.Delta})
	require.Equal(t, &draw.Hidden{PrizeID: "gold", Count: 2, From: later.UTC(), To: later.AddDate(0, 0, 2).UTC(), Version: planned[1].Version, SHA256: planned[1].Seal.SHA256, IsMoments: true}, items[4].Hidden)
	require.Equal(t, &draw.Hidden{PrizeID: "gold", Count: 30, From: later.UTC(), To: later.AddDate(0, 0, 1).UTC(), Version: planned[2].Version, SHA256: planned[2].Seal.SHA256}, items[5].Hidden)
	for _, p := range planned {
		require.NotEmpty(t, p.Seal.Salt)
	}
}

// hiddenTimes returns the instants of the hidden items of a pool from the database.
func hiddenTimes(t *testing.T, s *stock.Store, pool string) (all []time.Time) {
	t.Helper()
	rows, err := s.LockDB().QueryContext(t.Context(), `SELECT a.at FROM agenda a JOIN hidden_items h ON h.pool_id = a.pool_id AND a.item BETWEEN h.first_item AND h.last_item WHERE a.pool_id = '`+pool+`'`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var at time.Time
		require.NoError(t, rows.Scan(engine.ScanTime(&at)))
		all = append(all, at.UTC())
	}
	require.NoError(t, rows.Err())
	require.Len(t, all, 32)
	return all
}

func shifted(all []time.Time, by time.Duration) (later []time.Time) {
	for _, at := range all {
		later = append(later, at.Add(by))
	}
	return later
}

// testCopyOfRun: the agenda of the copy repeats the changes that the agenda has made to
// the stock and the rules. A copy without days has the current stock and rules.
func testCopyOfRun(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StockAt(at, "gold", 3), {At: at, Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"none","win":"1/3"}`)}, MomentAt(at, "gold"), StateAt(at, draw.StateOpen), StateAt(at.Add(time.Hour), draw.StateClosed)}
	})
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 4, Reason: "by hand"}, "anna")
	require.NoError(t, err)
	now, _, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "now", Name: "Now"}, "anna")
	require.NoError(t, err)
	again, planned, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "again", Name: "Again", Days: new(1)}, "anna")
	require.NoError(t, err)
	require.Len(t, planned, 2)
	require.Equal(t, []int64{28, 24}, []int64{now.Prizes[0].Stocked, again.Prizes[0].Stocked})
	for id, want := range map[string]string{"now": `{"win":"1/3","fallback":"none"}`, "again": `{"fallback":"none"}`} {
		ruling, err := s.Rules(ctx, id, 0)
		require.NoError(t, err)
		require.Equal(t, want, ruling.Rules.Document())
	}
	items, err := s.Agenda(ctx, "again", 0, 100, true)
	require.NoError(t, err)
	require.Len(t, items, 5)
	hidden := 0
	for _, i := range items {
		if i.Hidden != nil {
			hidden++
			require.True(t, i.Hidden.IsMoments, "a moment that is done is hidden again")
		}
	}
	require.Equal(t, 1, hidden)
	items, err = s.Agenda(ctx, "now", 0, 100, false)
	require.NoError(t, err)
	require.Empty(t, items)

	campaign(t, s, "open", `{"fallback":"none"}`)
	PlanAll(t, s, "open", StateAt(at.Add(time.Hour), draw.StateClosed))
	_, err = s.PlanMoment(ctx, "open", MomentAt(at.Add(time.Minute), "gold"), "", "anna")
	require.NoError(t, err)
	_, _, err = s.CopyPool(ctx, "open", draw.PoolCopy{ID: "later", Name: "Later", Days: new(1)}, "anna")
	code(t, draw.CodeInvalidRequest, err)
	require.ErrorContains(t, err, "between the opening and the close of the agenda")
}

// testCopyOfReturns: a unit that returned after an award counts once, whether the award
// expired or was voided. Two steps of the expiry name the same move.
func testCopyOfReturns(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	awards := claimedPool(t, s, "p", `{"claims":{"within":"1s"}}`, 3)
	Await(t, s, awards[2].At.Add(time.Second))
	expired, returned, err := s.Expire(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, []int{3, 3}, []int{expired, returned})
	_, err = s.SetRules(ctx, "p", nil, nil, "test")
	require.NoError(t, err)
	drawNow(t, s, draw.Request{PoolID: "p", UserID: "u4", DrawID: "d4", Named: true, Count: 1})
	d, err := s.Draw(ctx, "p", "d4")
	require.NoError(t, err)
	void := wantStep(d.Awards[0].Version, draw.StepVoided)
	void.Return = true
	_, _, err = s.Step(ctx, "p", void, "boss")
	require.NoError(t, err)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 5, Reason: string(draw.StepExpired)}, "anna")
	require.NoError(t, err)
	p, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.EqualValues(t, 3+4+5, p.Prizes[0].Stocked)
	for id, days := range map[string]*int{"now": nil, "again": new(1)} {
		q, _, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: id, Name: id, Days: days}, "anna")
		require.NoError(t, err)
		require.EqualValues(t, 3+5, q.Prizes[0].Stocked, id)
		NoViolations(t, s, id)
	}
}

// testCopyOfFailed: an item that could not put its rules in force has changed nothing.
func testCopyOfFailed(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	_, err := s.CreatePool(ctx, draw.Pool{ID: "p", Name: "P", Prizes: campaign(t, s, "other", `{"fallback":"none"}`).Prizes}, "anna")
	require.NoError(t, err)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{{At: at, Kind: draw.ItemRules, Rules: rulesOf(t, `{"fallback":"none","odds":{"of":10,"prizes":{"gold":1}}}`)}}
	})
	_, err = s.AddPrize(ctx, "p", draw.Prize{ID: "silver", Name: "Silver", Stocked: 1}, "anna")
	require.NoError(t, err)
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	p, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Zero(t, p.RulesVersion, "the odds do not name silver")
	const own = `{"win":"1/2","fallback":"none"}`
	_, err = s.SetRules(ctx, "p", rulesOf(t, own), nil, "anna")
	require.NoError(t, err)
	ExecAll(t, s, []string{`UPDATE agenda SET body = '{"rules":{"fallback":"none"}}' WHERE pool_id = 'p'`}) // these rules can be planned again
	_, _, err = s.CopyPool(ctx, "p", draw.PoolCopy{ID: "q", Name: "Q", Days: new(1)}, "anna")
	require.NoError(t, err)
	ruling, err := s.Rules(ctx, "q", 0)
	require.NoError(t, err)
	require.NotNil(t, ruling.Rules, "the copy has lost the rules in force")
	require.Equal(t, own, ruling.Rules.Document())
}

// testCopyOfWithdrawn: a copy is refused if a prize would begin with a stock below zero,
// because manual withdrawals are copied too.
func testCopyOfWithdrawn(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item { return []draw.Item{StockAt(at, "gold", 10)} })
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "p"))
	withdraw := func(n int64) {
		_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: -n, Reason: "by hand"}, "anna")
		require.NoError(t, err)
	}
	withdraw(20)
	begun, _, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "begun", Name: "Begun", Days: new(1)}, "anna")
	require.NoError(t, err)
	require.Zero(t, begun.Prizes[0].Stocked)
	withdraw(3)
	_, _, err = s.CopyPool(ctx, "p", draw.PoolCopy{ID: "again", Name: "Again", Days: new(1)}, "anna")
	code(t, draw.CodeInvalidRequest, err)
	require.ErrorContains(t, err, `prize "gold" would begin with -3 units`)
	now, _, err := s.CopyPool(ctx, "p", draw.PoolCopy{ID: "now", Name: "Now"}, "anna")
	require.NoError(t, err)
	require.EqualValues(t, 7, now.Prizes[0].Stocked)
}

// testCopyZone: the time of day is that in the zone of the rules in force, also if the
// agenda put them in force. Without such a zone, it is that of the first rules that name
// one.
func testCopyZone(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	berlin, err := rules.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	noon := time.Date(s.Now().Year()+1, 3, 20, 12, 0, 0, 0, berlin) // the copy is in summer time
	inBerlin := rulesOf(t, `{"fallback":"none","zone":"Europe/Berlin"}`)
	opensAtNoon := func(from string) {
		t.Helper()
		PlanAll(t, s, from, StateAt(noon, draw.StateOpen))
		_, _, err := s.CopyPool(ctx, from, draw.PoolCopy{ID: from + "2", Name: "Copy", Days: new(14)}, "anna")
		require.NoError(t, err)
		items, err := s.Agenda(ctx, from+"2", 0, 10, false)
		require.NoError(t, err)
		require.Equal(t, noon.AddDate(0, 0, 14).UTC(), items[len(items)-1].At, from)
	}
	campaign(t, s, "run", `{"fallback":"none","zone":"UTC"}`)
	at := planSoon(t, s, "run", func(at time.Time) []draw.Item {
		return []draw.Item{{At: at, Kind: draw.ItemRules, Rules: inBerlin}}
	})
	Await(t, s, at)
	require.NoError(t, s.RunDue(ctx, "run"))
	opensAtNoon("run")

	campaign(t, s, "former", `{"fallback":"none","zone":"Europe/Berlin"}`)
	_, err = s.SetRules(ctx, "former", nil, nil, "anna")
	require.NoError(t, err)
	opensAtNoon("former")

	campaign(t, s, "planned", `{"fallback":"none"}`)
	PlanAll(t, s, "planned", draw.Item{At: noon, Kind: draw.ItemRules, Rules: inBerlin})
	opensAtNoon("planned")

	campaign(t, s, "gap", `{"fallback":"none","zone":"Europe/Berlin"}`)
	night := time.Date(2099, 3, 28, 1, 30, 0, 0, berlin) // the following night has no 2:30
	PlanAll(t, s, "gap", StateAt(night, draw.StatePaused), StateAt(night.Add(time.Hour), draw.StateOpen), StateAt(night.Add(2*time.Hour), draw.StatePaused))
	_, _, err = s.CopyPool(ctx, "gap", draw.PoolCopy{ID: "gap2", Name: "Copy", Days: new(1)}, "anna")
	code(t, draw.CodeInvalidRequest, err)
	require.ErrorContains(t, err, "sets the state at the same instant")
}
