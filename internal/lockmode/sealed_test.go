package lockmode_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/fold"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// deckCommitment is the commitment of all pools with a sealed deck. With its seed, it
// determines the result of each version. Some of its epochs end during the draws of the
// script.
var deckCommitment = func() *proof.Commitment {
	return &proof.Commitment{Origin: "draws.example.org/deck", Anchor: deckSeed().Before(30), Epochs: 30, EpochLength: 37, Size: deckVersion - 1}
}()

// deckVersion is the version of the commitment's entry: after the one that creates the
// pool, three prizes, and a pause.
const deckVersion = 6

func deckSeed() (s proof.Seed) {
	for i := range s {
		s[i] = byte(i)
	}
	return s
}

func deckNumbers(t *testing.T) *proof.Numbers {
	numbers, follows := proof.NewNumbers(deckCommitment, deckVersion, deckSeed(), deckCommitment.Epochs)
	require.True(t, follows)
	return numbers
}

// deckStep is one line of the script of a sealed deck. It is an operator's action, with
// the equivalent action for a recomputation without a database.
type deckStep struct {
	stock draw.Stocking
	prize draw.Prize
	rules string // "-" for none
	units int
}

func deckPrizes() []draw.Prize {
	return []draw.Prize{
		{ID: "gold", Name: "Gold", Kind: draw.KindPrize, Value: decimal.NewFromInt(3), Stocked: 60},
		{ID: "silver", Name: "Silver", Kind: draw.KindPrize, Value: decimal.NewFromInt(1), Stocked: 300},
		{ID: "none", Name: "No win", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	}
}

// deckScript restocks, withdraws, adds a prize and changes rules of every law.
func deckScript() []deckStep {
	return []deckStep{
		{units: 50},
		{prize: draw.Prize{ID: "pin", Name: "Pin", Kind: draw.KindPrize, Value: decimal.NewFromInt(2), Stocked: 40}, units: 40},
		{stock: draw.Stocking{PrizeID: "gold", Delta: 17, Reason: "more"}, units: 40},
		{rules: `{"win":"4/5","fallback":"none","limits":[{"of":"prize","prize":"gold","max":6}]}`, units: 50},
		{stock: draw.Stocking{PrizeID: "silver", Delta: -80, Reason: "less"}, units: 40},
		{rules: `{"odds":{"of":10,"prizes":{"silver":2,"gold":1,"pin":1}},"fallback":"none","guarantee":{"after":3,"prize":"silver"}}`, units: 50},
		{rules: `{"fallback":"none","budget":{"max":"60.00"}}`, units: 50},
		{rules: "-", units: 30},
	}
}

// do makes an operator do the step.
func (s *deckStep) do(t *testing.T, a *arena, i int, pool string) {
	var err error
	switch {
	case s.prize.ID != "":
		_, err = a.store(i).AddPrize(t.Context(), pool, s.prize, "test")
	case s.stock.Delta != 0:
		move := s.stock
		move.PoolID = pool
		_, err = a.store(i).Stock(t.Context(), move, "test")
	case s.rules == "-":
		_, err = a.store(i).SetRules(t.Context(), pool, nil, nil, "test")
	case s.rules != "":
		a.setRules(t, i, pool, s.rules)
	}
	require.NoError(t, err)
}

// redo does the step in a recomputation, and reports whether it makes a version.
func (s *deckStep) redo(t *testing.T, r *fold.Recomputation) bool {
	var err error
	switch {
	case s.prize.ID != "":
		err = r.AddPrize(s.prize)
	case s.stock.Delta != 0:
		err = r.Stock(s.stock.PrizeID, s.stock.Delta)
	case s.rules == "-":
		err = r.SetRules(nil, time.Time{})
	case s.rules != "":
		var parsed *draw.Rules
		parsed, err = rules.Parse([]byte(s.rules))
		require.NoError(t, err)
		err = r.SetRules(parsed, time.Now())
	default:
		return false
	}
	require.NoError(t, err)
	return true
}

// deckReplayed returns the result of each version of the script. One goroutine computes
// it.
func deckReplayed(t *testing.T) (all []string) {
	var documents []*draw.Rules
	for _, s := range deckScript() {
		if rules, err := rules.Parse([]byte(s.rules)); err == nil {
			documents = append(documents, rules)
		}
	}
	r := fold.NewRecomputation("deck", deckNumbers(t), documents)
	for _, p := range deckPrizes() {
		require.NoError(t, r.AddPrize(p))
	}
	r.SetState(draw.StateOpen)
	version := int64(deckVersion + 1) // this version opens the pool
	for _, s := range deckScript() {
		if s.redo(t, r) {
			version++
		}
		for range s.units {
			version++
			a, err := r.Next(version, draw.Request{PoolID: "deck", UserID: "u", DrawID: "d", Count: 1}, 1, time.Now())
			require.NoError(t, err)
			require.NoError(t, r.Take(&a))
			all = append(all, outcome(&a))
		}
	}
	return all
}

func outcome(a *draw.Award) string {
	if a.Redirect != nil {
		return fmt.Sprintf("%d %s-%d for %q (%s)", a.Version, a.PrizeID, a.Unit, a.Redirect.Drawn, a.Redirect.Why)
	}
	return fmt.Sprintf("%d %s-%d", a.Version, a.PrizeID, a.Unit)
}

// deck creates an open pool that is committed to the deck.
func (a *arena) deck(t *testing.T) string {
	t.Helper()
	pool := a.pool(t)
	for _, p := range deckPrizes() {
		_, err := a.store(0).AddPrize(t.Context(), pool, p, "test")
		require.NoError(t, err)
	}
	a.setState(t, 0, pool, draw.StatePaused)
	require.NoError(t, stocktest.CommitTo(t, a.store(0), pool, deckCommitment, deckSeed()))
	a.setState(t, 0, pool, draw.StateOpen)
	return pool
}

// failed is a write that the database refuses, and that no attempt repeats.
func failed(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
	tx.Rollback()
	return &stock.Error{Class: stock.ClassOther, Reason: "unexpected", Err: errors.New("nobody expected this")}
}

// drawUnits draws units in draws of one to three, from many concurrent callers, until
// all have been granted.
func drawUnits(t *testing.T, services []*service, pool, prefix string, units int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var asked []draw.Request
	for i := 0; units > 0; i++ {
		r := named(pool, fmt.Sprintf("%s-%d", prefix, i))
		r.Count = min(units, 1+i%3)
		units -= r.Count
		asked = append(asked, r)
	}
	var callers sync.WaitGroup
	var next, lost atomic.Int64
	for range callersOfDecks {
		callers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(asked); i = int(next.Add(1)) - 1 {
				at := services[i%len(services):]
				_, err := insist(ctx, append(at[:len(at):len(at)], services...), asked[i], nil)
				for ; draw.CodeOf(err) == draw.CodeInternal && ctx.Err() == nil; _, err = insist(ctx, services, asked[i], nil) {
					lost.Add(1) // the write failed
				}
				if err != nil {
					t.Errorf("draw %s: %v", asked[i].DrawID, err)
				}
			}
		})
	}
	callers.Wait()
}

