package stocktest

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/proof"
	"drawsvc/internal/stock"
)

// The keys that tests use for sealing. They protect nothing.
const (
	// Recipient is the recipient to whom tests seal.
	Recipient = "age1rrdjwypxy2pny5kuzrfdc8nvqv0ge9hzhqca37nz9j3qa4uxz9hqut86tf"
	// Identity unseals secrets that are sealed to Recipient.
	Identity = "AGE-SECRET-KEY-10FKJMCR5CH5WSAL52UM9CFJDRZ33ZS62580P9TEPAQ8GJTTY653SQSX4PP"
)

// Identities returns identities that unseal secrets which are sealed to Recipient.
func Identities(tb testing.TB) *proof.Identities {
	tb.Helper()
	by, err := proof.ParseIdentities(Identity)
	require.NoError(tb, err)
	return by
}

// Commit commits a paused pool.
func Commit(tb testing.TB, s *stock.Store, poolID string, epochs, length int64) error {
	tb.Helper()
	return commit(tb, s, stock.Committing{PoolID: poolID, Epochs: epochs, EpochLength: length})
}

// CommitWithReceipts is Commit for a pool that answers every draw with a receipt.
func CommitWithReceipts(tb testing.TB, s *stock.Store, poolID string, epochs, length int64) error {
	tb.Helper()
	return commit(tb, s, stock.Committing{PoolID: poolID, Epochs: epochs, EpochLength: length, Receipts: true})
}

func commit(tb testing.TB, s *stock.Store, w stock.Committing) error {
	tb.Helper()
	to, err := proof.ParseRecipients(Recipient)
	require.NoError(tb, err)
	w.Host, w.Recipients, w.Actor = "draws.example.org", to, "test"
	_, err = s.CommitPool(tb.Context(), w)
	return err
}

// Export writes the files of a committed pool and returns their folder.
func Export(tb testing.TB, s *stock.Store, poolID string) (string, fs.FS) {
	tb.Helper()
	dir := tb.TempDir()
	log, err := os.Create(filepath.Join(dir, "log.jsonl"))
	require.NoError(tb, err)
	files, err := s.ExportProof(tb.Context(), poolID, log)
	require.NoError(tb, err)
	require.NoError(tb, log.Close())
	for name, b := range map[string][]byte{
		"commitment": files.Commitment, "key": files.Key, "checkpoint": files.Checkpoint, "checkpoints": files.Checkpoints, "reveal": files.Reveal,
	} {
		require.NoError(tb, os.WriteFile(filepath.Join(dir, name), b, 0o600))
	}
	return dir, os.DirFS(dir)
}
