package publiclog

import (
	"context"
	"database/sql"
	"slices"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

const (
	// skipMax is the maximum number of versions that one call skips. skipPart is the
	// maximum of one transaction, during which the pool's row is locked.
	skipMax  = 1_000_000
	skipPart = 1000
)

// skippedBody is the body of a change that skips a version.
type skippedBody struct {
	Reason string `json:"reason,omitempty"`
}

// SkipVersions skips versions of a paused, committed pool: it appends changes that give
// no unit, until the pool is at the version to. It returns how many it appended, 0 if the
// pool is already at that version. It is for a pool that has lost versions by a restore
// or a failover. Everyone who saw the lost draws knows the numbers of these versions.
// Each change has the reason, "" for none. A skip that fails halfway keeps the changes
// that it has appended, and the same call continues from there. An announced round is
// withdrawn. Errors: CodeInvalidRequest, also for more than a million versions;
// CodePoolNotFound; CodeNotFound for a pool that is not committed; CodePoolOpen;
// CodePoolClosed; and those of the store.
func (s *Store) SkipVersions(ctx context.Context, poolID string, to int64, reason, actor string) (skipped int64, err error) {
	if err := draw.CheckActor(actor); err != nil {
		return 0, err
	}
	if reason != "" {
		if err := draw.CheckReason(reason); err != nil {
			return 0, err
		}
	}
	if to < 1 {
		return 0, draw.Errorf(draw.CodeInvalidRequest, "to must be a version, 1 or more")
	}
	for left := int64(1); left > 0 && err == nil; {
		var part int64
		part, left, err = s.skipPart(ctx, poolID, to, ledger.NewChange{What: draw.WhatSkipped, Body: skippedBody{reason}, Set: map[string]any{}}, actor, skipMax-skipped)
		skipped += part
	}
	if skipped > 0 {
		s.ledger.Changed(poolID)
	}
	return skipped, err
}

// skipPart appends some of the changes in one transaction: at most the constant of the
// same name, and at most maximum. It returns how many it has appended and how many are
// left.
func (s *Store) skipPart(ctx context.Context, poolID string, to int64, skip ledger.NewChange, actor string, maximum int64) (part, left int64, err error) {
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		of, err := s.ledger.LockPool(ctx, tx, poolID, actor)
		if err != nil {
			return err
		}
		if err := checkSkip(of); err != nil {
			return err
		}
		ahead := max(0, to-of.Head.Version)
		if ahead > maximum {
			return draw.Errorf(draw.CodeInvalidRequest, "version %d is %d ahead of pool %q, and one call skips at most %d", to, ahead, poolID, skipMax)
		}
		part = min(ahead, skipPart)
		left = ahead - part
		of.Unannounce(skip.Set)
		return s.ledger.Record(ctx, tx, of, slices.Repeat([]ledger.NewChange{skip}, int(part)))
	})
	if err != nil {
		return 0, 0, err
	}
	return part, left, nil
}

func checkSkip(of *ledger.LockedPool) error {
	switch {
	case of.Committed == 0:
		return draw.Errorf(draw.CodeNotFound, "pool %q is not committed to its numbers: a restore gives it new ones, and nothing needs to be skipped", of.Pool.ID)
	case of.Pool.State == draw.StateClosed:
		return of.Pool.CheckNotClosed()
	case of.Pool.State != draw.StatePaused:
		return draw.Errorf(draw.CodePoolOpen, "pool %q is open; pause it before versions are skipped", of.Pool.ID)
	}
	return nil
}
