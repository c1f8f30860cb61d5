package proof

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/servertest/drand"
)

// world is a pool in memory. Its history follows from the plans of an urn, as in the
// service. It also has the secrets of the pool's operator.
type world struct {
	t          *testing.T
	entries    []draw.Entry
	prizes     []draw.Prize // with their original names and values
	urn        *urn.Urn
	pool       urn.Snapshot
	turns      []draw.Turn
	at         time.Time
	salts      Salts
	seed       Seed
	signer     string
	key        string
	commitment *Commitment
	numbers    *Numbers
	beacon     *Beacon  // nil for none
	latest     int64    // the last round that was announced
	old        [32]byte // the value that an earlier opening mixed in
	chain      *drand.Chain
	whileOpen  bool
	checks     [][]byte
	source     func(*Numbers) urn.Source // the numbers of a broken double
	publish    func(*Line)               // changes lines of the log, for a broken double
}

const worldOrigin = "draws.example.org/spring"

func newWorld(t *testing.T) *world {
	signer, key, err := NewKey(worldOrigin)
	require.NoError(t, err)
	w := &world{
		t: t, salts: NewSalts(), seed: NewSeed(), signer: signer, key: key,
		at:     time.Date(2026, 3, 28, 22, 0, 0, 123456000, time.UTC), // the night in which the clocks change in Berlin
		source: func(n *Numbers) urn.Source { return n }, publish: func(*Line) {},
	}
	w.pool.Head = draw.NewHead()
	w.pool.State = draw.StatePaused
	w.change(draw.WhatCreated, `{"name":"Spring","state":"paused","mode":null}`)
	return w
}

func (w *world) next() int64 {
	w.pool.Head = w.pool.Head.Next(1)
	w.at = w.at.Add(time.Microsecond)
	return w.pool.Head.Version
}

func (w *world) change(what draw.What, body string) {
	v := w.next()
	w.entries = append(w.entries, draw.Entry{Change: &draw.Change{Version: v, What: what, Body: body, At: w.at}})
}

func (w *world) state(s draw.State) {
	w.change(draw.WhatState, fmt.Sprintf(`{"state":%q}`, s))
	w.pool.State = s
}

func (w *world) prize(id string, stock int64, value string) {
	p := draw.Prize{ID: id, Name: "Prize <" + id + "> & é", Kind: draw.KindPrize, Stocked: stock, Value: decimal.RequireFromString(value)}
	if value == "0.00" && stock < 0 || strings.HasPrefix(id, "blank") {
		p.Kind = draw.KindBlank
	}
	if stock < 0 {
		p.Stocked = draw.EndlessStock
	}
	w.prizes = append(w.prizes, p)
	w.move(id, p.Stocked, p.Stocked)
	w.pool.Prizes = append(w.pool.Prizes, p)
}

func (w *world) move(id string, delta, stocked int64) {
	v := w.next()
	w.entries = append(w.entries, draw.Entry{Move: &draw.Move{Version: v, PrizeID: id, Delta: delta, Stocked: stocked, Reason: "re\"stock", At: w.at}})
}

// restock moves the stock of a prize, but never below the issued units.
func (w *world) restock(id string, delta int64) {
	for i := range w.pool.Prizes {
		if p := &w.pool.Prizes[i]; p.ID == id && p.Stocked+delta >= p.Issued && delta != 0 {
			p.Stocked += delta
			w.move(id, delta, p.Stocked)
		}
	}
}

// moment makes a moment of a prize pending.
func (w *world) moment(item int64, id string) {
	for i := range w.pool.Prizes {
		if p := &w.pool.Prizes[i]; p.ID == id {
			p.Stocked++
			w.move(id, 1, p.Stocked)
			m := w.entries[len(w.entries)-1].Move
			m.Key = (&draw.Item{Number: item, Kind: draw.ItemMoment}).MoveKey()
			w.pool.Moments = append(w.pool.Moments, urn.Moment{Item: item, Done: m.Version, PrizeID: id})
		}
	}
	w.pool.HasReadMoments = true
}

func (w *world) rules(document string) {
	var r *draw.Rules
	if document != "" {
		var err error
		r, err = rules.Parse([]byte(document))
		require.NoError(w.t, err)
		require.NoError(w.t, r.Check(w.pool.Prizes))
	}
	w.change(draw.WhatRules, draw.RulesBody(r))
	w.pool.Rules, w.pool.Spending = r, urn.Spending{}
	if r != nil && r.Budget != nil {
		start := r.Budget.Per.Start(w.at, r.Zone)
		w.pool.Spending = urn.Spending{From: start, Cents: w.spentSince(start)}
	}
}

// spentSince adds up the values of awards under rules with a budget, as the store does.
func (w *world) spentSince(start time.Time) (cents int64) {
	budgeted := false
	for _, e := range w.entries {
		switch {
		case e.Change != nil && e.Change.What == draw.WhatRules:
			r, _, err := rules.Of(e.Change)
			require.NoError(w.t, err)
			budgeted = r != nil && r.Budget != nil
		case e.Award != nil && budgeted && !e.Award.At.Before(start):
			cents += draw.Cents(e.Award.Value)
		}
	}
	return cents
}

