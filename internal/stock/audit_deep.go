package stock

import (
	"context"
	"database/sql"
	"iter"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// folding folds a pool's history through the code that decides draws.
type folding struct {
	fold  *draw.Fold
	found findings
}

func (s *Store) newFolding(ctx context.Context, tx *sql.Tx, poolID string) (*folding, error) {
	prizes, err := s.prizes(ctx, tx, poolID)
	if err != nil {
		return nil, err
	}
	changes, err := s.changesOf(ctx, tx, poolID, draw.WhatRules)
	if err != nil {
		return nil, err
	}
	var documents []*draw.Rules
	for i := range changes {
		if r := rulingOf(&changes[i]).Rules; r != nil && r.Unreadable() == nil { // the fold says what cannot be read
			documents = append(documents, r)
		}
	}
	return &folding{fold: draw.NewFold(poolID, prizes, documents)}, nil
}

// take checks the next entry.
func (f *folding) take(e draw.Entry) {
	for _, v := range f.fold.Add(e) {
		f.found.add(v.Rule, "%s", v.Detail)
	}
}

// end compares the turns that the rules made of the log with those of the rows:
// whose last ones are missing has draws left that were used.
func (f *folding) end(ctx context.Context, s *Store, q engine.Querier, poolID string) error {
	type of struct {
		subject string
		counted draw.Counted
	}
	last := map[of]int64{}
	query := s.selectFrom("turns", "user_id", "what", "MAX(seq)").Where(squirrel.Eq{"pool_id": poolID}).GroupBy("user_id", "what")
	_, err := selectAll(ctx, q, query, func(row engine.Scanner) (struct{}, error) {
		var key of
		var seq int64
		err := row.Scan(&key.subject, (*string)(&key.counted), &seq)
		last[key] = seq
		return struct{}{}, err
	})
	if err != nil {
		return err
	}
	for t := range f.fold.LastTurns() {
		if kept := last[of{t.Subject, t.Counted}]; kept < t.Seq {
			f.found.add(ruleTurnMissing, "of %d turns %q of a %s, those above %d are missing", t.Seq, t.Counted, t.Counted.By(), kept)
		}
	}
	return nil
}

// redirected is a sequence of entries behind a version whose awards have their
// redirects.
func (s *Store) redirected(ctx context.Context, q engine.Querier, poolID string, after int64, wanted int, all iter.Seq2[draw.Entry, error]) iter.Seq2[draw.Entry, error] {
	log := engine.Redirects()
	query := s.selectFrom(log.Table, log.Read("")).Where(squirrel.Eq{"pool_id": poolID})
	redirects := inPages(ctx, q, query, log, after, wanted, func(r *engine.Redirected) draw.Entry {
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
