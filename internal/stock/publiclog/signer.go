package publiclog

import (
	"context"
	"errors"

	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// ErrForked means that the root of a pool's rows differs from a signed root: rows were
// changed, or versions were lost.
var ErrForked = errors.New("stock: the log disagrees with what was signed")

func errForked() error {
	return draw.Wrap(draw.CodeLogForked, ErrForked, "the rows of the pool are not those that were signed")
}

// signer writes and signs the log of a committed pool.
type signer struct {
	*committed
	commitment *proof.Commitment
	key        note.Verifier
	secrets    proof.Secrets
	poolID     string
}

// unsealAll reads a commitment and unseals its secrets.
func (s *Store) unsealAll(ctx context.Context, q engine.Querier, poolID string) (*signer, error) {
	by, err := s.readSigner(ctx, q, poolID)
	if err == nil {
		by.secrets, err = by.sealed.Open(s.identities.Load())
	}
	return by, err
}

// readSigner reads a commitment without its secrets. The result can only verify.
func (s *Store) readSigner(ctx context.Context, q engine.Querier, poolID string) (*signer, error) {
	c, err := s.committed(ctx, q, poolID)
	if err != nil {
		return nil, err
	}
	commitment, err := c.commitment()
	if err != nil {
		return nil, err
	}
	key, err := c.verifier()
	return &signer{committed: c, commitment: commitment, key: key, poolID: poolID}, err
}

// signed returns the checkpoints in notes, and that of the commitment, by size. Error:
// ErrForked for a note that the pool's key has not signed.
func (by *signer) signed(notes [][]byte) (map[int64]*proof.Checkpoint, error) {
	c := by.commitment
	all := map[int64]*proof.Checkpoint{c.Size: {Origin: c.Origin, Size: c.Size, Root: c.Root}}
	for _, note := range notes {
		one, err := proof.OpenCheckpoint(note, by.key)
		if err != nil {
			return nil, errForged("a checkpoint", err)
		}
		all[one.Size] = one
	}
	return all, nil
}

// errForged returns the error for a row that differs from what the pool's key has signed.
func errForged(what string, why error) error {
	return draw.Wrap(draw.CodeLogForked, ErrForked, "%s is not the one that was signed: %s", what, draw.DetailOf(why))
}
