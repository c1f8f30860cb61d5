package stock

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

const (
	// segmentsMax is the maximum number of pools for which one call adds segments.
	segmentsMax = 1000
	// segmentsRead is the number of segments that one statement reads.
	segmentsRead = 100
	// feedReadMax is the time after which a page of the feed ends, even if it has few
	// awards.
	feedReadMax = 2 * time.Second
)

// segment is a part of a pool's log in the feed over all pools.
type segment struct {
	n            int64
	poolID       string
	after, upto  int64
	mark, entry  int64
	forks, stale bool
}

// segmentColumns are the columns of a segment.
const segmentColumns = "n, pool_id, after_version, upto_version, mark, entry, forks, stale"

func scanSegment(row engine.Scanner) (s segment, err error) {
	err = row.Scan(&s.n, &s.poolID, &s.after, &s.upto, &s.mark, &s.entry, &s.forks, &s.stale)
	return s, err
}

// end returns the cursor after the segment.
func (s *segment) end() draw.FeedCursor { return s.at(s.upto) }

func (s *segment) at(version int64) draw.FeedCursor {
	return draw.FeedCursor{Segment: s.n, Version: version, Mark: s.mark, PoolID: s.poolID}
}

// movedPool is a pool whose head differs from that of its last segment. Without such a
// segment, last is zero.
type movedPool struct {
	id   string
	head draw.Head
	last segment
}

// ExtendFeed adds a segment to the feed over all pools for each pool whose head has
// moved, at most segmentsMax. Draws write nothing for the feed, so this call determines
// its order. It is one transaction. It takes no lock before it has read the new entries.
// Its first write changes the row that numbers the segments. It returns the number of the
// last segment. Errors: CodeStoreUnavailable for a schema without a feed, and those of
// the store.
func (s *Store) ExtendFeed(ctx context.Context) (n int64, err error) {
	if s.engine.Lacks(engine.PartFeed) {
		return 0, draw.Errorf(draw.CodeStoreUnavailable, "the database's schema has no feed over all pools: run `drawsvc migrate up`")
	}
	var moved []movedPool
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		n, moved, err = s.movedPools(ctx, tx)
		return err
	})
	if err != nil || len(moved) == 0 {
		return n, err
	}
	err = s.ledger.Change(ctx, func(tx *sql.Tx) error {
		if n, moved, err = s.movedPools(ctx, tx); err != nil || len(moved) == 0 {
			return err
		}
		return s.addSegments(ctx, tx, &n, moved)
	})
	if draw.CodeOf(err) == draw.CodeContended { // others extend the feed all the time
		err = nil
	}
	return n, err
}

// movedPools reads the number of the last segment, and the pools that have moved.
func (s *Store) movedPools(ctx context.Context, q engine.Querier) (int64, []movedPool, error) {
	n, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("feed_head", "n"), ledger.ScanInt)
	if err != nil || len(n) != 1 {
		return 0, nil, err
	}
	query := s.ledger.SelectFrom("pools AS p LEFT JOIN segments AS s ON s.n = (SELECT MAX(l.n) FROM segments AS l WHERE l.pool_id = p.id)",
		"p.id", "p.version", "p.mark", "p.trail", "COALESCE(s.n, 0)", "COALESCE(s.upto_version, 0)", "COALESCE(s.mark, 0)", "COALESCE(s.entry, 0)").
		Where("p.version > 0 AND (s.n IS NULL OR s.upto_version <> p.version OR s.mark <> p.mark)").OrderBy("p.id").Limit(segmentsMax)
	moved, err := ledger.SelectAll(ctx, q, query, func(row engine.Scanner) (m movedPool, err error) {
		var trail []byte
		err = row.Scan(&m.id, &m.head.Version, &m.head.Mark, &trail, &m.last.n, &m.last.upto, &m.last.mark, &m.last.entry)
		m.head.Trail = draw.Trail(trail)
		return m, err
	})
	return n[0], moved, err
}

