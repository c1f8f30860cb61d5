package stocktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
)

// allGoes makes each change of a pool that does not need the pool's rules, and each read
// of the pool.
func allGoes(t *testing.T, s *stock.Store, poolID, key string) {
	t.Helper()
	ctx := t.Context()
	for _, state := range []draw.State{draw.StatePaused, draw.StateOpen} {
		_, err := s.ChangePool(ctx, poolID, draw.PoolChange{State: &state}, "anna")
		require.NoError(t, err)
	}
	_, err := s.Stock(ctx, draw.Stocking{PoolID: poolID, PrizeID: "gold", Delta: 1, Reason: "more", Key: key}, "anna")
	require.NoError(t, err)
	name := "Pool " + key
	_, err = s.ChangePool(ctx, poolID, draw.PoolChange{Name: &name}, "anna")
	require.NoError(t, err)
	_, err = s.Pools(ctx)
	require.NoError(t, err)
	_, err = s.Agenda(ctx, poolID, 0, 10, false)
	require.NoError(t, err)
	_, err = s.Changes(ctx, poolID, 0, 100)
	require.NoError(t, err)
	_, err = s.ReadWatched(ctx)
	require.NoError(t, err)
	_, err = s.Draw(ctx, poolID, "known")
	require.NoError(t, err)
}

// testUnreadableRules: rules that this binary cannot read do not restrict operators.
// Calls that depend on the rules return an error with its own code.
func testUnreadableRules(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	for _, id := range []string{"p", "q"} {
		campaign(t, s, id, `{"fallback":"none","budget":{"max":"50.00"},"limits":[{"of":"draws","max":9}]}`)
	}
	_, err := drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "u", "known")
	require.NoError(t, err)
	LaterRules(t, s, "p")
	allGoes(t, s, "p", "one")

	inForce, err := s.Rules(ctx, "p", 0)
	require.NoError(t, err)
	require.Error(t, inForce.Rules.Unreadable())
	require.Contains(t, inForce.Rules.Document(), `"cooldown":"1m"`, "it is shown as it is stored")
	all, err := s.RulesInForce(ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	watched, err := s.ReadWatched(ctx)
	require.NoError(t, err)
	require.Len(t, watched.Unreadable, 1)
	require.Equal(t, "p", watched.Unreadable[0].PoolID)
	_, err = s.Standing(ctx, "p", "u")
	code(t, draw.CodeRulesUnreadable, err)
	_, err = s.Odds(ctx, "p", "")
	code(t, draw.CodeRulesUnreadable, err)
	_, err = s.UserAwards(ctx, "p", "u", 0, 10)
	code(t, draw.CodeRulesUnreadable, err)
	audit, err := s.Audit(ctx, "p")
	require.NoError(t, err)
	for _, v := range audit.Violations {
		require.Equal(t, fold.RuleRulesUnknown, v.Rule, "%v", v)
	}

	_, err = s.SetRules(ctx, "p", rulesOf(t, `{"fallback":"none","budget":{"max":"5.00","per":"day"}}`), []int64{inForce.Version}, "anna")
	require.NoError(t, err)
	urn := urn.NewUrn("p")
	next, err := drawOne(t, s, urn, stock.TxOptions{}, "u", "after")
	require.NoError(t, err)
	require.True(t, next.Awards[0].Win(), "of 5.00, 2.50 are spent")
	next, err = drawOne(t, s, urn, stock.TxOptions{}, "u", "spent")
	require.NoError(t, err)
	require.False(t, next.Awards[0].Win(), "what was won under a budget that cannot be read is spent")
	LaterRules(t, s, "q")
	_, err = s.SetRules(ctx, "q", nil, nil, "anna")
	require.NoError(t, err, "removed")
	watched, err = s.ReadWatched(ctx)
	require.NoError(t, err)
	require.Empty(t, watched.Unreadable)
}

