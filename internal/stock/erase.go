package stock

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// eraseScanMax is the maximum number of versions that one statement searches.
	eraseScanMax = 100_000
	// pseudonymBytes is long enough that pseudonyms are unique.
	pseudonymBytes = 16
)

// Pseudonym returns the text that replaces a user in a pool. Without the key, nobody can
// derive the user from it, test whether it belongs to a user, or link a user's pseudonyms
// in two pools.
func Pseudonym(key []byte, poolID, user string) string {
	sum := hmac.New(sha256.New, key)
	sum.Write([]byte(poolID + "\x00" + user)) // a pool's id contains no zero byte
	return "erased-" + hex.EncodeToString(sum.Sum(nil)[:pseudonymBytes])
}

// EraseUser replaces a user by a pseudonym in all awards of a pool, and returns their
// number. It also replaces the user in the rows of turns, so that the user's limits start
// again. The call records one change, which does not name the user, or no change if the
// user has no awards. Nothing else in the awards changes. The awards are searched while
// draws continue. The pool is locked only for the write, and for a search of the awards
// that were added during the first search.
//
// In a committed pool each award gets the tag that the public log uses for the user. So
// the log does not change, no change is recorded, and no pseudonym is used. Errors:
// CodeInvalidRequest, CodePoolNotFound, CodeSeedUnavailable and CodePoolOpen for a
// committed pool, and those of the store.
func (s *Store) EraseUser(ctx context.Context, poolID, user, pseudonym, actor string) (awards int64, err error) {
	if err := cmp.Or(draw.CheckUser(user), draw.CheckUser(pseudonym), draw.CheckActor(actor)); err != nil {
		return 0, err
	}
	var seen int64
	if err := s.ledger.OfPool(ctx, poolID, func(_ *sql.Tx, version int64) error { seen = version; return nil }); err != nil {
		return 0, err
	}
	found, err := s.versionsOf(ctx, s.engine.Read, poolID, user, 0, seen)
	if err != nil {
		return 0, engine.PublicRead(engine.Classify(err, s.engine.ByCode))
	}
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		late, err := s.versionsOf(ctx, tx, poolID, user, seen, of.Head.Version)
		if err != nil {
			return err
		}
		versions := slices.Concat(found, late)
		if err := s.EmptyTexts(ctx, tx, poolID, versions); err != nil {
			return err
		}
		if of.Committed != 0 && len(versions) > 0 {
			awards, err = s.EraseCommitted(ctx, tx, of, user, pseudonym, versions)
			return err
		}
		if awards, err = s.ledger.RenameUser(ctx, tx, poolID, user, pseudonym, versions); err != nil || awards == 0 {
			return err
		}
		if err := s.ledger.RenameTurns(ctx, tx, poolID, user, pseudonym); err != nil {
			return err
		}
		return s.ledger.Record(ctx, tx, of, []ledger.NewChange{{What: draw.WhatErased, Body: map[string]int64{"awards": awards}}})
	})
	if err != nil {
		return 0, err
	}
	s.options.Changed(poolID)
	return awards, nil
}

// versionsOf returns the versions of a user's awards that are greater than after and at
// most last. No statement searches so many versions that the server is silent for long.
func (s *Store) versionsOf(ctx context.Context, q engine.Querier, poolID, user string, after, last int64) (versions []int64, err error) {
	for ; after < last; after += eraseScanMax {
		query := s.ledger.SelectFrom("awards", "version").Where(squirrel.Eq{"pool_id": poolID}).
			Where(squirrel.Gt{"version": after}).Where(squirrel.LtOrEq{"version": min(after+eraseScanMax, last)}).
			Where(squirrel.Eq{"user_id": user}).OrderBy("version")
		found, err := ledger.SelectAll(ctx, q, query, ledger.ScanInt)
		if err != nil {
			return nil, err
		}
		versions = append(versions, found...)
	}
	return versions, nil
}

// PoolIDs returns the ids of all pools in order, including archived ones.
func (s *Store) PoolIDs(ctx context.Context) (ids []string, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		ids, err = ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("pools", "id").OrderBy("id"), func(row engine.Scanner) (id string, err error) {
			return id, row.Scan(&id)
		})
		return err
	})
	return ids, err
}