// addSegments adds a segment for each pool, numbered after n, and sets n to the last
// number.
func (s *Store) addSegments(ctx context.Context, tx *sql.Tx, n *int64, moved []movedPool) error {
	added := make([]segment, len(moved))
	for i := range moved {
		var err error
		if added[i], err = s.nextSegment(ctx, tx, &moved[i]); err != nil {
			return err
		}
		added[i].n = *n + int64(i) + 1
	}
	last := *n + int64(len(added))
	// This is the first write. If there are two writers, the second finds another n, and
	// starts again.
	if err := ledger.ExecOne(ctx, tx, s.ledger.Builder().Update("feed_head").Set("n", last).Where(squirrel.Eq{"one": 1, "n": *n})); err != nil {
		return err
	}
	insert := s.ledger.InsertInto("segments").Columns("n", "pool_id", "after_version", "upto_version", "mark", "entry", "forks")
	for i := range added {
		a := &added[i]
		insert = insert.Values(a.n, a.poolID, a.after, a.upto, a.mark, a.entry, a.forks)
		if !a.forks {
			continue
		}
		lost := s.ledger.Builder().Update("segments").Set("stale", true).Where(squirrel.Eq{"pool_id": a.poolID}).Where(squirrel.Gt{"upto_version": a.after})
		if _, err := lost.RunWith(tx).ExecContext(ctx); err != nil {
			return err
		}
	}
	*n = last
	_, err := insert.RunWith(tx).ExecContext(ctx)
	return err
}

// nextSegment returns the segment that follows the last segment of a pool. If the pool
// has lost the last version of that segment, the new segment follows the newest earlier
// segment whose last version the pool still has.
func (s *Store) nextSegment(ctx context.Context, q engine.Querier, m *movedPool) (next segment, err error) {
	next = segment{poolID: m.id, after: m.last.upto, upto: m.head.Version, mark: m.head.Mark}
	if next.entry, err = s.entryDigest(ctx, q, m.id, next.upto); err != nil || m.last.n == 0 {
		return next, err
	}
	isSame := m.head.Follows(draw.Head{Version: m.last.upto, Mark: m.last.mark})
	if !isSame {
		if isSame, err = s.hasEntry(ctx, q, m.id, m.head.Version, &m.last); err != nil {
			return next, err
		}
	}
	if isSame {
		return next, nil
	}
	next.forks, next.after = true, 0
	before, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("segments", segmentColumns).
		Where(squirrel.Eq{"pool_id": m.id, "stale": false}).OrderBy("n DESC").Limit(segmentsMax), scanSegment)
	for i := range before {
		isSame, err := s.hasEntry(ctx, q, m.id, m.head.Version, &before[i])
		if err != nil {
			return next, err
		}
		if isSame {
			next.after = before[i].upto
			break
		}
	}
	return next, err
}

// hasEntry reports whether a pool at a version still has the last entry of a segment.
func (s *Store) hasEntry(ctx context.Context, q engine.Querier, poolID string, version int64, of *segment) (bool, error) {
	if of.upto > version {
		return false, nil
	}
	found, err := s.entryDigest(ctx, q, poolID, of.upto)
	return found == of.entry, err
}

// entryDigest returns a digest of those parts of an entry that never change. The user is
// not among them, because a user may be erased.
func (s *Store) entryDigest(ctx context.Context, q engine.Querier, poolID string, version int64) (digest int64, err error) {
	for e, err := range s.ledger.EntriesUpTo(ctx, q, poolID, version-1, version, 1) {
		if err != nil {
			return 0, err
		}
		text := fmt.Sprint(e.At().UTC().UnixMicro())
		switch {
		case e.Award != nil:
			text += fmt.Sprint(" award ", e.Award.DrawID, " ", e.Award.Ordinal, " ", e.Award.PrizeID, " ", e.Award.Unit)
		case e.Move != nil:
			text += fmt.Sprint(" move ", e.Move.PrizeID, " ", e.Move.Delta)
		default:
			text += fmt.Sprint(" change ", e.Change.What)
		}
		sum := sha256.Sum256([]byte(text))
		return int64(binary.BigEndian.Uint64(sum[:])), nil
	}
	return 0, nil
}

// ReadFeed reads a page of the feed over all pools: one segment after another, and each
// in order of versions. Errors: CodeFeedForked, and those of the store.
func (s *Store) ReadFeed(ctx context.Context, wanted draw.FeedQuery) (page draw.FeedPage, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if err := s.ledger.FindByKey(ctx, tx); err != nil {
			return err
		}
		r := feedReader{store: s, tx: tx, wanted: wanted, begun: time.Now()}
		page, err = r.read(ctx)
		return err
	})
	return page, err
}

