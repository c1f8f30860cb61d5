package stocktest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// testReceiptsForAll: a pool that gives receipts refuses draws while receipts cannot be
// signed. The change that committed the pool records that it gives receipts.
func testReceiptsForAll(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 10)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, CommitWithReceipts(t, s, "p", 4, 1000))
	setState(t, s, "p", draw.StateOpen)
	made, err := drawOne(t, s, urn.NewUrn("p"), stock.TxOptions{}, "ann", "d1")
	require.NoError(t, err)
	require.True(t, made.Receipt)
	require.NotNil(t, made.Signer)

	committed, err := s.Commitment(ctx, "p")
	require.NoError(t, err)
	require.True(t, committed.Receipts)

	changes, err := s.Changes(ctx, "p", 0, 100)
	require.NoError(t, err)
	said := 0
	for _, c := range changes {
		if c.What == draw.WhatCommit {
			require.Regexp(t, `^\{"hash":"[0-9a-f]{64}","receipts":true\}$`, c.Body)
			said++
		}
	}
	require.Equal(t, 1, said)

	// An identity of the escrow, which unseals only the seed, has the same effect.
	for _, pool := range []string{"silent", "signing"} {
		Pool(t, s, pool, 10)
		setState(t, s, pool, draw.StatePaused)
		commit := Commit
		if pool == "signing" {
			commit = CommitWithReceipts
		}
		require.NoError(t, commit(t, s, pool, 4, 1000))
		setState(t, s, pool, draw.StateOpen)
	}
	ExecAll(t, s, []string{`UPDATE commitments SET signer = seed`})
	committed, err = s.Commitment(ctx, "silent")
	require.NoError(t, err)
	require.False(t, committed.Receipts)
	_, err = drawReceipted(t, s, urn.NewUrn("silent"), "ann", "d1")
	code(t, draw.CodeSeedUnavailable, err)
	_, err = drawOne(t, s, urn.NewUrn("silent"), stock.TxOptions{}, "ann", "d1")
	require.NoError(t, err, "it asks for no receipt")
	_, err = drawOne(t, s, urn.NewUrn("signing"), stock.TxOptions{}, "ann", "d1")
	code(t, draw.CodeSeedUnavailable, err)
}

// testReceiptsOfRestored: a restore reverts a commitment, and the pool is committed
// again. Draws that are planned from the earlier cached copy are signed with the new key.
func testReceiptsOfRestored(t *testing.T, s *stock.Store) {
	s.Unseal(Identities(t))
	Pool(t, s, "p", 10)
	setState(t, s, "p", draw.StatePaused)
	before, urn := Keep(t, s, "p"), urn.NewUrn("p")
	opens := func(text []byte) error {
		var r proof.Receipt
		require.NoError(t, json.Unmarshal(text, &r))
		key, err := s.Published(t.Context(), "p", "key")
		require.NoError(t, err)
		verifier, err := proof.Verifier(strings.TrimSuffix(string(key), "\n"))
		require.NoError(t, err)
		_, err = r.Open(verifier)
		return err
	}
	var lost draw.Signer
	for _, name := range []string{"a1", "b1"} {
		require.NoError(t, Commit(t, s, "p", 4, 1000))
		setState(t, s, "p", draw.StateOpen)
		made, err := drawReceipted(t, s, urn, "ann", name)
		require.NoError(t, err)
		signed, err := made.SignReceipt()
		require.NoError(t, err)
		receipt := signed.AppendTo(nil)
		require.NoError(t, opens(receipt), name)
		read, err := s.Receipt(t.Context(), &draw.Draw{ID: name, PoolID: "p", UserID: "ann", Awards: made.Awards})
		require.NoError(t, err)
		again, err := json.Marshal(read)
		require.NoError(t, err)
		require.JSONEq(t, string(receipt), string(again), "of the log")
		if lost == nil {
			lost = made.Signer
			ExecAll(t, s, []string{`DELETE FROM commitments WHERE pool_id = 'p'`})
			before.PutBack(t, s)
			continue
		}
		// The broken double caches signers only by the name of the pool.
		wrong, err := lost.Sign([][]draw.Award{made.Awards}, made.Rules)
		require.NoError(t, err)
		require.Error(t, opens(wrong[0].AppendTo(nil)))
	}
	NoViolations(t, s, "p")
}
