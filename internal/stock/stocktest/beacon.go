package stocktest

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/servertest/drand"
	"drawsvc/internal/stock"
)

// NewChain is a beacon of one's own, with a round every 3 seconds.
func NewChain(tb testing.TB) *drand.Chain {
	tb.Helper()
	return drand.New(tb, 1_700_000_000, 3)
}

// CommitTo commits a paused pool to a beacon.
func CommitTo(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string, epochs, length int64, whileOpen bool) {
	tb.Helper()
	to, err := proof.ParseRecipients(Recipient)
	require.NoError(tb, err)
	beacon, err := proof.ParseBeacon(chain.Beacon())
	require.NoError(tb, err)
	note, err := s.CommitPool(tb.Context(), stock.Committing{
		PoolID: poolID, Host: "draws.example.org", Epochs: epochs, EpochLength: length, Beacon: beacon, StockWhileOpen: whileOpen,
		Recipients: to, Actor: "test",
	})
	require.NoError(tb, err)
	require.Contains(tb, string(note), "\nbeacon "+chain.Beacon()+"\n")
}

// ChangeState changes a pool's state, with a round where it has a beacon.
func ChangeState(tb testing.TB, s *stock.Store, poolID string, state draw.State, round *draw.Round) (draw.Pool, error) {
	tb.Helper()
	for {
		p, err := s.ChangePool(tb.Context(), poolID, draw.PoolChange{State: &state, Round: round}, "test")
		if draw.CodeOf(err) != draw.CodeContended { // however busy the pool is
			return p, err
		}
	}
}

// OpenWith announces a round and opens the pool with it.
func OpenWith(tb testing.TB, s *stock.Store, chain *drand.Chain, poolID string) draw.Round {
	tb.Helper()
	p, err := ChangeState(tb, s, poolID, draw.StateOpen, nil)
	require.NoError(tb, err)
	require.Equal(tb, draw.StatePaused, p.State)
	round := draw.Round{Number: p.Round, Signature: chain.Sign(p.Round)}
	p, err = ChangeState(tb, s, poolID, draw.StateOpen, &round)
	require.NoError(tb, err)
	require.Equal(tb, draw.StateOpen, p.State)
	return round
}

// blindPool is a pool that is committed to a beacon, and paused.
func blindPool(t *testing.T, s *stock.Store, whileOpen bool) *drand.Chain {
	t.Helper()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	chain := NewChain(t)
	CommitTo(t, s, chain, "p", 2, 100, whileOpen)
	return chain
}

// unchanged says that what runs between leaves the pool as it is.
func unchanged(t *testing.T, s *stock.Store, between func()) {
	t.Helper()
	before, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	between()
	after, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, before, after)
}

