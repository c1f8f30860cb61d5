package stocktest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// CommitTo commits a paused pool to a given commitment and seed. The commitment may name
// the log of another pool. Results do not depend on that name, so all pools with this
// commitment give the same results.
func CommitTo(tb testing.TB, s *stock.Store, poolID string, c *proof.Commitment, seed proof.Seed) error {
	tb.Helper()
	if err := Commit(tb, s, poolID, c.Epochs, c.EpochLength); err != nil {
		return err
	}
	signer, public, err := proof.NewKey(c.Origin)
	require.NoError(tb, err)
	note, err := proof.Sign(c.Text(), signer)
	require.NoError(tb, err)
	if err := replaceCommitment(tb, s, poolID, `note = ?, public = ?`, string(note), public); err != nil {
		return err
	}
	return Reseal(tb, s, poolID, seed)
}

// Reseal replaces the seed of a pool by another, sealed one.
func Reseal(tb testing.TB, s *stock.Store, poolID string, seed proof.Seed) error {
	tb.Helper()
	to, err := proof.ParseRecipients(Recipient)
	require.NoError(tb, err)
	sealed, err := to.Seal(seed[:])
	require.NoError(tb, err)
	return replaceCommitment(tb, s, poolID, `seed = ?`, sealed)
}

// replaceCommitment sets columns of a pool's commitment.
func replaceCommitment(tb testing.TB, s *stock.Store, poolID, set string, values ...any) error {
	tb.Helper()
	update, err := s.Engine().Dialect.Placeholder.ReplacePlaceholders(`UPDATE commitments SET ` + set + ` WHERE pool_id = ?`)
	require.NoError(tb, err)
	result, err := s.LockDB().ExecContext(tb.Context(), update, append(values, poolID)...)
	require.NoError(tb, err)
	n, err := result.RowsAffected()
	require.NoError(tb, err)
	if n != 1 {
		return fmt.Errorf("%d commitments were replaced", n)
	}
	return nil
}
