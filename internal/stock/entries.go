package stock

import (
	"context"
	"iter"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
)

// entry is one row of a pool's history; exactly one of its members is set. An
// award comes without the name and the value of its prize.
type entry struct {
	award *draw.Award
	move  *draw.Move
}

func (e entry) version() int64 {
	if e.award != nil {
		return e.award.Version
	}
	return e.move.Version
}

// entries reads a pool's history after a version: its logs, merged in the
// order of their versions. Entries of one version, which only a damaged pool
// has, follow each other. The sequence ends after its first error.
//
// Each log is read in pages, so that one connection can read several logs of
// one snapshot side by side, and memory holds one page of each.
func (s *Store) entries(ctx context.Context, q querier, poolID string, after int64) iter.Seq2[entry, error] {
	awards := s.selectFrom("awards", entryColumns).Where(squirrel.Eq{"pool_id": poolID})
	moves := s.selectFrom("moves", moveColumns).Where(squirrel.Eq{"pool_id": poolID})
	return merge([]*pagedLog{
		{after: after, page: func(after int64) ([]entry, error) {
			found, err := selectAll(ctx, q, pageAfter(awards, after, entriesMax), scanEntryAward)
			return entriesOf(found, func(a *draw.Award) entry { return entry{award: a} }), err
		}},
		{after: after, page: func(after int64) ([]entry, error) {
			found, err := selectAll(ctx, q, pageAfter(moves, after, entriesMax), scanMove(poolID))
			return entriesOf(found, func(m *draw.Move) entry { return entry{move: m} }), err
		}},
	})
}

// entriesMax is the most rows of one page: few enough to hold, and so many
// that the round trip of a page costs little beside its rows.
const entriesMax = 5000

// pageAfter is the part of a log after a version, in order, at most limit rows.
func pageAfter(log squirrel.SelectBuilder, after int64, limit int) squirrel.SelectBuilder {
	return log.Where(squirrel.Gt{"version": after}).OrderBy("version").Limit(uint64(limit))
}

func entriesOf[T any](rows []T, of func(*T) entry) []entry {
	all := make([]entry, len(rows))
	for i := range rows {
		all[i] = of(&rows[i])
	}
	return all
}

// pagedLog is one of a pool's logs, of which it holds one page.
type pagedLog struct {
	// page reads the entries after a version, in order, at most entriesMax.
	page  func(after int64) ([]entry, error)
	after int64
	held  []entry
	ended bool
}

// fill reads the next page when all of the last one is taken.
func (l *pagedLog) fill() (err error) {
	if len(l.held) > 0 || l.ended {
		return nil
	}
	if l.held, err = l.page(l.after); err != nil {
		return err
	}
	if n := len(l.held); n > 0 {
		l.after = l.held[n-1].version()
	}
	l.ended = len(l.held) < entriesMax
	return nil
}

func (l *pagedLog) take() entry {
	e := l.held[0]
	l.held = l.held[1:]
	return e
}

// merge yields the entries of all logs in the order of their versions.
func merge(logs []*pagedLog) iter.Seq2[entry, error] {
	return func(yield func(entry, error) bool) {
		for {
			var first *pagedLog
			for _, l := range logs {
				if err := l.fill(); err != nil {
					yield(entry{}, err)
					return
				}
				if len(l.held) > 0 && (first == nil || l.held[0].version() < first.held[0].version()) {
					first = l
				}
			}
			if first == nil || !yield(first.take(), nil) {
				return
			}
		}
	}
}
