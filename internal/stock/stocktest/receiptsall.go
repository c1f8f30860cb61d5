package stocktest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// testReceiptsForAll: a pool that gives receipts is not drawn from where none can
// be signed; the change that committed it says that it gives them.
func testReceiptsForAll(t *testing.T, s *stock.Store) {
	ctx := t.Context()
	s.Unseal(Identities(t))
	Pool(t, s, "p", 10)
	setState(t, s, "p", draw.StatePaused)
	require.NoError(t, CommitWithReceipts(t, s, "p", 4, 1000))
	setState(t, s, "p", draw.StateOpen)
	made, err := drawOne(t, s, draw.NewUrn("p"), stock.TxOptions{}, "ann", "d1")
	require.NoError(t, err)
	require.True(t, made.Receipt)
	require.True(t, made.Ruled)

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

	// As with an escrow's identity, which unseals the seed alone.
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
	_, err = drawOne(t, s, draw.NewUrn("silent"), stock.TxOptions{}, "ann", "d1")
	require.NoError(t, err)
	_, err = drawOne(t, s, draw.NewUrn("signing"), stock.TxOptions{}, "ann", "d1")
	code(t, draw.CodeSeedUnavailable, err)
}
