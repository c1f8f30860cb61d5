package publiclog

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/hex"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/ledger"
)

// Committing is a request to commit a pool to the numbers of its draws.
type Committing struct {
	PoolID string
	// Host is the first part of the pool's origin.
	Host                string
	Epochs, EpochLength int64
	// Beacon changes the numbers at every opening; nil means no beacon. StockWhileOpen
	// weakens the beacon: it allows moves of stock while the pool is open.
	Beacon         *proof.Beacon
	StockWhileOpen bool
	// Receipts makes every draw of the pool return a receipt.
	Receipts bool
	// Recipients can unseal the secrets. Escrow, if it is not nil, can unseal only the
	// seed.
	Recipients, Escrow *proof.Recipients
	Actor              string
}

// CommitPool commits a paused pool to its numbers permanently, and returns
// the signed note. Errors: CodeInvalidRequest, CodePoolNotFound, CodePoolOpen,
// CodePoolClosed, CodePoolCommitted, and those of the store.
func (s *Store) CommitPool(ctx context.Context, w Committing) (note []byte, err error) {
	c := &proof.Commitment{
		Origin: w.Host + "/" + w.PoolID, Epochs: w.Epochs, EpochLength: w.EpochLength, Beacon: w.Beacon, StockWhileOpen: w.StockWhileOpen, Size: 1,
	}
	if err := cmp.Or(c.Check(), draw.CheckActor(w.Actor)); err != nil {
		return nil, err
	}
	secrets := proof.Secrets{Seed: proof.NewSeed(), Salts: proof.NewSalts()}
	c.Anchor = secrets.Seed.Before(c.Epochs)
	var public string
	if secrets.Signer, public, err = proof.NewKey(c.Origin); err != nil {
		return nil, err
	}
	sealed, err := w.seal(&secrets)
	if err != nil {
		return nil, draw.WrapInternal(err, "the seeds cannot be sealed")
	}
	if err := s.glance(ctx, w.PoolID, checkCommit); err != nil {
		return nil, err
	}
	begin := func() *publicLog { return s.publicLog(w.PoolID, secrets.Salts) }
	err = s.withLog(ctx, begin, func(tx *sql.Tx, log *publicLog) error {
		of, err := s.ledger.LockPool(ctx, tx, w.PoolID, w.Actor)
		if err != nil {
			return err
		}
		if err := cmp.Or(checkCommit(of), s.checkClaims(ctx, tx, of, c), s.checkNoMoments(ctx, tx, of, c)); err != nil {
			return err
		}
		if !log.stood(of.Head.Version) {
			return draw.Wrap(draw.CodeContended, errMoved, "pool %q changes too often to be committed; nothing happened", w.PoolID)
		}
		if err := log.behind(ctx, tx, of.Head.Version); err != nil {
			return err
		}
		c.Size, c.Root = log.tree.Size(), log.tree.Root()
		if note, err = proof.Sign(c.Text(), secrets.Signer); err != nil {
			return err
		}
		version, hash := of.Head.Version+1, c.Hash()
		_, err = s.ledger.InsertInto("commitments").Columns("pool_id", "version", "note", "public", "seed", "salts", "signer").
			Values(w.PoolID, version, string(note), public, sealed.Seed, sealed.Salts, sealed.Signer).RunWith(tx).ExecContext(ctx)
		if err != nil {
			return err
		}
		body := committedBody{Hash: hex.EncodeToString(hash[:]), Receipts: w.Receipts}
		return s.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatCommit, Body: body, Set: map[string]any{"committed": version}}})
	})
	if err != nil {
		return nil, err
	}
	s.ledger.Changed(w.PoolID)
	return note, nil
}

// checkClaims returns an error if the rules in force do not fit a commitment.
func (s *Store) checkClaims(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, c *proof.Commitment) error {
	r, err := s.ledger.Ruling(ctx, tx, of.Pool.ID, of.Pool.RulesVersion)
	if err != nil {
		return err
	}
	promised := *of
	promised.Promise = c
	return ledger.CheckClaims(&promised, r.Rules)
}

// checkNoMoments returns an error if a pool has open moments that would fail at their
// time because of the commitment.
func (s *Store) checkNoMoments(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool, c *proof.Commitment) error {
	if c.Beacon == nil || c.StockWhileOpen {
		return nil
	}
	has, err := s.ledger.Agenda.HasOpenMoments(ctx, tx, of.Pool.ID)
	if err == nil && has {
		err = draw.Errorf(draw.CodePoolOpen, "pool %q has open moments, which could not be done while it is open with a round of its beacon", of.Pool.ID)
	}
	return err
}

// seal seals the seed to the recipients and to the escrow, and the other secrets only to
// the recipients.
func (w *Committing) seal(secrets *proof.Secrets) (proof.Sealed, error) {
	sealed, err := secrets.Seal(w.Recipients)
	if err == nil && w.Escrow != nil {
		sealed.Seed, err = w.Recipients.And(w.Escrow).Seal(secrets.Seed[:])
	}
	return sealed, err
}

// glance calls the function check with the state of a pool, without a lock. So a refusal
// comes before a long log is read.
func (s *Store) glance(ctx context.Context, poolID string, check func(*ledger.LockedPool) error) error {
	return s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		of := &ledger.LockedPool{Pool: draw.Pool{ID: poolID}}
		seen := s.ledger.SelectFrom("pools", "state", "committed").Where(squirrel.Eq{"id": poolID})
		if err := seen.RunWith(tx).QueryRowContext(ctx).Scan(&of.Pool.State, &of.Committed); err != nil {
			return err
		}
		return check(of)
	})
}

func checkCommit(of *ledger.LockedPool) error {
	switch {
	case of.Committed != 0:
		return draw.Errorf(draw.CodePoolCommitted, "pool %q is already committed, permanently", of.Pool.ID)
	case of.Pool.State == draw.StateClosed:
		return of.Pool.CheckNotClosed()
	case of.Pool.State != draw.StatePaused:
		return draw.Errorf(draw.CodePoolOpen, "pool %q is open; pause it before it is committed", of.Pool.ID)
	}
	return nil
}