func (w *world) commit(epochs, length int64) {
	tree := w.tree()
	w.commitment = &Commitment{
		Origin: worldOrigin, Anchor: w.seed.Before(epochs), Epochs: epochs, EpochLength: length, Size: tree.Size(), Root: tree.Root(),
		Beacon: w.beacon, StockWhileOpen: w.whileOpen,
	}
	hash := w.commitment.Hash()
	w.change(draw.WhatCommit, fmt.Sprintf(`{"hash":"%x"}`, hash))
	numbers, ok := NewNumbers(w.commitment, w.pool.Head.Version, w.seed, epochs)
	require.True(w.t, ok)
	w.numbers = numbers
	w.urn = urn.NewUrnFrom("spring", w.source(numbers))
}

// draw makes a draw. It returns the awards, none if the draw is refused.
func (w *world) draw(id, user string, count int) []draw.Award {
	w.at = w.at.Add(time.Duration(rand.IntN(1000)) * time.Second)
	w.urn.Invalidate()
	w.pool.At = w.at
	w.urn.Seen(w.pool)
	asks := []*urn.Ask{{Request: draw.Request{PoolID: "spring", UserID: user, DrawID: id, Named: true, Count: count}}}
	facts := urn.NewFacts(w.urn.Needs(asks))
	for _, turn := range w.turns {
		if turn.Subject == user {
			facts.Add(turn)
		}
	}
	plan := w.urn.PlanWith(asks, facts, w.at)
	for _, a := range plan.Awards {
		w.entries = append(w.entries, draw.Entry{Award: &a})
		for i := range w.pool.Prizes {
			if w.pool.Prizes[i].ID == a.PrizeID {
				w.pool.Prizes[i].Issued++
			}
		}
	}
	if len(plan.Awards) > 0 {
		w.pool.Head, w.pool.Spending = plan.To, plan.Spending
		w.turns = append(w.turns, plan.Turns...)
		for _, taken := range plan.Takes {
			w.pool.Moments = slices.DeleteFunc(w.pool.Moments, func(m urn.Moment) bool { return m.Item == taken.Item })
		}
	}
	return plan.Awards
}

// log returns the public log.
func (w *world) log() []byte {
	var b []byte
	entries := func(yield func(draw.Entry, error) bool) {
		for _, e := range w.entries {
			if !yield(e, nil) {
				return
			}
		}
	}
	for l, err := range NewScribe(w.salts, func() ([]draw.Prize, error) { return w.prizes, nil }).Lines(entries) {
		require.NoError(w.t, err)
		w.publish(l)
		b = l.Append(b)
	}
	return b
}

func treeOf(log []byte) (t Tree) {
	for line := range bytes.Lines(log) {
		t.Add(line)
	}
	return t
}

func (w *world) tree() Tree { return treeOf(w.log()) }

// check signs a checkpoint of the present log.
func (w *world) check() []byte {
	tree := w.tree()
	signed, err := Sign((&Checkpoint{Origin: worldOrigin, Size: tree.Size(), Root: tree.Root()}).Text(), w.signer)
	require.NoError(w.t, err)
	w.checks = append(w.checks, signed)
	return signed
}

// files returns the files that the operator would publish for the given log, with all
// signatures.
func (w *world) files(log []byte, checks [][]byte) fstest.MapFS {
	tree := treeOf(log)
	last, err := Sign((&Checkpoint{Origin: worldOrigin, Size: tree.Size(), Root: tree.Root()}).Text(), w.signer)
	require.NoError(w.t, err)
	commitment, err := Sign(w.commitment.Text(), w.signer)
	require.NoError(w.t, err)
	files := fstest.MapFS{}
	for name, b := range map[string][]byte{
		"key": []byte(w.key + "\n"), "commitment": commitment, "checkpoint": last, "checkpoints": JoinNotes(append(checks[:len(checks):len(checks)], last)),
		"reveal": []byte(Reveal(w.seed, w.commitment.Epochs)), "log.jsonl": log,
	} {
		files[name] = &fstest.MapFile{Data: b}
	}
	return files
}

// publishAll closes the pool and publishes it.
func (w *world) publishAll() fstest.MapFS {
	if w.pool.State != draw.StateClosed {
		w.state(draw.StateClosed)
	}
	return w.files(w.log(), w.checks)
}

// verified returns the Go verifier's report.
func verified(t *testing.T, files fstest.MapFS, o VerifyOptions) Report {
	r, err := Verify(files, o)
	require.NoError(t, err)
	return r
}

// secondSays returns the Python program's exit code and its last line.
func secondSays(t *testing.T, files fstest.MapFS, args ...string) (int, string) {
	return second(t, append([]string{folderOf(t, files)}, args...)...)
}

// folderOf writes files to a folder.
func folderOf(t *testing.T, files fstest.MapFS) string {
	dir := t.TempDir()
	for name, f := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), f.Data, 0o600))
	}
	return dir
}

func second(t *testing.T, args ...string) (int, string) {
	code, all := secondPrints(t, args...)
	return code, all[len(all)-1]
}

// secondPrints returns the Python program's exit code and its output, line by line.
func secondPrints(t *testing.T, args ...string) (code int, all []string) {
	code, said := servertest.SecondVerifier(t, args...)
	return code, strings.Split(strings.TrimSpace(said), "\n")
}

func clone(files fstest.MapFS) fstest.MapFS {
	other := maps.Clone(files)
	for name, f := range other {
		other[name] = &fstest.MapFile{Data: bytes.Clone(f.Data)}
	}
	return other
}