// testOpening: a pool with a beacon opens with the round that was announced, and
// with no other; what is refused changes nothing.
func testOpening(t *testing.T, s *stock.Store) {
	chain := blindPool(t, s, false)
	open := func(round *draw.Round) error {
		_, err := ChangeState(t, s, "p", draw.StateOpen, round)
		return err
	}
	unchanged(t, s, func() {
		code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: 7, Signature: chain.Sign(7)}))
	})
	announced, err := ChangeState(t, s, "p", draw.StateOpen, nil)
	require.NoError(t, err)
	require.Equal(t, draw.StatePaused, announced.State)
	require.GreaterOrEqual(t, announced.RoundAt.Sub(s.Now()).Seconds(), 5.0, "two periods, less what this test has taken")
	good := chain.Sign(announced.Round)
	unchanged(t, s, func() {
		again, err := ChangeState(t, s, "p", draw.StateOpen, nil)
		require.NoError(t, err)
		require.Equal(t, announced, again, "what is announced stays so")
		for _, n := range []int64{announced.Round - 1, announced.Round + 1, 0, -1} {
			code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: n, Signature: good}))
		}
		for name, signature := range map[string]string{
			"another round's": chain.Sign(announced.Round + 1), "another chain's": NewChain(t).Sign(announced.Round),
			"upper case": strings.ToUpper(good), "short": good[:94], "empty": "", "identity": "c0" + strings.Repeat("0", 94),
			"off the curve": "80" + strings.Repeat("0", 92) + "01", "off the subgroup": "80" + strings.Repeat("0", 92) + "04",
		} {
			require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(open(&draw.Round{Number: announced.Round, Signature: signature})), name)
		}
	})
	round := draw.Round{Number: announced.Round, Signature: good}
	require.NoError(t, open(&round))
	opened, err := s.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, draw.StateOpen, opened.State)
	require.Zero(t, opened.Round)
	require.True(t, opened.RoundAt.IsZero())
	unchanged(t, s, func() {
		require.NoError(t, open(&round), "the same request again")
		require.NoError(t, open(nil), "it is open")
		code(t, draw.CodeRoundNotAnnounced, open(&draw.Round{Number: round.Number + 1, Signature: chain.Sign(round.Number + 1)}))
	})
	_, err = ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	unchanged(t, s, func() { code(t, draw.CodeRoundNotAnnounced, open(&round)) }) // a round opens once
	proven(t, s)
}

// testOpeningPlain: a pool without a beacon takes no round.
func testOpeningPlain(t *testing.T, s *stock.Store) {
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	chain := NewChain(t)
	round := &draw.Round{Number: 7, Signature: chain.Sign(7)}
	for range 2 {
		_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
		require.NoError(t, err)
		unchanged(t, s, func() {
			_, err := ChangeState(t, s, "p", draw.StateOpen, round)
			code(t, draw.CodeInvalidRequest, err)
		})
		_ = Commit(t, s, "p", 2, 100)
	}
}

// proven closes the pool and has its files verified.
func proven(t *testing.T, s *stock.Store) proof.Report {
	t.Helper()
	_, err := ChangeState(t, s, "p", draw.StateClosed, nil)
	require.NoError(t, err)
	_, err = s.Reveal(t.Context(), "p")
	require.NoError(t, err)
	_, files := Export(t, s, "p")
	r, err := proof.Verify(files, proof.VerifyOptions{})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	NoViolations(t, s, "p")
	return r
}

// steering are the acts that change what the numbers of a pool give.
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
			rules, err := draw.ParseRules([]byte(`{"fallback":"none","win":"1/2"}`))
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

// testSteering: what changes what the numbers give is refused while a pool with a
// beacon is open, and takes an announcement back while it is paused. Names change
// at any time.
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

// testStockWhileOpen: a commitment may allow moves of stock while the pool is
// open, and nothing else.
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

// testAgendaBeacon: what is due of the agenda of a pool with a beacon, and may not
// be done, is recorded as failed and blocks nobody.
func testAgendaBeacon(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	campaign(t, s, "p", `{"fallback":"none"}`)
	_, err := ChangeState(t, s, "p", draw.StatePaused, nil)
	require.NoError(t, err)
	at := s.Now().Add(soon)
	opens := StateAt(at, draw.StateOpen)
	PlanAll(t, s, "p", opens)
	chain := NewChain(t)
	CommitTo(t, s, chain, "p", 2, 100, false)
	opens.At = at.Add(1e9)
	_, err = s.PlanItem(ctx, "p", opens, "test")
	code(t, draw.CodeInvalidRequest, err)
	rules := draw.Item{At: at, Kind: draw.ItemRules}
	PlanAll(t, s, "p", StockAt(at, "gold", 5), rules, StateAt(at.Add(1e6), draw.StatePaused), StockAt(at.Add(1e6), "gold", 7))
	OpenWith(t, s, chain, "p")
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

// testBeaconNumbers: an urn that was read under one opening takes the numbers of
// the next as soon as it is read again, and its plans of before are rejected. A
// pool whose rows open it with what is no round is not drawn from.
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