// FeedEnd returns the cursor after all segments. Errors: those of the store.
func (s *Store) FeedEnd(ctx context.Context) (end draw.FeedCursor, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		last, err := ledger.SelectAll(ctx, tx, s.ledger.SelectFrom("segments", segmentColumns).OrderBy("n DESC").Limit(1), scanSegment)
		if end = (draw.FeedCursor{}); len(last) > 0 {
			end = last[0].end()
		}
		return err
	})
	return end, err
}

// feedReader reads a page of the feed.
type feedReader struct {
	store  *Store
	tx     *sql.Tx
	wanted draw.FeedQuery
	begun  time.Time
	page   draw.FeedPage
}

func (r *feedReader) read(ctx context.Context) (draw.FeedPage, error) {
	r.page.Next = r.wanted.After
	if err := r.checkCursor(ctx); err != nil {
		return draw.FeedPage{}, err
	}
	for {
		query := r.store.ledger.SelectFrom("segments", segmentColumns).Where(squirrel.GtOrEq{"n": r.page.Next.Segment}).OrderBy("n").Limit(segmentsRead)
		if r.wanted.Until > 0 {
			query = query.Where(squirrel.LtOrEq{"n": r.wanted.Until})
		}
		found, err := ledger.SelectAll(ctx, r.tx, query, scanSegment)
		if err != nil {
			return draw.FeedPage{}, err
		}
		for i := range found {
			if isDone, err := r.readSegment(ctx, &found[i]); isDone || err != nil {
				return r.page, err
			}
		}
		if len(found) < segmentsRead {
			r.page.IsEnd = true
			return r.page, nil
		}
	}
}

// checkCursor checks that the cursor belongs to the feed's present order. After a restore
// of the whole database, it may belong to another order. Then the feed starts again if
// forks are accepted.
func (r *feedReader) checkCursor(ctx context.Context) error {
	at := r.wanted.After
	if at.Segment == 0 {
		return nil
	}
	found, err := ledger.SelectAll(ctx, r.tx, r.store.ledger.SelectFrom("segments", segmentColumns).Where(squirrel.Eq{"n": at.Segment}), scanSegment)
	switch {
	case err != nil || len(found) > 0 && found[0].mark == at.Mark:
		return err
	case !r.wanted.AcceptFork:
		return draw.ErrorFeedForked(at.PoolID, at.Version)
	}
	r.page.Next = draw.FeedCursor{}
	return nil
}

// readSegment adds the awards of a segment to the page. isDone means that the page ends
// there.
func (r *feedReader) readSegment(ctx context.Context, s *segment) (isDone bool, err error) {
	after := s.after
	switch {
	case s.n == r.page.Next.Segment:
		after = r.page.Next.Version
	case s.forks && !r.wanted.AcceptFork && len(r.page.Awards) > 0:
		return true, nil // the fork begins the next page
	case s.forks && !r.wanted.AcceptFork:
		return true, draw.ErrorFeedForked(s.poolID, s.after)
	}
	for !s.stale && after < s.upto {
		upto := min(s.upto, after+searchMax)
		query := r.store.ledger.SelectAwards(s.poolID).Where(squirrel.LtOrEq{"version": upto})
		if r.wanted.Wins {
			query = query.Where(isWin)
		}
		left := r.wanted.Limit - len(r.page.Awards)
		awards, err := ledger.SelectAll(ctx, r.tx, ledger.PageAfter(query, after, left), r.store.ledger.ScanAward)
		if err == nil {
			err = r.store.ledger.AddRedirectsAt(ctx, r.tx, s.poolID, awards)
		}
		if err != nil {
			return true, err
		}
		if after = upto; len(awards) == left {
			after = awards[left-1].Version
		}
		r.page.Awards = slices.Grow(r.page.Awards, len(awards))
		for i := range awards {
			r.page.Awards = append(r.page.Awards, draw.FeedAward{Award: awards[i], PoolID: s.poolID, Next: s.at(awards[i].Version)})
		}
		if r.page.Next = s.at(after); len(r.page.Awards) == r.wanted.Limit || time.Since(r.begun) > feedReadMax {
			return true, nil
		}
	}
	r.page.Next = s.end()
	return false, nil
}
