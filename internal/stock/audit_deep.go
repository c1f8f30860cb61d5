package stock

import (
	"context"
	"database/sql"
	"iter"
	"math"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// AuditDeep is Audit, and folds the whole history through the code that decides
// draws: given what was drawn, every award and every redirect must be what the
// rules in force made of it, and the turns must be those of the awards. Its
// memory grows with the number of users that the rules count.
func (s *Store) AuditDeep(ctx context.Context, poolID string) (draw.Audit, error) {
	audit, err := s.Audit(ctx, poolID)
	if err != nil {
		return audit, err
	}
	err = s.ofPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		found := &findings{}
		if err := s.fold(ctx, tx, poolID, found); err != nil {
			return err
		}
		listed, n := found.list()
		audit.Violations = append(audit.Violations, listed...)
		audit.Found += n
		return nil
	})
	return audit, err
}

func (s *Store) fold(ctx context.Context, tx *sql.Tx, poolID string, found *findings) error {
	prizes, err := selectAll(ctx, tx, s.selectFrom("prizes", engine.PrizeColumns).Where(squirrel.Eq{"pool_id": poolID}).OrderBy("added"), engine.ScanPrize)
	if err != nil {
		return err
	}
	changes, err := selectAll(ctx, tx, s.selectChanges(poolID).Where(squirrel.Eq{"what": string(draw.WhatRules)}).OrderBy("version"), s.scanChange(poolID))
	if err != nil {
		return err
	}
	var documents []*draw.Rules
	for i := range changes {
		if r, err := rulingOf(&changes[i]); err == nil && r.Rules != nil { // the fold says what cannot be read
			documents = append(documents, r.Rules)
		}
	}
	f := draw.NewFold(poolID, prizes, documents)
	for e, err := range s.redirected(ctx, tx, poolID, s.entries(ctx, tx, poolID, math.MinInt64)) {
		if err != nil {
			return err
		}
		for _, v := range f.Add(e) {
			found.add(v.Rule, "%s", v.Detail)
		}
	}
	return nil
}

// redirected is a sequence of entries whose awards have their redirects.
func (s *Store) redirected(ctx context.Context, q engine.Querier, poolID string, all iter.Seq2[draw.Entry, error]) iter.Seq2[draw.Entry, error] {
	log := engine.Redirects()
	query := s.selectFrom(log.Table, log.Read("")).Where(squirrel.Eq{"pool_id": poolID})
	redirects := inPages(ctx, q, query, log, math.MinInt64, func(r *engine.Redirected) draw.Entry {
		return draw.Entry{Award: &draw.Award{Version: r.Version, Redirect: &r.Redirect}}
	})
	return func(yield func(draw.Entry, error) bool) {
		for e, err := range all {
			if err == nil && e.Award != nil {
				e.Award.Redirect, err = redirectOf(redirects, e.Award.Version)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// redirectOf is the redirect of a version, behind those of the versions before.
func redirectOf(redirects *pagedLog, version int64) (*draw.Redirect, error) {
	for {
		next, ok, err := redirects.peek()
		if err != nil || !ok || next > version {
			return nil, err
		}
		if found := redirects.take(); next == version {
			return found.Award.Redirect, nil
		}
	}
}
