package stock

import (
	"context"
	"iter"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// entries reads a pool's history after a version: its logs, merged in the
// order of their versions. Entries of one version, which only a damaged pool
// has, follow each other. Awards come without the name and the value of their
// prize. What an entry points to is good until the next entry.
// The sequence ends after its first error.
//
// Each log is read in pages, so that one connection can read several logs of
// one snapshot side by side, and memory holds one page of each.
func (s *Store) entries(ctx context.Context, q engine.Querier, poolID string, after int64) entrySeq {
	return s.entriesWithin(ctx, q, poolID, after, entriesMax, squirrel.Eq{"pool_id": poolID})
}

// entriesUpTo are the entries after a version and up to another, of which about so
// many are wanted.
func (s *Store) entriesUpTo(ctx context.Context, q engine.Querier, poolID string, after, last int64, wanted int) entrySeq {
	return s.entriesWithin(ctx, q, poolID, after, wanted, squirrel.And{squirrel.Eq{"pool_id": poolID}, squirrel.LtOrEq{"version": last}})
}

// entriesWithin are the entries that a condition holds for.
func (s *Store) entriesWithin(ctx context.Context, q engine.Querier, poolID string, after int64, wanted int, within squirrel.Sqlizer) entrySeq {
	awards, moves, changes := s.selectFrom("awards", s.awards.Read("")), s.selectMoves(poolID), s.selectChanges(poolID)
	return merge([]*pagedLog{
		inPages(ctx, q, awards.Where(within), s.awards.Fields, after, wanted, func(a *draw.Award) draw.Entry { return draw.Entry{Award: a} }),
		inPages(ctx, q, moves.Where(within), s.moves.Fields, after, wanted, func(m *draw.Move) draw.Entry { return draw.Entry{Move: m} }),
		inPages(ctx, q, changes.Where(within), s.changes.Fields, after, wanted, func(c *draw.Change) draw.Entry { return draw.Entry{Change: c} }),
	})
}

// entrySeq yields entries, and ends after its first error.
type entrySeq = iter.Seq2[draw.Entry, error]

// inPages reads a log after a version, in pages of about as many rows as are wanted of
// all, and no more than entriesMax.
func inPages[T any](
	ctx context.Context, q engine.Querier, all squirrel.SelectBuilder, fields func(*T) []any, after int64, wanted int, of func(*T) draw.Entry,
) *pagedLog {
	var page []T
	most := min(wanted, entriesMax)
	return &pagedLog{
		after: after, most: most,
		page: func(after int64) (n int, err error) {
			page, err = readPage(ctx, q, page, pageAfter(all, after, most), fields)
			return len(page), err
		},
		row: func(i int) draw.Entry { return of(&page[i]) },
	}
}

// entriesMax is the most rows of one page: few enough to hold, and so many
// that the round trip of a page costs little beside its rows.
const entriesMax = 5000

// pageAfter is the part of a log after a version, in order, at most limit rows.
func pageAfter(log squirrel.SelectBuilder, after int64, limit int) squirrel.SelectBuilder {
	return log.Where(squirrel.Gt{"version": after}).OrderBy("version").Limit(uint64(limit))
}

// readPage reads rows into the place of the last page. The fields to scan into
// are those of one row, which is copied: a history has millions of rows, and
// whatever is allocated for each costs more than the check of it.
func readPage[T any](ctx context.Context, q engine.Querier, page []T, query squirrel.SelectBuilder, fields func(*T) []any) ([]T, error) {
	text, args, err := query.ToSql()
	if err != nil {
		return nil, err
	}
	var row T
	page = page[:0]
	err = engine.EachRow(ctx, q, text, args, fields(&row), func() { page = engine.Appended(page, row) })
	return page, err
}

// pagedLog is one of a pool's logs, of which it holds one page.
type pagedLog struct {
	// page reads the rows after a version, in order, at most so many, and returns
	// their number. row is one of them.
	page func(after int64) (int, error)
	most int
	row  func(int) draw.Entry

	after      int64 // the version of the last row that was taken
	next, held int   // the place of the next row in the page, and their number
	ended      bool
}

// peek returns the version of the next row; ok is false when the log has ended.
func (l *pagedLog) peek() (version int64, ok bool, err error) {
	if l.next == l.held && !l.ended {
		if l.held, err = l.page(l.after); err != nil {
			return 0, false, err
		}
		l.next, l.ended = 0, l.held < l.most
	}
	if l.next == l.held {
		return 0, false, nil
	}
	return l.row(l.next).Version(), true, nil
}

func (l *pagedLog) take() draw.Entry {
	e := l.row(l.next)
	l.next, l.after = l.next+1, e.Version()
	return e
}

// merge yields the entries of all logs in the order of their versions.
func merge(logs []*pagedLog) entrySeq {
	return func(yield func(draw.Entry, error) bool) {
		for {
			var first *pagedLog
			var lowest int64
			for _, l := range logs {
				version, ok, err := l.peek()
				if err != nil {
					yield(draw.Entry{}, err)
					return
				}
				if ok && (first == nil || version < lowest) {
					first, lowest = l, version
				}
			}
			if first == nil || !yield(first.take(), nil) {
				return
			}
		}
	}
}
