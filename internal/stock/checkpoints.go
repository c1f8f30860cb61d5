package stock

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// selectCheckpoints are the signed notes of a pool.
func (s *Store) selectCheckpoints(poolID string) squirrel.SelectBuilder {
	return s.selectFrom("checkpoints", "note").Where(squirrel.Eq{"pool_id": poolID})
}

func scanNote(row engine.Scanner) (note []byte, err error) { return note, row.Scan(&note) }

// checkpoints are the last signed notes of a pool, for last 0 all, in order of
// their sizes.
func (s *Store) checkpoints(ctx context.Context, q engine.Querier, poolID string, last uint64) ([][]byte, error) {
	query := s.selectCheckpoints(poolID).OrderBy("size DESC")
	if last > 0 {
		query = query.Limit(last)
	}
	notes, err := selectAll(ctx, q, query, scanNote)
	slices.Reverse(notes)
	return notes, err
}

// signed are the checkpoints of notes and the commitment's, by size.
func (by *signer) signed(notes [][]byte) (map[int64]*proof.Checkpoint, error) {
	key, err := proof.Verifier(by.public)
	if err != nil {
		return nil, err
	}
	c := by.commitment
	all := map[int64]*proof.Checkpoint{c.Size: {Origin: c.Origin, Size: c.Size, Root: c.Root}}
	for _, note := range notes {
		text, err := proof.Open(note, key)
		if err != nil {
			return nil, draw.Wrap(draw.CodeInternal, err, "a checkpoint of pool %q cannot be read", by.poolID)
		}
		one, err := proof.ParseCheckpoint(text)
		if err != nil {
			return nil, err
		}
		all[one.Size] = one
	}
	return all, nil
}

// Checkpoint signs a checkpoint of a committed pool's whole log, where none
// covers it. Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable,
// ErrForked, and those of the store.
func (s *Store) Checkpoint(ctx context.Context, poolID string) error {
	return s.signing(ctx, poolID, func(*sql.Tx, *lockedPool, *signer) error { return nil })
}

// signing signs a checkpoint where none covers the log of a committed pool, and
// runs fn in the same transaction, with the pool's row locked.
func (s *Store) signing(ctx context.Context, poolID string, fn func(*sql.Tx, *lockedPool, *signer) error) error {
	var by *signer
	var signed map[int64]*proof.Checkpoint
	err := s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) (err error) {
		if by, err = s.unsealAll(ctx, tx, poolID); err == nil {
			signed, err = s.signedOf(ctx, tx, by)
		}
		return err
	})
	if err != nil {
		return err
	}
	begin := func() *publicLog {
		log := s.publicLog(poolID, by.secrets.Salts)
		log.compared(io.Discard, maps.Clone(signed))
		return log
	}
	return s.withLog(ctx, begin, func(tx *sql.Tx, log *publicLog) error {
		of, err := s.lockPool(ctx, tx, poolID, "")
		if err != nil {
			return err
		}
		if err := log.behind(ctx, tx, of.head.Version); err != nil {
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

// sign signs a checkpoint of the log of a pool whose row is locked, where none
// covers it. Error: ErrForked where another root was signed of its size, or the
// log does not reach as far as was signed.
func (s *Store) sign(ctx context.Context, tx *sql.Tx, by *signer, tree *proof.Tree) error {
	// A publisher signs one each second: reading the smaller ones would hold up draws.
	notes, err := selectAll(ctx, tx, s.selectCheckpoints(by.poolID).Where(squirrel.GtOrEq{"size": tree.Size()}), scanNote)
	if err != nil {
		return err
	}
	signed, err := by.signed(notes)
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

// insertCheckpoint stores a note. A publisher does not lock the pool, and may store
// one of the same size meanwhile: then the next attempt finds it.
func (s *Store) insertCheckpoint(ctx context.Context, tx *sql.Tx, poolID string, size int64, note []byte) error {
	_, err := s.insertInto("checkpoints").Columns("pool_id", "size", "note").Values(poolID, size, string(note)).RunWith(tx).ExecContext(ctx)
	if s.isDuplicate(err) {
		return errors.Join(engine.ErrConflict, err)
	}
	return err
}

// signedOf are the checkpoints of a pool and the commitment's, by size.
func (s *Store) signedOf(ctx context.Context, q engine.Querier, by *signer) (map[int64]*proof.Checkpoint, error) {
	notes, err := s.checkpoints(ctx, q, by.poolID, 0)
	if err != nil {
		return nil, err
	}
	return by.signed(notes)
}
