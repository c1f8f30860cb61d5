package publiclog

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// PublicHead is the state of a committed pool.
type PublicHead struct {
	PoolID string
	// Version is the version of the pool, Mark is the mark of that version, and Revision
	// is the version of the last change.
	Version, Mark, Revision int64
	// Reveal is the line with the seed, empty before the reveal.
	Reveal []byte
}

// PublicHeads returns the head of the pool with the given id, or of all committed pools
// if poolID is "", in order of their ids. In the second case it leaves out pools whose
// secret of the tags was destroyed, because nobody can write their logs any more. Errors:
// CodePoolNotFound and CodeNotFound for a single pool, and those of the store.
func (s *Store) PublicHeads(ctx context.Context, poolID string) (heads []PublicHead, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) (err error) {
		query := s.ledger.SelectFrom("pools AS p", "p.id", "p.version", "p.mark", "p.revision", "c.revealed").
			Join("commitments AS c ON c.pool_id = p.id").OrderBy("p.id")
		if poolID != "" {
			query = query.Where(squirrel.Eq{"p.id": poolID})
		} else {
			query = query.Where("LENGTH(c.salts) > 0")
		}
		heads, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (h PublicHead, err error) {
			err = row.Scan(&h.PoolID, &h.Version, &h.Mark, &h.Revision, &h.Reveal)
			return h, err
		})
		return err
	})
	if err == nil && len(heads) == 0 && poolID != "" {
		err = s.ledger.OfPool(ctx, poolID, func(*sql.Tx, int64) error { return errNoProof(poolID) })
	}
	return heads, err
}

// SignedHead states how much of the log of a committed pool is signed.
type SignedHead struct {
	PoolID string
	// Version is the version of the pool, and Committed is that of its commitment. Signed
	// is the number of entries of the last checkpoint in the database. At is the time of
	// the last entry.
	Version, Committed, Signed int64
	At                         time.Time
}

// SignedHeads returns the signed sizes of the logs of committed pools, in order of the
// pools' ids. It leaves out revealed pools, and pools whose secret of the tags was
// destroyed. Errors: those of the store.
func (s *Store) SignedHeads(ctx context.Context) (heads []SignedHead, err error) {
	const signed = `(SELECT COALESCE(MAX(k.size), 0) FROM checkpoints AS k WHERE k.pool_id = p.id)`
	query := s.ledger.SelectFrom("pools AS p", "p.id", "p.version", "p.at", "c.version", signed).
		Join("commitments AS c ON c.pool_id = p.id").Where("LENGTH(c.salts) > 0").Where(squirrel.Eq{"c.revealed": ""}).OrderBy("p.id")
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) (err error) {
		heads, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (h SignedHead, err error) {
			err = row.Scan(&h.PoolID, &h.Version, engine.ScanTime(&h.At), &h.Committed, &h.Signed)
			return h, err
		})
		return err
	})
	return heads, err
}

// Publishing reads and signs the public log of one committed pool. It continues where the
// pool's publisher stopped.
type Publishing struct {
	*signer
	store *Store
}

// Publishing unseals the secrets that are needed to write the log of a committed pool.
// Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable, and those of the store.
func (s *Store) Publishing(ctx context.Context, poolID string) (p *Publishing, err error) {
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		by, err := s.unsealAll(ctx, tx, poolID)
		p = &Publishing{by, s}
		return err
	})
	return p, err
}

// On returns a Publishing of the same pool with another connection to its database.
func (p *Publishing) On(s *Store) *Publishing { return &Publishing{p.signer, s} }

// Commitment returns the signed note and the line with the verifier key.
func (p *Publishing) Commitment() (note, key []byte) {
	return []byte(p.note), []byte(p.public + "\n")
}

// Origin returns the origin of the log, HOST/POOL.
func (p *Publishing) Origin() string { return p.commitment.Origin }

// Sign signs the text of a checkpoint with the pool's key.
func (p *Publishing) Sign(text string) ([]byte, error) { return proof.Sign(text, p.secrets.Signer) }

