package publiclog

import (
	"context"

	"github.com/Masterminds/squirrel"
	"golang.org/x/mod/sumdb/note"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// committed is a commitment in the form in which the database stores it.
type committed struct {
	version                int64
	note, public, revealed string
	sealed                 proof.Sealed
}

// committed reads the commitment of a pool. Error: CodeNotFound if it has none.
func (s *Store) committed(ctx context.Context, q engine.Querier, poolID string) (*committed, error) {
	query := s.ledger.SelectFrom("commitments", "version", "note", "public", "revealed", "seed", "salts", "signer").Where(squirrel.Eq{"pool_id": poolID})
	found, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (c committed, err error) {
		err = row.Scan(&c.version, &c.note, &c.public, &c.revealed, &c.sealed.Seed, &c.sealed.Salts, &c.sealed.Signer)
		return c, err
	})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNoProof(poolID)
	}
	return &found[0], nil
}

func errNoProof(poolID string) error {
	return draw.Errorf(draw.CodeNotFound, "pool %q is not committed to its numbers", poolID)
}

// commitment reads the note, after a check that the pool's own key has signed it. Error:
// CodeRulesUnreadable.
func (c *committed) commitment() (*proof.Commitment, error) {
	key, err := c.verifier()
	if err != nil {
		return nil, err
	}
	text, err := proof.Open([]byte(c.note), key)
	if err != nil {
		return nil, draw.Unreadable("the commitment of version %d", err, c.version)
	}
	commitment, err := proof.ParseCommitment(text)
	if err != nil {
		return nil, draw.Unreadable("the commitment of version %d", err, c.version)
	}
	return commitment, nil
}

// verifier reads the pool's own key. Error: CodeRulesUnreadable.
func (c *committed) verifier() (note.Verifier, error) {
	key, err := proof.Verifier(c.public)
	if err != nil {
		return nil, draw.Unreadable("the key of the commitment of version %d", err, c.version)
	}
	return key, nil
}

// numbers unseals the seed and checks that the commitment's anchor is derived from it,
// because a wrong seed must not be used for draws.
func (c *committed) numbers(by *proof.Identities) (*proof.Numbers, error) {
	commitment, err := c.commitment()
	if err != nil {
		return nil, err
	}
	plain, err := by.Unseal(c.sealed.Seed)
	if err != nil {
		return nil, err
	}
	var seed proof.Seed
	numbers, follows := (*proof.Numbers)(nil), false
	if copy(seed[:], plain) == len(seed) && len(plain) == len(seed) {
		numbers, follows = proof.NewNumbers(commitment, c.version, seed, commitment.Epochs)
	}
	if !follows {
		return nil, draw.Errorf(draw.CodeSeedUnavailable, "the sealed seed is not the one that the pool is committed to")
	}
	return numbers, nil
}

// committedBody is the body of the change that commits a pool. The public log contains
// only its hash.
type committedBody struct {
	Hash string `json:"hash"`
	// Receipts means that every draw of the pool returns a receipt.
	Receipts bool `json:"receipts,omitempty"`
}
