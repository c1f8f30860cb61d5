package stock

import (
	"context"
	"iter"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// linesWithin are the lines of a pool's public log from some version before the
// draw of from on, as far as a condition holds. prizes are those of [Store.prizesAsAdded].
// It reads no more rows than these, and what was changed of prizes and rules.
func (s *Store) linesWithin(ctx context.Context, q engine.Querier, poolID string, salts proof.Salts, prizes []draw.Prize, from int64, within squirrel.Sqlizer) iter.Seq2[*proof.Line, error] {
	after := max(0, from-1-draw.CountMax)
	scribe, err := s.scribeAfter(ctx, q, poolID, proof.NewScribe(salts, prizes), after)
	if err != nil {
		return func(yield func(*proof.Line, error) bool) { yield(nil, err) }
	}
	entries := s.redirected(ctx, q, poolID, after, s.entriesWithin(ctx, q, poolID, after, within))
	return scribe.Lines(func(yield func(draw.Entry, error) bool) {
		within := after > 0 // maybe, of a draw that began before
		for e, err := range entries {
			within = within && err == nil && e.Award != nil && e.Award.Ordinal > 1
			if !within && !yield(e, err) {
				return
			}
		}
	})
}

// scribeAfter puts a new scribe behind a version.
func (s *Store) scribeAfter(ctx context.Context, q engine.Querier, poolID string, scribe *proof.Scribe, after int64) (*proof.Scribe, error) {
	upTo := squirrel.LtOrEq{"version": after}
	changes, err := selectAll(ctx, q, s.selectChanges(poolID).Where(squirrel.Eq{"what": string(draw.WhatPrize)}).Where(upTo).OrderBy("version"), s.scanChange(poolID))
	if err != nil {
		return nil, err
	}
	rules, err := s.lastChange(ctx, q, poolID, draw.WhatRules, after)
	if err != nil {
		return nil, err
	}
	if rules != nil {
		changes = append(changes, *rules)
	}
	added, err := selectAll(ctx, q, s.selectFrom("prizes", "id").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.LtOrEq{"added": after}),
		func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, err
	}
	return scribe, scribe.Resume(changes, added)
}
