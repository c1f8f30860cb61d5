package publiclog

import (
	"context"
	"iter"

	"github.com/Masterminds/squirrel"
	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// linesOf is what lines of a pool's public log are made with, in one snapshot.
type linesOf struct {
	poolID string
	salts  proof.Salts
	// prizes are those of [Store.prizesAsAdded], nil to read them where they are needed.
	prizes []draw.Prize
}

// linesWithin are the lines of a pool's public log from some version before the
// draw of from on, up to another. It reads little more rows than the wanted ones, and
// what was changed of prizes and rules.
func (s *Store) linesWithin(ctx context.Context, q engine.Querier, of linesOf, from, to int64, wanted int) iter.Seq2[*proof.Line, error] {
	poolID, after := of.poolID, max(0, from-1-draw.CountMax)
	scribe := proof.NewScribe(of.salts, func() ([]draw.Prize, error) {
		if of.prizes != nil {
			return of.prizes, nil
		}
		return s.prizesAsAdded(ctx, q, poolID)
	})
	scribe, err := s.scribeAfter(ctx, q, poolID, scribe, after)
	if err != nil {
		return func(yield func(*proof.Line, error) bool) { yield(nil, err) }
	}
	wanted += 2 * draw.CountMax // those before, and the rest of the last draw
	entries := s.ledger.Redirected(ctx, q, poolID, after, wanted, s.ledger.EntriesUpTo(ctx, q, poolID, after, to, wanted))
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

// linesBytesMax bounds the lines of one page, beside their number: one line can
// hold long rules.
const linesBytesMax = 16 << 20

// Lines share parts of partBytes, so that few of them take memory of their own.
// Where less than lineRoom is left in one, the next is begun.
const (
	partBytes = 64 << 10
	lineRoom  = 512
)

// page reads lines of a pool's public log from a version on, up to another: at most
// about limit, and the last draw whole. It has ended where there are no more.
func (s *Store) page(ctx context.Context, q engine.Querier, of linesOf, from, to int64, limit int) (lines []proof.Numbered, ended bool, err error) {
	var text []byte // of lines so far, in parts that are full before the next is made
	size, whole := 0, false
	for l, err := range s.linesWithin(ctx, q, of, from, to, limit) {
		if err != nil {
			return nil, false, err
		}
		if (len(lines) >= limit || size > linesBytesMax) && whole {
			return lines, false, nil
		}
		if l.Version >= from {
			if cap(text)-len(text) < lineRoom {
				text = make([]byte, 0, partBytes)
			}
			begin := len(text)
			text = l.Append(text)
			lines = append(lines, proof.Numbered{Version: l.Version, Text: text[begin:len(text):len(text)]})
			size, whole = size+len(text)-begin, l.Kind != proof.KindAward || l.Ordinal == l.Count
		}
	}
	return lines, true, nil
}

// scribeAfter puts a new scribe behind a version.
func (s *Store) scribeAfter(ctx context.Context, q engine.Querier, poolID string, scribe *proof.Scribe, after int64) (*proof.Scribe, error) {
	upTo := squirrel.LtOrEq{"version": after}
	changes, err := ledger.SelectAll(ctx, q, s.ledger.SelectChanges(poolID).Where(squirrel.Eq{"what": string(draw.WhatPrize)}).Where(upTo).OrderBy("version"), s.ledger.ScanChange(poolID))
	if err != nil {
		return nil, err
	}
	rules, err := s.ledger.LastChange(ctx, q, poolID, draw.WhatRules, after)
	if err != nil {
		return nil, err
	}
	if rules != nil {
		changes = append(changes, *rules)
	}
	added, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("prizes", "id").Where(squirrel.Eq{"pool_id": poolID}).Where(squirrel.LtOrEq{"added": after}),
		func(row engine.Scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return nil, err
	}
	return scribe, scribe.Resume(changes, added)
}

// prizesAsAdded are a pool's prizes with the names and values from before all
// corrections.
func (s *Store) prizesAsAdded(ctx context.Context, q engine.Querier, poolID string) ([]draw.Prize, error) {
	prizes, err := s.ledger.Prizes(ctx, q, poolID)
	if err != nil {
		return nil, err
	}
	corrections, err := s.ledger.ChangesOf(ctx, q, poolID, draw.WhatPrize)
	if err != nil {
		return nil, err
	}
	place := make(map[string]int, len(prizes))
	for i := range prizes {
		place[prizes[i].ID] = i
	}
	for i := len(corrections) - 1; i >= 0; i-- {
		var body struct {
			Prize string `json:"prize"`
			Was   *struct {
				Name  string `json:"name"`
				Value string `json:"value"`
			} `json:"was"`
		}
		if err := json.Unmarshal([]byte(corrections[i].Body), &body); err != nil {
			return nil, draw.Unreadable("the change of version %d", err, corrections[i].Version)
		}
		at, known := place[body.Prize]
		if body.Was == nil || !known {
			continue // of a binary that did not record it: then and now the log begins with what it was corrected to
		}
		prizes[at].Name = body.Was.Name
		if prizes[at].Value, err = draw.ParseValue(body.Was.Value); err != nil {
			return nil, draw.Unreadable("the value in the change of version %d", err, corrections[i].Version)
		}
	}
	return prizes, nil
}