const callersOfDecks = 24

// play plays the script, and returns the result of each version.
func (a *arena) play(t *testing.T, services []*service, pool string) (all []string) {
	t.Helper()
	for i, s := range deckScript() {
		s.do(t, a, i, pool)
		clear := func() {}
		if a.dialect != "sqlite" && i%2 == 0 { // SQLite has no row locks
			clear = heldRow(t, a, pool, "gold")
		}
		held := time.AfterFunc(30*time.Millisecond, clear)
		drawUnits(t, services, pool, fmt.Sprint("deck-", i), s.units)
		if held.Stop() {
			clear()
		}
	}
	entries, err := a.store(0).Log(t.Context(), pool, 0, 10_000)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Award != nil {
			all = append(all, outcome(e.Award))
		}
	}
	return all
}

// deckFaults produces faults, one after another: conflicts, lost responses, lost commits,
// an unreachable database, and writes that fail.
func deckFaults() edit {
	return applying(inTurn(outrun, applied, answerLost, applied, commitLost, outrun, applied, unreached, applied, failed, applied))
}

// testSealedDeck: each version gives the result that one goroutine computes from the seed
// and the script. Batches, instances, conflicts, held rows and failed writes do not
// change it. It is the same for every mode, lock and database.
func testSealedDeck(t *testing.T, a *arena) {
	want := deckReplayed(t)
	few := func(s *settings) { s.BatchMax = 8 }
	for name, services := range map[string][]*service{
		"one":               {a.serve(t, 0)},
		"three":             a.three(t),
		"one with faults":   {a.serve(t, 0, deckFaults(), few)},
		"three with faults": a.three(t, deckFaults(), few),
	} {
		pool := a.deck(t)
		require.Equal(t, want, a.play(t, services, pool), name)
		lawful(t, a.store(0), pool)
	}
}