// testUnreadableItems: an item that this binary cannot read does not restrict
// operators. The binary leaves it and the items after it to other instances for a
// minute; then it records the item as failed.
func testUnreadableItems(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "u", "known")
	require.NoError(t, err)
	half := rulesOf(t, `{"fallback":"none","win":"1/2"}`)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StockAt(at, "gold", 5), {At: at, Kind: draw.ItemRules, Rules: half}, {At: at, Kind: draw.ItemRules, Rules: half}, StateAt(at, draw.StatePaused)}
	})
	LaterItems(t, s, "p")
	watched, err := s.ReadWatched(ctx)
	require.NoError(t, err)
	require.Len(t, watched.Unreadable, 2, "before they are due")
	Await(t, s, at)
	code(t, draw.CodeRulesUnreadable, s.RunDue(ctx, "p"))
	require.NoError(t, s.RunAllDue(ctx), "it is nobody's failure")
	items := itemsOf(t, s, "p")
	require.Positive(t, items[1].Done, "what comes before it is done")
	for number := int64(2); number <= 4; number++ {
		require.Zero(t, items[number].Done)
	}
	second := items[2]
	code(t, draw.CodeRulesUnreadable, second.Unreadable())
	require.Contains(t, second.Body(), `"cooldown":"1m"`)
	allGoes(t, s, "p", "one")
	require.NoError(t, s.RemoveItem(ctx, "p", 2, "anna"))
	code(t, draw.CodeRulesUnreadable, s.RunDue(ctx, "p"))
	NoViolations(t, s, "p")

	AgeItems(t, s, "p", time.Hour)
	require.NoError(t, s.RunDue(ctx, "p"))
	items = itemsOf(t, s, "p")
	require.Positive(t, items[3].Done)
	require.Positive(t, items[4].Done)
	changes, err := s.Changes(ctx, "p", items[3].Done-1, 1)
	require.NoError(t, err)
	require.Contains(t, changes[0].Body, `"failed":"rules-unreadable"`)
	pool, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, draw.StatePaused, pool.State, "what comes after it is done")
}

// testItemsOfLaterStates: an item with a state that this binary does not know is left to
// other instances too.
func testItemsOfLaterStates(t *testing.T, s *stock.Store) {
	for id, body := range map[string]string{"state": `{"state":"frozen"}`, "none": `{}`} {
		campaign(t, s, id, `{"fallback":"none"}`)
		_, err := drawOne(t, s, urn.NewUrn(id), stock.TxOptions{}, "u", "known")
		require.NoError(t, err)
		at := planSoon(t, s, id, func(at time.Time) []draw.Item { return []draw.Item{StateAt(at, draw.StatePaused)} })
		ExecAll(t, s, []string{`UPDATE agenda SET body = '` + body + `' WHERE pool_id = '` + id + `'`})
		Await(t, s, at)
		code(t, draw.CodeRulesUnreadable, s.RunDue(t.Context(), id))
		item := itemsOf(t, s, id)[1]
		require.Zero(t, item.Done, id)
		require.Equal(t, body, item.Body())
		allGoes(t, s, id, "one")
	}
}

// testUnreadableCommitment: a commitment that this binary cannot read does not restrict
// operators, except that the pool cannot be opened. Items that need the commitment are
// left to other instances for a minute. A pause is carried out at its time.
func testUnreadableCommitment(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, Commit(t, s, "p", 4, 1000))
	setState(t, s, "p", draw.StateOpen)
	_, err := drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "u", "known")
	require.NoError(t, err)
	at := planSoon(t, s, "p", func(at time.Time) []draw.Item {
		return []draw.Item{StateAt(at, draw.StatePaused), StockAt(at, "gold", 5), StateAt(at.Add(time.Microsecond), draw.StateOpen)}
	})
	ExecAll(t, s, []string{`UPDATE commitments SET note = 'later' WHERE pool_id = 'p'`})
	Await(t, s, at.Add(time.Millisecond))
	code(t, draw.CodeRulesUnreadable, s.RunDue(ctx, "p"))
	require.NoError(t, s.RunAllDue(ctx), "it is nobody's failure")
	require.Positive(t, itemsOf(t, s, "p")[1].Done)
	require.Zero(t, itemsOf(t, s, "p")[2].Done)
	_, err = drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "u", "new")
	require.Error(t, err)
	again, err := s.Draw(ctx, "p", "known")
	require.NoError(t, err)
	_, err = s.Receipt(ctx, &again)
	code(t, draw.CodeRulesUnreadable, err)
	_, err = s.Commitment(ctx, "p")
	code(t, draw.CodeRulesUnreadable, err)
	open := draw.StateOpen
	_, err = s.ChangePool(ctx, "p", draw.PoolChange{State: &open}, "anna")
	code(t, draw.CodeRulesUnreadable, err)
	_, err = s.Stock(ctx, draw.Stocking{PoolID: "p", PrizeID: "gold", Delta: 1, Reason: "more", Key: "one"}, "anna")
	require.NoError(t, err, "the pool is paused, whatever it is committed to")
	_, err = s.SetRules(ctx, "p", nil, nil, "anna")
	require.NoError(t, err)

	AgeItems(t, s, "p", time.Hour)
	require.NoError(t, s.RunDue(ctx, "p"))
	items := itemsOf(t, s, "p")
	require.Positive(t, items[2].Done)
	changes, err := s.Changes(ctx, "p", items[3].Done-1, 1)
	require.NoError(t, err)
	require.Contains(t, changes[0].Body, `"failed":"rules-unreadable"`, "the opening")
	pool, err := s.Pool(ctx, "p")
	require.NoError(t, err)
	require.Equal(t, draw.StatePaused, pool.State)
}
