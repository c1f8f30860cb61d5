package publiclog

import (
	"context"
	"database/sql"
	"slices"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// sealed returns the signer of receipts for a pool with a commitment.
func (s *Store) sealed(poolID string, c *committed) (*signing, error) {
	known := s.unsealed.find(poolID, c.note)
	if known.signing != nil && len(c.sealed.Salts) > 0 {
		return known.signing, nil
	}
	commitment, err := c.commitment()
	if err != nil {
		return nil, err
	}
	secrets, err := c.sealed.OpenNames(s.identities.Load())
	if err != nil {
		return nil, err
	}
	made, err := proof.NewReceipts(commitment.Origin, &secrets)
	if err != nil {
		return nil, err
	}
	known.signing = &signing{made, secrets.Salts}
	s.unsealed.keep(poolID, known)
	return known.signing, nil
}

// givesReceipts reports whether every draw of a committed pool returns a receipt. It is
// false if the secret of the pool's tags is destroyed.
func (s *Store) givesReceipts(ctx context.Context, q engine.Querier, poolID string, c *committed) (bool, error) {
	found, err := s.ledger.ChangeAt(ctx, q, poolID, c.version)
	if err != nil || found == nil || len(c.sealed.Salts) == 0 {
		return false, err
	}
	var body committedBody
	if err := json.Unmarshal([]byte(found.Body), &body); err != nil {
		return false, draw.Unreadable("the change of version %d", err, found.Version)
	}
	return body.Receipts, nil
}

// Receipt signs the receipt of an earlier draw, from the draw's entries in the log. A new
// draw does not need it: its Signer signs the receipt without reading. Errors:
// CodePoolNotFound, CodeInvalidRequest for a pool whose numbers are secret, CodeNotFound
// if the secret of the tags was destroyed, CodeSeedUnavailable, CodeRulesUnreadable, and
// those of the store.
func (s *Store) Receipt(ctx context.Context, d *draw.Draw) (proof.Receipt, error) {
	return s.receipt(ctx, d, draw.ErrorNoReceipt(d.PoolID))
}

// receipt does the work of Receipt. isSecret is the error for a pool whose numbers are
// secret.
func (s *Store) receipt(ctx context.Context, d *draw.Draw, isSecret error) (proof.Receipt, error) {
	awards := slices.Clone(d.Awards) // others may use the same slice
	var c *committed
	var rules *draw.Rules
	err := s.ledger.OfPool(ctx, d.PoolID, func(tx *sql.Tx, _ int64) (err error) {
		if c, err = s.committed(ctx, tx, d.PoolID); draw.CodeOf(err) == draw.CodeNotFound {
			return isSecret
		} else if err != nil {
			return err
		}
		if rules, err = s.rulesAt(ctx, tx, d.PoolID, awards[0].Version); err != nil {
			return err
		}
		return s.ledger.AddRedirects(ctx, tx, d.PoolID, awards)
	})
	if err != nil {
		return proof.Receipt{}, err
	}
	by, err := s.sealed(d.PoolID, c)
	if err != nil {
		return proof.Receipt{}, err
	}
	return by.Of(awards, rules)
}

// rulesAt returns the rules in force at a version, nil for none.
func (s *Store) rulesAt(ctx context.Context, q engine.Querier, poolID string, version int64) (*draw.Rules, error) {
	c, err := s.ledger.LastChange(ctx, q, poolID, draw.WhatRules, version)
	if err != nil || c == nil {
		return nil, err
	}
	rules, _, err := rules.Of(c)
	return rules, err
}

// StoredReceipt is Receipt for a caller who requests only the receipt. The error for a
// pool whose numbers are secret is CodeNotFound.
func (s *Store) StoredReceipt(ctx context.Context, d *draw.Draw) (proof.Receipt, error) {
	return s.receipt(ctx, d, errNoProof(d.PoolID))
}
