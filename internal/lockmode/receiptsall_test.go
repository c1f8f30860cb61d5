package lockmode_test

import (
	"fmt"
	"log/slog"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// testReceiptsForAll: a pool that gives receipts gives one with every draw, from every
// instance, also if the draw shares a transaction with those of other pools, and with
// every replay. An instance that cannot sign does not draw, and replays without one.
// The log contains what they all promise.
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
	for round := range 3 {
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
			b, err := json.Marshal(receiptOf(t, a.store(i), &got.draw))
			require.NoError(t, err)
			receipts = append(receipts, b)
			other := receive(t, others[i])
			require.NoError(t, other.err)
			require.False(t, other.draw.Receipt, "that pool gives none")
		}
		if round == 0 {
			a.setRules(t, 1, pool, `{"limits":[{"of":"draws","max":65,"per":"day"}]}`)
		}
	}
	again := func(from *service, shut bool) {
		for name, lines := range kept {
			got := receive(t, ask(t, from, named(pool, name)))
			require.NoError(t, got.err)
			require.True(t, got.draw.Replayed)
			require.True(t, got.draw.Receipt, "shut: %t", shut)
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
	lawful(t, a.store(0), pool)
}

// withoutKeys: an instance that cannot unseal the key of a pool that gives receipts
// refuses its draws, and replays the known ones.
func (a *arena) withoutKeys(t *testing.T, pool, known string) {
	if a.dialect == "sqlite" {
		return // one process has the file, and it either has the identity or not
	}
	blind := stocktest.Open(t, a.url, stock.Options{Log: slog.New(slog.DiscardHandler)})
	without := a.serve(t, 0, func(s *settings) { s.Store, s.Sharer = blind, blind })
	got := receive(t, ask(t, without, named(pool, known)))
	require.NoError(t, got.err)
	require.True(t, got.draw.Replayed)
	require.False(t, got.draw.Receipt)
}
