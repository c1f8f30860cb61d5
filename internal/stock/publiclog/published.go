package publiclog

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Published holds the files of a committed pool other than its log.
type Published struct {
	// Commitment is the signed note, and Key is the line with the public key.
	Commitment, Key []byte
	// Checkpoints are all signed checkpoints, joined; Checkpoint is the last one. Both
	// are empty before the first checkpoint.
	Checkpoints, Checkpoint []byte
	// Reveal is the line with the seed, empty before the reveal.
	Reveal []byte
}

// Proof returns the published files of a committed pool. Errors: CodePoolNotFound,
// CodeNotFound, and those of the store.
func (s *Store) Proof(ctx context.Context, poolID string) (p Published, err error) {
	return s.proof(ctx, poolID, 0)
}

// proof is Proof with only the last checkpoints, or with all if last is 0.
func (s *Store) proof(ctx context.Context, poolID string, last uint64) (p Published, err error) {
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		c, err := s.committed(ctx, tx, poolID)
		if err != nil {
			return err
		}
		p, err = s.published(ctx, tx, poolID, c, last)
		return err
	})
	return p, err
}

// Published returns one of the short files of a committed pool: commitment, key,
// checkpoint or reveal. Errors: CodePoolNotFound, CodeNotFound, also for a file that does
// not exist yet, and those of the store.
func (s *Store) Published(ctx context.Context, poolID, file string) ([]byte, error) {
	p, err := s.proof(ctx, poolID, 1) // only the last checkpoint: a publisher signs one each second
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{"commitment": p.Commitment, "key": p.Key, "checkpoint": p.Checkpoint, "reveal": p.Reveal}[file]
	if len(content) == 0 {
		return nil, draw.Errorf(draw.CodeNotFound, "pool %q has no %s yet", poolID, file)
	}
	return content, nil
}

func (s *Store) published(ctx context.Context, q engine.Querier, poolID string, c *committed, last uint64) (Published, error) {
	notes, err := s.checkpoints(ctx, q, poolID, last)
	if err != nil {
		return Published{}, err
	}
	p := Published{Commitment: []byte(c.note), Key: []byte(c.public + "\n"), Reveal: []byte(c.revealed), Checkpoints: proof.JoinNotes(notes)}
	if len(notes) > 0 {
		p.Checkpoint = notes[len(notes)-1]
	}
	return p, nil
}

// Reveal publishes the last seed that a closed pool used, and signs a checkpoint of its
// whole log. It returns the line with the seed. Errors: CodePoolNotFound, CodeNotFound,
// CodePoolOpen for a pool that is not closed, CodeSeedUnavailable, ErrForked, and those
// of the store.
func (s *Store) Reveal(ctx context.Context, poolID string) (reveal []byte, err error) {
	if err := s.glance(ctx, poolID, checkReveal); draw.CodeOf(err) == draw.CodePoolOpen {
		return nil, cmp.Or(s.CheckSeeds(ctx, poolID), err) // the error must not advise to close a pool whose seed cannot be unsealed
	} else if err != nil {
		return nil, err
	}
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		c, err := s.committed(ctx, tx, poolID)
		if err == nil && len(c.sealed.Salts) == 0 { // the salts were destroyed, which happens only after the reveal
			reveal = []byte(c.revealed)
		}
		return err
	})
	if err != nil || len(reveal) > 0 {
		return reveal, err
	}
	err = s.signing(ctx, poolID, func(tx *sql.Tx, of *ledger.LockedPool, by *signer) error {
		if err := checkReveal(of); err != nil {
			return err
		}
		if reveal = []byte(by.revealed); len(reveal) > 0 {
			return nil
		}
		last, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("awards", "COALESCE(MAX(version), 0)").Where(squirrel.Eq{"pool_id": poolID}), ledger.ScanInt)
		if err != nil {
			return err
		}
		place := int64(1)
		if last[0] > by.version {
			place = by.commitment.Epoch(by.version, last[0]) + 1
		}
		reveal = []byte(proof.Reveal(by.secrets.Seed.Before(by.commitment.Epochs-place), place))
		return ledger.ExecOne(ctx, tx, s.ledger.Builder().Update("commitments").Set("revealed", string(reveal)).Where(squirrel.Eq{"pool_id": poolID}))
	})
	return reveal, err
}

func checkReveal(of *ledger.LockedPool) error {
	switch {
	case of.Committed == 0:
		return errNoProof(of.Pool.ID)
	case of.Pool.State != draw.StateClosed:
		return draw.Errorf(draw.CodePoolOpen, "pool %q is %s; close it before its seed is revealed", of.Pool.ID, of.Pool.State)
	}
	return nil
}

// ExportProof signs a checkpoint of the whole log of a committed pool, unless one exists.
// It writes the log to w, and returns the other files. Errors: those of
// [Store.Checkpoint].
func (s *Store) ExportProof(ctx context.Context, poolID string, w io.Writer) (p Published, err error) {
	if err := s.Checkpoint(ctx, poolID); err != nil {
		return p, err
	}
	err = s.writeLog(ctx, poolID, w, 0, func(files Published) { p = files })
	return p, err
}

// WriteProofLog calls begin, and then writes the public log of a committed pool to w, up
// to the last checkpoint. If it fails before it calls begin, nothing was written. Errors:
// CodePoolNotFound, CodeNotFound, CodeSeedUnavailable, ErrForked, and those of the store.
func (s *Store) WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func()) error {
	return s.writeLog(ctx, poolID, w, 1, func(Published) { begin() })
}

// writeLog is WriteProofLog, but passes the other files to begin, with only the last
// checkpoints, or with all if last is 0.
func (s *Store) writeLog(ctx context.Context, poolID string, w io.Writer, last uint64, begin func(Published)) error {
	var by *signer
	var files Published
	var signed map[int64]*proof.Checkpoint
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) (err error) {
		if by, err = s.unsealAll(ctx, tx, poolID); err != nil {
			return err
		}
		if files, err = s.published(ctx, tx, poolID, by.committed, last); err != nil {
			return err
		}
		signed, err = s.lastSigned(ctx, tx, by)
		return err
	})
	if err != nil {
		return err
	}
	begin(files)
	out := bufio.NewWriter(w)
	err = s.writeSigned(ctx, by, out, slices.Max(slices.Collect(maps.Keys(signed))), last == 0)
	if err = cmp.Or(err, out.Flush()); err != nil && !errors.Is(err, ErrForked) { // with this error the caller does not start the file again
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the log of pool %q could not be read to its end", poolID)
	}
	return err
}

// writeSigned writes a log up to a signed size, and compares it with all checkpoints up
// to that size. leave means that these are published too.
func (s *Store) writeSigned(ctx context.Context, by *signer, w io.Writer, size int64, leave bool) error {
	next, stop := iter.Pull2(s.roots(ctx, by, size, leave))
	defer stop()
	c, err, more := next()
	log := s.publicLog(by.poolID, by.secrets.Salts)
	log.compared(w, func(tree *proof.Tree) error {
		if bound := by.commitment; bound.Size == tree.Size() && bound.Root != tree.Root() {
			return errForked()
		}
		for more && err == nil && c.Size <= tree.Size() {
			if c.Root != tree.Root() {
				return errForked()
			}
			c, err, more = next()
		}
		return err
	})
	if err := log.upTo(ctx, size); err != nil {
		return err
	}
	if more || log.tree.Size() < size {
		return errForked()
	}
	return nil
}
