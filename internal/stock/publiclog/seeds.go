package publiclog

import (
	"context"
	"database/sql"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Supply gives the urn of a committed pool its secrets, or records in the urn that this
// process lacks them. Errors: those of reading, each an *engine.Error with its class.
func (s *Store) Supply(ctx context.Context, u *urn.Urn) error {
	var c *committed
	var opening openedBody
	secrets := urn.Secrets{AskedOf: s.identities.Load()}
	err := s.ledger.Classed(ctx, s.ledger.Engine.Read, func(_ *sql.Conn, tx *sql.Tx) (err error) {
		if c, err = s.committed(ctx, tx, u.PoolID); err != nil {
			return err
		}
		if secrets.GivesReceipts, err = s.givesReceipts(ctx, tx, u.PoolID, c); err == nil && u.Opened() != 0 {
			opening, err = s.openedWith(ctx, tx, u.PoolID, u.Opened())
		}
		return err
	})
	if err != nil && !ledger.IsUnreadable(err) {
		return err
	}
	var numbers *proof.Numbers
	if err == nil {
		numbers, err = s.numbersOf(u.PoolID, c, opening.round())
	}
	if err == nil {
		var by *signing
		if by, err = s.sealed(u.PoolID, c); err == nil {
			secrets.Signer = by
		} else if !secrets.GivesReceipts {
			err = nil // an identity of the escrow unseals only the seed
		}
	}
	switch {
	case err != nil:
		s.unsealed.noteAway(u.PoolID, true)
		s.ledger.Log.Warn("a committed pool cannot be drawn from here", "pool", u.PoolID, "error", err)
		secrets = urn.Secrets{AskedOf: secrets.AskedOf} // without a signer for its receipts, the pool gives no draws
	case numbers != nil:
		secrets.Seeds = numbers
	}
	u.SetSecrets(secrets)
	return nil
}

// numbersOf returns the numbers of a commitment after an opening with a round; the zero
// round means an opening without one. It returns nil for a pool that waits for its first
// round. Error: CodeSeedUnavailable, also if the change has no valid round of the pool's
// beacon.
func (s *Store) numbersOf(poolID string, c *committed, opening draw.Round) (*proof.Numbers, error) {
	known := s.unsealed.find(poolID, c.note)
	if known.numbers == nil {
		var err error
		if known.numbers, err = c.numbers(s.identities.Load()); err != nil {
			return nil, err
		}
	}
	own := known.numbers.Copy()
	if beacon := own.Beacon(); beacon != nil && opening.Number != 0 {
		mixed, err := beacon.Mixed(opening)
		if err != nil {
			return nil, draw.Errorf(draw.CodeSeedUnavailable, "the pool was opened with something that is not a round of its beacon: %s", draw.DetailOf(err))
		}
		own.Mix(mixed)
	} else if beacon != nil {
		own = nil
	}
	s.unsealed.keep(poolID, known)
	s.unsealed.noteAway(poolID, false)
	return own, nil
}

// Unseal makes the store use other identities from now on. Pools that could not be drawn
// from here may become available.
func (s *Store) Unseal(by *proof.Identities) {
	s.identities.Store(by)
	s.unsealed.drop()
}

// AskAnew makes an urn request its secrets again if it lacks them, unless the identities
// are the same as at its last request.
func (s *Store) AskAnew(u *urn.Urn) {
	if by := s.identities.Load(); u.IsAway() && u.AskedOf() != by {
		u.ForgetSecrets()
	}
}

// CheckSeeds returns an error if this process cannot draw from a committed pool.
// Errors: CodePoolNotFound, CodeNotFound, CodeSeedUnavailable, and those of the store.
func (s *Store) CheckSeeds(ctx context.Context, poolID string) error {
	return s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		c, err := s.committed(ctx, tx, poolID)
		if err == nil {
			_, err = c.numbers(s.identities.Load())
		}
		return err
	})
}

// SeedsAway reports whether there is a committed pool that cannot be drawn from here,
// because its seed could not be unsealed.
func (s *Store) SeedsAway() bool { return s.unsealed.isAnyAway() }

// WatchSeeds records which committed pools cannot be drawn from here, before their first
// draw, if this process has no identity. Closed pools are left out. Errors: those of
// reading.
func (s *Store) WatchSeeds(ctx context.Context) error {
	if s.identities.Load() != nil {
		return nil // the first draw shows whether the identity fits
	}
	return s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		query := s.ledger.SelectFrom("pools", "id").Where(squirrel.Gt{"committed": 0}).Where(squirrel.NotEq{"state": string(draw.StateClosed)})
		pools, err := ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
		for _, id := range pools {
			s.unsealed.noteAway(id, true)
		}
		return err
	})
}