// Lines reads the lines of the log from a version on, in one snapshot. It stops at about
// limit lines, after the end of a draw. Errors: CodePoolNotFound, CodeInternal for rows
// without a line, and those of the store.
func (p *Publishing) Lines(ctx context.Context, from int64, limit int) (t proof.Tail, err error) {
	err = p.store.ledger.RowsOf(ctx, p.poolID, func(q engine.Querier, _ int64) error {
		t = proof.Tail{Writable: engine.CheckWritable(ctx, q, p.store.ledger.Engine.Dialect) == nil}
		t.Lines, t.Ended, err = p.store.page(ctx, q, linesOf{poolID: p.poolID, salts: p.secrets.Salts}, from, math.MaxInt64, limit)
		return err
	})
	return t, err
}

// Signed returns at most signedMax signed checkpoints whose number of entries is greater
// than after, in order of their sizes. Errors: those of the store.
func (p *Publishing) Signed(ctx context.Context, after int64) (notes [][]byte, err error) {
	err = p.store.ledger.Snapshot(ctx, func(tx *sql.Tx) (err error) {
		query := p.store.selectCheckpoints(p.poolID).Where(squirrel.Gt{"size": after}).OrderBy("size").Limit(signedMax)
		notes, err = ledger.SelectAll(ctx, tx, query, scanNote)
		return err
	})
	return notes, err
}

// Keep stores a checkpoint that the pool's publisher signed, or adds signatures to a
// stored one. It does nothing if the database is opened read-only. Errors: ErrForked if
// another root was signed for the same size, and those of the store.
func (p *Publishing) Keep(ctx context.Context, size int64, note []byte) error {
	if p.store.ledger.ReadOnly {
		return nil
	}
	return p.store.keepCheckpoint(ctx, p.signer, size, note)
}

// KeepCheckpoint stores a checkpoint that the publisher of a committed pool signed
// elsewhere, or adds signatures to a stored one. Errors: CodeInvalidRequest for a note
// that the pool's key has not signed; CodePoolNotFound; CodeNotFound for a pool that is
// not committed; CodeLogForked if another root was signed for the same size, or the pool
// has fewer entries; and those of the store.
func (s *Store) KeepCheckpoint(ctx context.Context, poolID string, note []byte) error {
	var by *signer
	var c *proof.Checkpoint
	err := s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, version int64) (err error) {
		if by, err = s.readSigner(ctx, tx, poolID); err != nil {
			return err
		}
		if c, err = proof.OpenCheckpoint(note, by.key); err == nil && c.Size > version {
			err = draw.Wrap(draw.CodeLogForked, ErrForked, "the checkpoint is of %d entries, and the pool has %d", c.Size, version)
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.keepCheckpoint(ctx, by, c.Size, note)
}

func (s *Store) keepCheckpoint(ctx context.Context, p *signer, size int64, note []byte) error {
	return s.ledger.Change(ctx, func(tx *sql.Tx) error {
		is := squirrel.Eq{"pool_id": p.poolID, "size": size}
		kept, err := ledger.SelectAll(ctx, tx, s.selectCheckpoints(p.poolID).Where(squirrel.Eq{"size": size}), scanNote)
		switch {
		case err != nil:
			return err
		case len(kept) == 0:
			return s.insertCheckpoint(ctx, tx, p.poolID, size, note)
		case string(kept[0]) == string(note):
			return nil
		}
		signed, err := p.signed([][]byte{kept[0], note})
		if err != nil {
			return err
		}
		first, err := p.signed(kept)
		if err != nil {
			return err
		}
		if first[size].Root != signed[size].Root {
			return errForked()
		}
		if len(kept[0]) >= len(note) {
			return nil // the stored note already has these signatures
		}
		return ledger.ExecOne(ctx, tx, s.ledger.Builder().Update("checkpoints").Set("note", string(note)).Where(is))
	})
}
