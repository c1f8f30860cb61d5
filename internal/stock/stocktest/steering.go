package stocktest

import (
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/stock"
)

// steering returns the acts that change the results of a pool's numbers.
func steering(t *testing.T, s *stock.Store) map[string]func() error {
	ctx := t.Context()
	value := decimal.NewFromInt(77)
	return map[string]func() error{
		"stock": func() error {
			_, err := s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 3, Reason: "more"}, "test")
			return err
		},
		"prize": func() error {
			_, err := s.AddPrize(ctx, "p", draw.Prize{ID: "pin", Name: "Pin", Stocked: 4}, "test")
			return err
		},
		"import": func() error {
			_, err := s.Import(ctx, draw.Import{PoolID: "p", Reason: "import", Actor: "test"}, strings.NewReader("prize,name,value,stock\ngold,,,2\n"), nil)
			return err
		},
		"rules": func() error {
			rules, err := rules.Parse([]byte(`{"fallback":"none","win":"1/2"}`))
			require.NoError(t, err)
			_, err = s.SetRules(ctx, "p", rules, nil, "test")
			return err
		},
		"value": func() error {
			_, err := s.ChangePrize(ctx, "p", "gold", draw.PrizeChange{Value: &value}, "test")
			return err
		},
	}
}

// testSteering: an act that changes the results of the numbers is refused while a pool
// with a beacon is open. While the pool is paused, the act withdraws an announced
// round. Names can be changed at any time.
func testSteering(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	chain := blindPool(t, s, false)
	acts, name := steering(t, s), "Golden"
	OpenWith(t, s, chain, "p")
	unchanged(t, s, func() {
		for what, act := range acts {
			require.Equal(t, draw.CodePoolOpen, draw.CodeOf(act()), what)
		}
		_, err := s.Import(ctx, draw.Import{PoolID: "p", Reason: "import", Actor: "test", DryRun: true}, strings.NewReader("prize,name,value,stock\ngold,,,2\n"), nil)
		code(t, draw.CodePoolOpen, err)
		moment := "at,prize,delta,reason,moment\n" + s.Now().Add(time.Hour).UTC().Format(time.RFC3339) + ",gold,,,true\n"
		_, planned := s.ImportAgenda(ctx, "p", strings.NewReader(moment), "", "test")
		require.Error(t, planned)
		_, _, checked := s.CheckAgendaFile(ctx, "p", strings.NewReader(moment))
		require.Equal(t, planned.Error(), checked.Error(), "a check of a file refuses what its import does")
	})
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	passed := int64(0)
	for what, act := range acts {
		p, err := ChangeState(t, s, "p", draw.StateOpen, nil)
		require.NoError(t, err)
		require.NoError(t, act(), what)
		_, err = ChangeState(t, s, "p", draw.StateOpen, &draw.Round{Number: p.Round, Signature: chain.Sign(p.Round)})
		require.Equal(t, draw.CodeRoundNotAnnounced, draw.CodeOf(err), what)
		passed++
	}
	p, err := ChangeState(t, s, "p", draw.StateOpen, nil)
	require.NoError(t, err)
	_, err = s.ChangePrize(ctx, "p", "gold", draw.PrizeChange{Name: &name}, "test")
	require.NoError(t, err)
	_, err = ChangeState(t, s, "p", draw.StateOpen, &draw.Round{Number: p.Round, Signature: chain.Sign(p.Round)})
	require.NoError(t, err, "a name changes no deck")
	r := proven(t, s)
	require.Equal(t, passed, r.Passed)
	require.EqualValues(t, 2, r.Openings)
}

// testStockWhileOpen: a commitment may allow moves of stock while the pool is open, but
// no other changes.
func testStockWhileOpen(t *testing.T, s *stock.Store) {
	chain := blindPool(t, s, true)
	acts := steering(t, s)
	p, err := ChangeState(t, s, "p", draw.StateOpen, nil)
	require.NoError(t, err)
	require.NoError(t, acts["stock"]())
	_, err = ChangeState(t, s, "p", draw.StateOpen, &draw.Round{Number: p.Round, Signature: chain.Sign(p.Round)})
	require.NoError(t, err, "the announcement stands")
	for _, what := range []string{"stock", "prize", "import"} {
		require.NoError(t, acts[what](), what)
	}
	for _, what := range []string{"rules", "value"} {
		require.Equal(t, draw.CodePoolOpen, draw.CodeOf(acts[what]()), what)
	}
	require.True(t, proven(t, s).StockWhileOpen)
}

