package publiclog

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"iter"
	"math"

	"github.com/Masterminds/squirrel"
	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// publicLog is the part of a pool's public log that was read so far. A log may have
// millions of rows. They are read in parts, each in its own snapshot. The read locks no
// row, and no snapshot becomes old, so no session waits for it. The transaction that uses
// the log reads the lines that were added since.
type publicLog struct {
	store *Store
	of    linesOf
	tree  proof.Tree
	last  []byte // the line that was read last
	began int64  // the pool's version when the first part was read
	// took, if it is not nil, is called with each line after the line was added to the
	// tree.
	took func(line []byte) error
}

// publicLog returns a log from which nothing was read yet.
func (s *Store) publicLog(poolID string, salts proof.Salts) *publicLog {
	return &publicLog{store: s, of: linesOf{poolID: poolID, salts: salts}}
}

// partMax is roughly the maximum number of lines in one part; a part must fit into
// memory.
const partMax = 4 * ledger.PageMax

// errRewritten means that the part of a log that was read no longer exists: the database
// has lost versions, for example because it has lost a server.
var errRewritten = errors.New("stock: the log that was read is no longer the pool's")

// upTo reads the log up to a version, or to its current end. Errors: errRewritten, those
// of took, and those of the store.
func (l *publicLog) upTo(ctx context.Context, last int64) error {
	for ended := false; !ended; {
		var lines []proof.Numbered
		err := l.store.ledger.RowsOf(ctx, l.of.poolID, func(q engine.Querier, version int64) (err error) {
			if l.tree.Size() == 0 {
				l.began = version
			}
			lines, ended, err = l.read(ctx, q, min(version, last))
			return err
		})
		if err == nil {
			err = l.add(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// behind reads the lines that were added since the last read, up to the version of a pool
// whose row is locked.
func (l *publicLog) behind(ctx context.Context, tx *sql.Tx, version int64) error {
	for ended := false; !ended; {
		var lines []proof.Numbered
		var err error
		if lines, ended, err = l.read(ctx, tx, version); err == nil {
			err = l.add(lines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stood reports whether a pool is unchanged since the read of its log began. Before a
// pool is committed, users may be erased, which changes lines that were already read.
func (l *publicLog) stood(version int64) bool { return version == l.began }

// read reads the next part of the log of a pool at a version. It checks that the last
// line of the part before still exists: if versions are lost, all later versions are lost
// too.
func (l *publicLog) read(ctx context.Context, q engine.Querier, version int64) (lines []proof.Numbered, ended bool, err error) {
	size := l.tree.Size()
	lines, ended, err = l.store.page(ctx, q, l.of, max(size, 1), version, partMax)
	if err != nil || size == 0 {
		return lines, ended, err
	}
	if len(lines) == 0 || lines[0].Version != size || !bytes.Equal(lines[0].Text, l.last) {
		return nil, false, draw.Wrap(draw.CodeContended, errRewritten, "the pool's history changed while it was read; nothing happened")
	}
	return lines[1:], ended, nil
}

// add adds the lines of a part.
func (l *publicLog) add(lines []proof.Numbered) error {
	for _, line := range lines {
		l.tree.Add(line.Text)
		l.last = line.Text
		if l.took != nil {
			if err := l.took(line.Text); err != nil {
				return err
			}
		}
	}
	return nil
}

// readAgainMax is how often the log of a pool is read if the pool changes during the
// read.
const readAgainMax = 5

// errMoved means that the pool has changed, so the part that was read may have changed
// too.
var errMoved = errors.New("stock: the pool has changed")

// withLog reads the public log of a pool and then runs fn in a transaction. fn must lock
// the pool's row, and call behind to read the lines that were added since.
func (s *Store) withLog(ctx context.Context, begin func() *publicLog, fn func(*sql.Tx, *publicLog) error) (err error) {
	for range readAgainMax {
		log := begin()
		if err = log.upTo(ctx, math.MaxInt64); err == nil {
			err = s.ledger.Change(ctx, func(tx *sql.Tx) error { return fn(tx, log) })
		}
		if !errors.Is(err, errRewritten) && !errors.Is(err, errMoved) {
			return err
		}
	}
	return err
}

// compared makes the log write its lines to w. Before each line it calls agrees, which
// compares the tree with the signed checkpoints.
func (l *publicLog) compared(w io.Writer, agrees func(*proof.Tree) error) {
	l.took = func(line []byte) error {
		if err := agrees(&l.tree); err != nil {
			return err
		}
		_, err := w.Write(line)
		return err
	}
}

// linesOf holds the data for making lines of a pool's public log, in one snapshot.
type linesOf struct {
	poolID string
	salts  proof.Salts
	// prizes is the result of [Store.prizesAsAdded]. If it is nil, it is read when
	// needed.
	prizes []draw.Prize
}

// linesWithin returns the lines of a pool's public log up to the version to. If from is a
// version within a draw, it begins before that draw. It reads only slightly more rows
// than requested, and the changes of prizes and rules.
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
	wanted += 2 * draw.CountMax // the lines before from, and the rest of the last draw
	entries := s.ledger.Redirected(ctx, q, poolID, after, wanted, s.ledger.EntriesUpTo(ctx, q, poolID, after, to, wanted))
	return scribe.Lines(func(yield func(draw.Entry, error) bool) {
		within := after > 0 // the first line may belong to a draw that began before it
		for e, err := range entries {
			within = within && err == nil && e.Award != nil && e.Award.Ordinal > 1
			if !within && !yield(e, err) {
				return
			}
		}
	})
}

// linesBytesMax bounds the size of the lines of one page, because a line can contain long
// rules.
const linesBytesMax = 16 << 20

// Lines share buffers of partBytes, so that few lines need memory of their own. If a
// buffer has less room than lineRoom, a new buffer is begun.
const (
	partBytes = 64 << 10
	lineRoom  = 512
)

// page reads lines of a pool's public log from one version up to another. It stops at
// about limit lines, after the end of a draw. ended means that there are no more lines.
func (s *Store) page(ctx context.Context, q engine.Querier, of linesOf, from, to int64, limit int) (lines []proof.Numbered, ended bool, err error) {
	var text []byte // the lines so far, in buffers of partBytes
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

// scribeAfter returns a scribe that writes the lines after a version.
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

// prizesAsAdded returns a pool's prizes with the names and values that they had before
// any correction.
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
			continue // an old binary wrote this correction without the original value, so the log begins with the corrected one
		}
		prizes[at].Name = body.Was.Name
		if prizes[at].Value, err = draw.ParseValue(body.Was.Value); err != nil {
			return nil, draw.Unreadable("the value in the change of version %d", err, corrections[i].Version)
		}
	}
	return prizes, nil
}
