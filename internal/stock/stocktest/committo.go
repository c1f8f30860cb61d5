package stocktest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// CommitTo commits a paused pool to a commitment and a seed that are given. The
// commitment's log need not be the pool's: what versions give does not depend on
// it, and a pool that is committed so gives the same as all others that are.
func CommitTo(tb testing.TB, s *stock.Store, poolID string, c *proof.Commitment, seed proof.Seed) error {
	tb.Helper()
	if err := Commit(tb, s, poolID, c.Epochs, c.EpochLength); err != nil {
		return err
	}
	signer, public, err := proof.NewKey(c.Origin)
	require.NoError(tb, err)
	note, err := proof.Sign(c.Text(), signer)
	require.NoError(tb, err)
	to, err := proof.ParseRecipients(Recipient)
	require.NoError(tb, err)
	sealed, err := to.Seal(seed[:])
	require.NoError(tb, err)
	update, err := s.Engine().Dialect.Placeholder.ReplacePlaceholders(`UPDATE commitments SET note = ?, public = ?, seed = ? WHERE pool_id = ?`)
	require.NoError(tb, err)
	result, err := s.LockDB().ExecContext(tb.Context(), update, string(note), public, sealed, poolID)
	require.NoError(tb, err)
	n, err := result.RowsAffected()
	require.NoError(tb, err)
	if n != 1 {
		return fmt.Errorf("%d commitments were replaced", n)
	}
	return nil
}
