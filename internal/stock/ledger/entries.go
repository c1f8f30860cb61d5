package ledger

import (
	"context"
	"database/sql"
	"iter"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Entries reads a pool's history after a version: its logs, merged in the order of their
// versions. Entries with the same version, which only a damaged pool has, are adjacent.
// Awards lack the name and the value of their prize. The memory of an entry is valid only
// until the next entry. The sequence ends after its first error.
//
// Each log is read in pages, so that one connection can read several logs of one
// snapshot, and memory holds only one page of each log.
func (l *Ledger) Entries(ctx context.Context, q engine.Querier, poolID string, after int64) EntrySeq {
	return l.entriesWithin(ctx, q, poolID, after, PageMax, squirrel.Eq{"pool_id": poolID})
}

// EntriesUpTo returns the entries after one version and up to another. wanted is roughly
// how many of these entries the caller needs.
func (l *Ledger) EntriesUpTo(ctx context.Context, q engine.Querier, poolID string, after, last int64, wanted int) EntrySeq {
	return l.entriesWithin(ctx, q, poolID, after, wanted, squirrel.And{squirrel.Eq{"pool_id": poolID}, squirrel.LtOrEq{"version": last}})
}

// entriesWithin returns the entries for which a condition holds.
func (l *Ledger) entriesWithin(ctx context.Context, q engine.Querier, poolID string, after int64, wanted int, within squirrel.Sqlizer) EntrySeq {
	awards, moves, changes := l.SelectFrom("awards", l.awards.Read("")), l.SelectMoves(poolID), l.SelectChanges(poolID)
	return merge([]*pagedLog{
		inPages(ctx, q, awards.Where(within), l.awards.Fields, after, wanted, func(a *draw.Award) draw.Entry { return draw.Entry{Award: a} }),
		inPages(ctx, q, moves.Where(within), l.moves.Fields, after, wanted, func(m *draw.Move) draw.Entry { return draw.Entry{Move: m} }),
		inPages(ctx, q, changes.Where(within), l.changes.Fields, after, wanted, func(c *draw.Change) draw.Entry { return draw.Entry{Change: c} }),
	})
}

// EntrySeq yields entries, and ends after its first error.
type EntrySeq = iter.Seq2[draw.Entry, error]

// inPages reads a log after a version. A page has about as many rows as the caller
// needs in total, but at most PageMax.
func inPages[T any](
	ctx context.Context, q engine.Querier, all squirrel.SelectBuilder, fields func(*T) []any, after int64, wanted int, of func(*T) draw.Entry,
) *pagedLog {
	var page []T
	most := min(wanted, PageMax)
	return &pagedLog{
		after: after, most: most,
		page: func(after int64) (n int, err error) {
			page, err = readPage(ctx, q, page, PageAfter(all, after, most), fields)
			return len(page), err
		},
		row: func(i int) draw.Entry { return of(&page[i]) },
	}
}

// PageMax is the maximum number of rows in one page. It is small enough for memory, and
// so large that the round trip of a page costs little compared to reading its rows.
const PageMax = 5000

// PageAfter selects at most limit rows of a log after a version, in order.
func PageAfter(log squirrel.SelectBuilder, after int64, limit int) squirrel.SelectBuilder {
	return log.Where(squirrel.Gt{"version": after}).OrderBy("version").Limit(uint64(limit))
}

// readPage reads rows into the memory of the page before. It scans all rows into the
// fields of one row, and copies that row. A history has millions of rows, and one
// allocation for each of them would cost more than their check.
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

// pagedLog is one of a pool's logs. It holds one page of the log at a time.
type pagedLog struct {
	// page reads the rows after a version, in order, at most one page, and returns their
	// number. row returns one of these rows.
	page func(after int64) (int, error)
	most int
	row  func(int) draw.Entry

	after      int64 // the version of the last row that was returned
	next, held int   // the index of the next row in the page, and the page's number of rows
	ended      bool
}

// peek returns the version of the next row. ok is false at the end of the log.
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
func merge(logs []*pagedLog) EntrySeq {
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

// Page returns at most limit entries of a pool's history after a version, in order of
// their versions, with or without awards. Awards have their prizes and redirects. Errors:
// CodePoolNotFound, and those of the store.
func (l *Ledger) Page(ctx context.Context, poolID string, after int64, limit int, withAwards bool) (entries []draw.Entry, err error) {
	err = l.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		logs := []*pagedLog{
			inPages(ctx, tx, l.SelectMoves(poolID), l.moves.Fields, after, limit, func(m *draw.Move) draw.Entry { return draw.Entry{Move: m} }),
			inPages(ctx, tx, l.SelectChanges(poolID), l.changes.Fields, after, limit, func(c *draw.Change) draw.Entry { return draw.Entry{Change: c} }),
		}
		if withAwards {
			fields := func(a *draw.Award) []any { return engine.AwardFields(l.awards, a) }
			logs = append(logs, inPages(ctx, tx, l.SelectAwards(poolID), fields, after, limit, func(a *draw.Award) draw.Entry { return draw.Entry{Award: a} }))
		}
		entries = []draw.Entry{}
		var moves []*draw.Move
		for e, err := range l.Redirected(ctx, tx, poolID, after, limit, merge(logs)) {
			if err != nil {
				return err
			}
			e = e.In(poolID)
			if entries = append(entries, e); e.Move != nil {
				moves = append(moves, e.Move)
			}
			if len(entries) == limit {
				break
			}
		}
		return l.markEndless(ctx, tx, poolID, moves)
	})
	return entries, err
}

