package publiclog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// selectCheckpoints selects the signed notes of a pool.
func (s *Store) selectCheckpoints(poolID string) squirrel.SelectBuilder {
	return s.ledger.SelectFrom("checkpoints", "note").Where(squirrel.Eq{"pool_id": poolID})
}

func scanNote(row engine.Scanner) (note []byte, err error) { return note, row.Scan(&note) }

// checkpoints returns the signed notes of a pool in order of their sizes: the last ones,
// or all if last is 0.
func (s *Store) checkpoints(ctx context.Context, q engine.Querier, poolID string, last uint64) ([][]byte, error) {
	query := s.selectCheckpoints(poolID).OrderBy("size DESC")
	if last > 0 {
		query = query.Limit(last)
	}
	notes, err := ledger.SelectAll(ctx, q, query, scanNote)
	slices.Reverse(notes)
	return notes, err
}

// Checkpoint signs a checkpoint of the whole log of a committed pool, unless one exists.
// Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable, ErrForked, and those of
// the store.
func (s *Store) Checkpoint(ctx context.Context, poolID string) error {
	return s.signing(ctx, poolID, func(*sql.Tx, *ledger.LockedPool, *signer) error { return nil })
}

// signing signs a checkpoint of the whole log of a committed pool, unless one exists. It
// runs fn in the same transaction, with the pool's row locked.
func (s *Store) signing(ctx context.Context, poolID string, fn func(*sql.Tx, *ledger.LockedPool, *signer) error) error {
	var by *signer
	var signed map[int64]*proof.Checkpoint
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) (err error) {
		if by, err = s.unsealAll(ctx, tx, poolID); err == nil {
			signed, err = s.lastSigned(ctx, tx, by)
		}
		return err
	})
	if err != nil {
		return err
	}
	begin := func() *publicLog {
		log := s.publicLog(poolID, by.secrets.Salts)
		log.compared(io.Discard, func(tree *proof.Tree) error {
			if c := signed[tree.Size()]; c != nil && c.Root != tree.Root() {
				return errForked()
			}
			return nil
		})
		return log
	}
	return s.withLog(ctx, begin, func(tx *sql.Tx, log *publicLog) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, "")
		if err != nil {
			return err
		}
		if err := log.behind(ctx, tx, of.Head.Version); err != nil {
			return err
		}
		if by, err = s.unsealAll(ctx, tx, poolID); err != nil {
			return err
		}
		if err := s.sign(ctx, tx, by, &log.tree); err != nil {
			return err
		}
		return fn(tx, of, by)
	})
}

// sign signs a checkpoint of the whole log of a pool, unless one exists. The pool's row
// is locked. Error: ErrForked if another root was signed for the same size, or if a
// longer log was signed.
func (s *Store) sign(ctx context.Context, tx *sql.Tx, by *signer, tree *proof.Tree) error {
	signed, err := s.lastSigned(ctx, tx, by)
	if err != nil {
		return err
	}
	for size := range signed {
		if size > tree.Size() {
			return errForked()
		}
	}
	c := proof.Checkpoint{Origin: by.commitment.Origin, Size: tree.Size(), Root: tree.Root()}
	if known := signed[c.Size]; known != nil {
		if known.Root != c.Root {
			return errForked()
		}
		return nil
	}
	note, err := proof.Sign(c.Text(), by.secrets.Signer)
	if err != nil {
		return err
	}
	return s.insertCheckpoint(ctx, tx, by.poolID, c.Size, note)
}

// insertCheckpoint stores a note. A publisher does not lock the pool, so it may store a
// checkpoint of the same size at the same time. Then the next attempt finds that
// checkpoint.
func (s *Store) insertCheckpoint(ctx context.Context, tx *sql.Tx, poolID string, size int64, note []byte) error {
	_, err := s.ledger.InsertInto("checkpoints").Columns("pool_id", "size", "note").Values(poolID, size, string(note)).RunWith(tx).ExecContext(ctx)
	if s.ledger.IsDuplicate(err) {
		return errors.Join(engine.ErrConflict, err)
	}
	return err
}

// lastSigned returns two checkpoints, by size: the last one of a pool and that of its
// commitment. A log with the last root contains every log that was signed before. So
// older checkpoints need no check. There may be many, because a publisher makes one each
// second.
func (s *Store) lastSigned(ctx context.Context, q engine.Querier, by *signer) (map[int64]*proof.Checkpoint, error) {
	notes, err := s.checkpoints(ctx, q, by.poolID, 1)
	if err != nil {
		return nil, err
	}
	return by.signed(notes)
}

// signedMax is the maximum number of checkpoints in one page.
const signedMax = 1000

// roots returns the checkpoints of a pool up to a size, in order of their sizes, a page
// at a time. It verifies their signatures only if leave is set, because they are
// published then. Otherwise the last checkpoint suffices: if it is verified and the log
// has its root, the roots of the others follow.
func (s *Store) roots(ctx context.Context, by *signer, last int64, leave bool) iter.Seq2[*proof.Checkpoint, error] {
	return func(yield func(*proof.Checkpoint, error) bool) {
		for after := int64(0); after < last; {
			var page []*proof.Checkpoint
			err := s.ledger.Snapshot(ctx, func(tx *sql.Tx) (err error) {
				query := s.ledger.SelectFrom("checkpoints", "size", "note").Where(squirrel.Eq{"pool_id": by.poolID}).
					Where(squirrel.Gt{"size": after}).Where(squirrel.LtOrEq{"size": last}).OrderBy("size").Limit(signedMax)
				page, err = ledger.SelectAll(ctx, tx, query, by.scanRoot(leave))
				return err
			})
			if err != nil {
				yield(nil, err)
				return
			}
			for _, c := range page {
				if after = c.Size; !yield(c, nil) {
					return
				}
			}
			if len(page) < signedMax {
				return
			}
		}
	}
}

// scanRoot reads a checkpoint. It must have the size that its row states and, if isSigned
// is set, a valid signature. Error: ErrForked if the row was changed.
func (by *signer) scanRoot(isSigned bool) func(engine.Scanner) (*proof.Checkpoint, error) {
	return func(row engine.Scanner) (*proof.Checkpoint, error) {
		var size int64
		var note []byte
		if err := row.Scan(&size, &note); err != nil {
			return nil, err
		}
		c, err := proof.ReadCheckpoint(note)
		if err == nil && isSigned {
			c, err = proof.OpenCheckpoint(note, by.key)
		}
		if err == nil && c.Size != size {
			err = draw.Errorf(draw.CodeInvalidRequest, "it is of %d", c.Size)
		}
		if err != nil {
			return nil, errForged(fmt.Sprintf("the checkpoint of %d entries", size), err)
		}
		return c, nil
	}
}
