package lockmode_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// testReceiptsForAll: a pool that gives receipts gives one with every draw and every
// replay, from every instance. It does so even if a draw shares a transaction with draws
// of other pools. An instance that cannot sign does not draw, and answers known keys
// without a receipt. The log contains the lines that all receipts promise. Draws of one
// commit are signed together, in order of their versions, and replays separately.
func testReceiptsForAll(t *testing.T, a *arena) {
	pool, plain := a.pool(t, 100, 200), a.pool(t, 300)
	a.setState(t, 0, pool, draw.StatePaused)
	require.NoError(t, stocktest.CommitWithReceipts(t, a.store(0), pool, 40, 100))
	a.setState(t, 0, pool, draw.StateOpen)
	a.setState(t, 0, plain, draw.StatePaused)
	require.NoError(t, stocktest.Commit(t, a.store(0), plain, 40, 100))
	a.setState(t, 0, plain, draw.StateOpen)
	services, promised := a.three(t), promisedIn(t, a.store(0), pool)
	var receipts [][]byte
	kept := map[string]string{}
	together := batches{}
	var made []draw.Draw
	for round := 0; round < 3 || round < 12 && len(together) == 0; round++ {
		var answers, others []<-chan answer
		for i := range 20 {
			name := fmt.Sprint("all-", round, "-", i)
			answers = append(answers, ask(t, services[i%instances], named(pool, name)))
			others = append(others, ask(t, services[i%instances], named(plain, name)))
		}
		for i, from := range answers {
			got := receive(t, from)
			require.NoError(t, got.err)
			require.True(t, got.draw.Receipt)
			require.True(t, got.draw.Signer != nil || got.draw.Replayed || a.lock != "", "nothing is read for it")
			kept[got.draw.ID] = string(promised(a.store(i), &got.draw))
			receipt := receiptOf(t, a.store(i), &got.draw)
			require.NoError(t, together.add(&receipt, &got.draw))
			b, err := json.Marshal(receipt)
			require.NoError(t, err)
			receipts = append(receipts, b)
			made = append(made, got.draw)
			other := receive(t, others[i])
			require.NoError(t, other.err)
			require.False(t, other.draw.Receipt, "that pool gives none")
		}
		if round == 0 {
			a.setRules(t, 1, pool, `{"limits":[{"of":"draws","max":300,"per":"day"}]}`)
		}
	}
	again := func(from *service, shut bool) {
		for name, lines := range kept {
			got := receive(t, ask(t, from, named(pool, name)))
			require.NoError(t, got.err)
			require.True(t, got.draw.Replayed)
			require.True(t, got.draw.Receipt, "shut: %t", shut)
			require.Nil(t, got.draw.Signed)
			require.Equal(t, lines, string(promised(a.store(0), &got.draw)))
		}
	}
	again(services[0], false)
	a.setState(t, 0, pool, draw.StateClosed)
	again(services[1], true)
	again(a.serve(t, 2), true)
	a.withoutKeys(t, pool, "all-0-0")
	_, err := a.store(0).Reveal(t.Context(), pool)
	require.NoError(t, err)
	dir, files := stocktest.Export(t, a.store(0), pool)
	r, err := proof.Verify(files, proof.VerifyOptions{Receipts: receipts})
	require.NoError(t, err)
	require.True(t, r.OK, "entry %d: %s: %s", r.Entry, r.Rule, r.Detail)
	a.secondVerifies(t, dir)
	require.NotEmpty(t, together)
	wrongBatches(t, files, made)
	lawful(t, a.store(0), pool)
}

// batches are the receipts that were signed together. For each note, they have the first
// version of each leaf, by the index of the leaf.
type batches map[string]map[int64]int64

// add adds the receipt of a draw, and returns an error if its place is wrong.
func (b batches) add(r *proof.Receipt, d *draw.Draw) error {
	if r.Batch == nil {
		return nil
	}
	if d.Replayed {
		return fmt.Errorf("a replay, %q, is among the leaves", d.ID)
	}
	if b[r.Batch.Note] == nil {
		b[r.Batch.Note] = map[int64]int64{}
	}
	for index, version := range b[r.Batch.Note] {
		if (index < r.Batch.Index) != (version < d.Awards[0].Version) {
			return fmt.Errorf("leaves %d and %d are of versions %d and %d", index, r.Batch.Index, version, d.Awards[0].Version)
		}
	}
	b[r.Batch.Note][r.Batch.Index] = d.Awards[0].Version
	return nil
}

// wrongBatches are the broken doubles: signers that use another order, that sign a
// replay together with new draws, and that sign a plan that is not written.
func wrongBatches(t *testing.T, files fs.FS, made []draw.Draw) {
	var two []draw.Draw
	for _, d := range made {
		if d.Signer != nil && !d.Replayed && len(two) < 2 {
			two = append(two, d)
		}
	}
	if len(two) < 2 {
		return // lookups have settled all of them
	}
	sign := func(draws ...draw.Draw) (signed []proof.Receipt, all [][]byte) {
		receipts, err := two[0].Signer.Sign([][]draw.Award{draws[0].Awards, draws[1].Awards}, two[0].Rules)
		require.NoError(t, err)
		for _, receipt := range receipts {
			b := receipt.AppendTo(nil)
			var r proof.Receipt
			require.NoError(t, json.Unmarshal(b, &r))
			signed, all = append(signed, r), append(all, b)
		}
		return signed, all
	}
	if two[1].Awards[0].Version < two[0].Awards[0].Version {
		two[0], two[1] = two[1], two[0]
	}
	signed, _ := sign(two[1], two[0])
	of := batches{}
	require.NoError(t, of.add(&signed[0], &two[1]))
	require.Error(t, of.add(&signed[1], &two[0]), "leaves in another order")
	replay := two[1]
	replay.Replayed = true
	signed, _ = sign(two[0], replay)
	require.Error(t, of.add(&signed[1], &replay), "a replay among the leaves")
	undone := two[0]
	undone.Awards = slices.Clone(undone.Awards)
	undone.Awards[0].Version++ // the version that the draw would have if another instance had not been first
	_, all := sign(undone, two[1])
	r, err := proof.Verify(files, proof.VerifyOptions{Receipts: all[:1]})
	require.NoError(t, err)
	require.Equal(t, proof.RuleReceipt, r.Rule, "signed before the commit")
}

// withoutKeys: an instance that cannot unseal the key of a pool that gives receipts
// refuses its draws, and replays the known ones.
func (a *arena) withoutKeys(t *testing.T, pool, known string) {
	if a.dialect == "sqlite" {
		return // an SQLite file has one process, and either it has the identity or it does not
	}
	blind := stocktest.Open(t, a.url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	without := a.serve(t, 0, func(s *settings) { s.Store, s.Sharer = blind, blind })
	got := receive(t, ask(t, without, named(pool, known)))
	require.NoError(t, got.err)
	require.True(t, got.draw.Replayed)
	require.False(t, got.draw.Receipt)
}
