package stock

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"io"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// Published are the files of a committed pool beside its log.
type Published struct {
	// Commitment is the signed note, Key the public key's line.
	Commitment, Key []byte
	// Checkpoints are those that were signed, joined; Checkpoint is the last.
	// Both are empty before the first.
	Checkpoints, Checkpoint []byte
	// Reveal is the seed's line, empty before the reveal.
	Reveal []byte
}

// ErrForked says that the rows of a pool have another root than one that was
// signed: they were changed, or versions were lost.
var ErrForked = errors.New("stock: the log disagrees with what was signed")

func errForked() error {
	return draw.Wrap(draw.CodeInternal, ErrForked, "the rows of the pool are not those that were signed")
}

// Proof returns what is published of a committed pool. Errors: CodePoolNotFound,
// CodeProofNotFound, and those of the store.
func (s *Store) Proof(ctx context.Context, poolID string) (p Published, err error) {
	return s.proof(ctx, poolID, 0)
}

// proof is Proof with the last checkpoints alone, for 0 with all.
func (s *Store) proof(ctx context.Context, poolID string, last uint64) (p Published, err error) {
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
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
// checkpoint or reveal. Errors: CodePoolNotFound, CodeProofNotFound, also for a
// file that is not there yet, and those of the store.
func (s *Store) Published(ctx context.Context, poolID, file string) ([]byte, error) {
	p, err := s.proof(ctx, poolID, 1) // a publisher signs one each second
	if err != nil {
		return nil, err
	}
	content := map[string][]byte{"commitment": p.Commitment, "key": p.Key, "checkpoint": p.Checkpoint, "reveal": p.Reveal}[file]
	if len(content) == 0 {
		return nil, draw.Errorf(draw.CodeProofNotFound, "pool %q has no %s yet", poolID, file)
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

// checkpoints are the last signed notes of a pool, for last 0 all, in order of
// their sizes.
func (s *Store) checkpoints(ctx context.Context, q engine.Querier, poolID string, last uint64) ([][]byte, error) {
	query := s.selectFrom("checkpoints", "note").Where(squirrel.Eq{"pool_id": poolID}).OrderBy("size DESC")
	if last > 0 {
		query = query.Limit(last)
	}
	notes, err := selectAll(ctx, q, query, scanNote)
	slices.Reverse(notes)
	return notes, err
}

// signer is what signs and writes the log of a committed pool.
type signer struct {
	*committed
	commitment *proof.Commitment
	secrets    proof.Secrets
	poolID     string
}

// unsealAll reads a commitment and unseals its secrets.
func (s *Store) unsealAll(ctx context.Context, q engine.Querier, poolID string) (*signer, error) {
	c, err := s.committed(ctx, q, poolID)
	if err != nil {
		return nil, err
	}
	commitment, err := c.commitment()
	if err != nil {
		return nil, draw.Wrap(draw.CodeInternal, err, "the commitment of pool %q cannot be read", poolID)
	}
	secrets, err := c.sealed.Open(s.options.Identities)
	return &signer{c, commitment, secrets, poolID}, err
}

// write writes the log to w, and compares it with every root that was signed:
// all of it, or what the last checkpoint covers. It returns the tree over it.
// Error: ErrForked.
func (s *Store) write(ctx context.Context, q engine.Querier, by *signer, w io.Writer, covered bool) (*proof.Tree, error) {
	notes, err := s.checkpoints(ctx, q, by.poolID, 0)
	if err != nil {
		return nil, err
	}
	signed, err := by.signed(notes)
	if err != nil {
		return nil, err
	}
	var tree proof.Tree
	var line []byte
	out := bufio.NewWriter(w)
	for l, err := range s.lines(ctx, q, by.poolID, by.secrets.Salts) {
		if err != nil {
			return nil, err
		}
		line = l.Append(line[:0])
		tree.Add(line)
		if c := signed[tree.Size()]; c != nil && c.Root != tree.Root() {
			return nil, errForked()
		}
		delete(signed, tree.Size())
		if _, err := out.Write(line); err != nil {
			return nil, err
		}
		if covered && len(signed) == 0 {
			break
		}
	}
	if len(signed) > 0 {
		return nil, errForked()
	}
	return &tree, out.Flush()
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
// covers it. Errors: CodePoolNotFound, CodeProofNotFound, CodeSeedUnavailable,
// ErrForked, and those of the store.
func (s *Store) Checkpoint(ctx context.Context, poolID string) error {
	return s.change(ctx, func(tx *sql.Tx) error {
		if _, err := s.lockPool(ctx, tx, poolID, ""); err != nil {
			return err
		}
		by, err := s.unsealAll(ctx, tx, poolID)
		if err != nil {
			return err
		}
		return s.sign(ctx, tx, by)
	})
}

// sign signs a checkpoint where none covers the log of a pool whose row is locked.
func (s *Store) sign(ctx context.Context, tx *sql.Tx, by *signer) error {
	tree, err := s.write(ctx, tx, by, io.Discard, false)
	if err != nil {
		return err
	}
	covered, err := selectAll(ctx, tx, s.selectFrom("checkpoints", "COUNT(*)").Where(squirrel.Eq{"pool_id": by.poolID, "size": tree.Size()}), scanInt)
	if err != nil || covered[0] > 0 {
		return err
	}
	c := proof.Checkpoint{Origin: by.commitment.Origin, Size: tree.Size(), Root: tree.Root()}
	note, err := proof.Sign(c.Text(), by.secrets.Signer)
	if err != nil {
		return err
	}
	_, err = s.insertInto("checkpoints").Columns("pool_id", "size", "note").Values(by.poolID, c.Size, string(note)).RunWith(tx).ExecContext(ctx)
	return err
}

// Reveal publishes the last seed that a closed pool used, and signs a checkpoint
// of its whole log. It returns the seed's line. Errors: CodePoolNotFound,
// CodeProofNotFound, CodePoolOpen for a pool that is not closed,
// CodeSeedUnavailable, ErrForked, and those of the store.
func (s *Store) Reveal(ctx context.Context, poolID string) (reveal []byte, err error) {
	err = s.change(ctx, func(tx *sql.Tx) error {
		of, err := s.lockPool(ctx, tx, poolID, "")
		if err != nil {
			return err
		}
		if of.committed == 0 {
			return errNoProof(poolID)
		}
		if of.pool.State != draw.StateClosed {
			return draw.Errorf(draw.CodePoolOpen, "pool %q is %s; close it before its seed is revealed", poolID, of.pool.State)
		}
		by, err := s.unsealAll(ctx, tx, poolID)
		if err != nil {
			return err
		}
		if err := s.sign(ctx, tx, by); err != nil {
			return err
		}
		if reveal = []byte(by.revealed); len(reveal) > 0 {
			return nil
		}
		last, err := selectAll(ctx, tx, s.selectFrom("awards", "COALESCE(MAX(version), 0)").Where(squirrel.Eq{"pool_id": poolID}), scanInt)
		if err != nil {
			return err
		}
		place := int64(1)
		if last[0] > by.version {
			place = by.commitment.Epoch(by.version, last[0]) + 1
		}
		reveal = []byte(proof.Reveal(by.secrets.Seed.Before(by.commitment.Epochs-place), place))
		return execOne(ctx, tx, s.builder().Update("commitments").Set("revealed", string(reveal)).Where(squirrel.Eq{"pool_id": poolID}))
	})
	return reveal, err
}

// ExportProof writes the public log of a committed pool to w, signs a checkpoint
// where none covers it, and returns the other files. Errors: those of
// [Store.Checkpoint].
func (s *Store) ExportProof(ctx context.Context, poolID string, w io.Writer) (p Published, err error) {
	if err := s.Checkpoint(ctx, poolID); err != nil {
		return p, err
	}
	err = s.WriteProofLog(ctx, poolID, w, func(files Published) { p = files })
	return p, err
}

// WriteProofLog writes the public log of a committed pool to w, as far as the last
// checkpoint covers it, behind a call of begin with the other files. Errors: CodePoolNotFound, CodeProofNotFound,
// CodeSeedUnavailable, ErrForked, and those of the store; before begin
// nothing was written.
func (s *Store) WriteProofLog(ctx context.Context, poolID string, w io.Writer, begin func(Published)) error {
	return s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		by, err := s.unsealAll(ctx, tx, poolID)
		if err != nil {
			return err
		}
		files, err := s.published(ctx, tx, poolID, by.committed, 0)
		if err != nil {
			return err
		}
		begin(files)
		if _, err = s.write(ctx, tx, by, w, true); err != nil { // what is begun is not begun again
			return draw.Wrap(draw.CodeStoreUnavailable, err, "the log of pool %q could not be read to its end", poolID)
		}
		return nil
	})
}