// AddRedirects adds the redirects to awards, which must be in order of their versions.
func (l *Ledger) AddRedirects(ctx context.Context, q engine.Querier, poolID string, awards []draw.Award) error {
	redirects := l.redirects(ctx, q, poolID, awards[0].Version-1, len(awards))
	for i := range awards {
		found, err := redirectOf(redirects, awards[i].Version)
		if err != nil {
			return err
		}
		awards[i].Redirect = found
	}
	return nil
}

// AddRedirectsAt is AddRedirects for awards whose versions may be far apart. It accepts
// at most PageMax awards.
func (l *Ledger) AddRedirectsAt(ctx context.Context, q engine.Querier, poolID string, awards []draw.Award) error {
	if len(awards) == 0 {
		return nil
	}
	versions := make([]int64, len(awards))
	at := make(map[int64]*draw.Award, len(awards))
	for i := range awards {
		versions[i], at[awards[i].Version] = awards[i].Version, &awards[i]
	}
	log := engine.Redirects()
	_, err := SelectAll(ctx, q, l.SelectFrom(log.Table, log.Read("")).Where(squirrel.Eq{"pool_id": poolID, "version": versions}),
		func(row engine.Scanner) (_ struct{}, err error) {
			var r engine.Redirected
			err = row.Scan(log.Fields(&r)...)
			if a := at[r.Version]; a != nil {
				a.Redirect = &r.Redirect
			}
			return struct{}{}, err
		})
	return err
}

// Redirected returns a sequence of entries with the redirects of its awards. All entries
// must have versions greater than after.
func (l *Ledger) Redirected(ctx context.Context, q engine.Querier, poolID string, after int64, wanted int, all iter.Seq2[draw.Entry, error]) iter.Seq2[draw.Entry, error] {
	redirects := l.redirects(ctx, q, poolID, after, wanted)
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

// redirects returns the redirects of a pool after a version.
func (l *Ledger) redirects(ctx context.Context, q engine.Querier, poolID string, after int64, wanted int) *pagedLog {
	log := engine.Redirects()
	query := l.SelectFrom(log.Table, log.Read("")).Where(squirrel.Eq{"pool_id": poolID})
	return inPages(ctx, q, query, log.Fields, after, wanted, func(r *engine.Redirected) draw.Entry {
		return draw.Entry{Award: &draw.Award{Version: r.Version, Redirect: &r.Redirect}}
	})
}

// redirectOf returns the redirect of a version, and skips redirects of earlier versions.
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