// testAgendaBeacon: if a due item must not be carried out in a pool with a beacon, it is
// recorded as failed and blocks no other item.
func testAgendaBeacon(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	chain := NewChain(t)
	at := InTime(t, s, "p", func(at time.Time) error {
		ExecAll(t, s, []string{`DELETE FROM checkpoints`, `DELETE FROM commitments`}) // a try that was too late has left these
		if err := plan(t, s, "p", []draw.Item{StateAt(at, draw.StateOpen)}); err != nil {
			return err
		}
		if _, err := commitToBeacon(t, s, chain, "p", 2, 100, false); err != nil {
			return err
		}
		_, err := s.PlanItem(ctx, "p", StateAt(at.Add(time.Hour), draw.StateOpen), "", "test")
		code(t, draw.CodeInvalidRequest, err)
		items := []draw.Item{StockAt(at, "gold", 5), {At: at, Kind: draw.ItemRules}, StateAt(at.Add(1e6), draw.StatePaused), StockAt(at.Add(1e6), "gold", 7)}
		if err := plan(t, s, "p", items); err != nil {
			return err
		}
		_, err = openWith(t, s, chain, "p")
		return err
	})
	before, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	Await(t, s, at.Add(1e6))
	require.NoError(t, s.RunDue(ctx, "p"))
	entries, err := s.Log(ctx, "p", before.Version, 10)
	require.NoError(t, err)
	require.Len(t, entries, 5)
	for i, failed := range []string{"round-not-announced", "pool-open", "pool-open"} {
		require.Equal(t, draw.WhatAgenda, entries[i].Change.What, "entry %d", i)
		require.Contains(t, entries[i].Change.Body, `"failed":"`+failed+`"`)
	}
	require.Equal(t, draw.WhatState, entries[3].Change.What)
	require.EqualValues(t, 7, entries[4].Move.Delta)
	require.Empty(t, left(t, s, `SELECT COUNT(*) FROM agenda WHERE done = 0`))
	proven(t, s)
}

// testBeaconNumbers: if an urn was read under one opening and is read again under the
// next, it gets the numbers of the next opening. Its earlier plans are rejected. A pool
// whose rows state that it is open, but have no valid round, gives no draws.
func testBeaconNumbers(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	chain := blindPool(t, s, false)
	require.Nil(t, readUrn(t, s, "p").Seeds(), "a pool that waits for its first round has no numbers")
	OpenWith(t, s, chain, "p")
	urn := readUrn(t, s, "p")
	first, plan := urn.Seeds().Of(150).Below(1<<62), On(urn, Plan("p", urn.Version+1, "gold", 0, "late"))
	require.NotNil(t, urn.Seeds())
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	OpenWith(t, s, chain, "p")
	class(t, stock.ClassConflict, s.Write(ctx, plan, stock.TxOptions{}))
	tx, err := s.Read(ctx, urn, stock.TxOptions{})
	require.NoError(t, err)
	tx.Rollback()
	require.NotEqual(t, first, urn.Seeds().Of(150).Below(1<<62))
	require.Equal(t, readUrn(t, s, "p").Seeds().Of(150).Below(1<<62), urn.Seeds().Of(150).Below(1<<62))
	p, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.False(t, s.SeedsAway())
	ExecAll(t, s, []string{`UPDATE pools SET opened = 0 WHERE id = 'p'`})
	require.Nil(t, readUrn(t, s, "p").Seeds(), "state open without a round is no opening")
	ExecAll(t, s, []string{`UPDATE changes SET body = '{"state":"open","round":7,"signature":"00"}' WHERE what = 'state'`,
		`UPDATE pools SET opened = revision WHERE id = 'p'`})
	require.Nil(t, readUrn(t, s, "p").Seeds())
	require.True(t, s.SeedsAway())
	require.Equal(t, draw.StateOpen, p.State)
}
