package agenda

import (
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// itemRange is a range of items. If they are or were hidden, version is the one that
// planned them, and from and to are the span of their times.
type itemRange struct {
	version, first, last int64
	from, to             time.Time
}

// hiddenRanges returns the items of a pool that are or were hidden, in order.
func (p *Planner) hiddenRanges(ctx context.Context, tx *sql.Tx, poolID string) ([]itemRange, error) {
	if p.ledger.Engine.Lacks(engine.PartMoments) {
		return nil, nil
	}
	query := p.ledger.SelectFrom("hidden_items", "version", "first_item", "last_item", "begins_at", "ends_at").
		Where(squirrel.Eq{"pool_id": poolID}).OrderBy("version")
	return ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (r itemRange, err error) {
		err = row.Scan(&r.version, &r.first, &r.last, engine.ScanTime(&r.from), engine.ScanTime(&r.to))
		return r, err
	})
}

// between returns the ranges of all items outside the hidden ranges.
func between(hidden []itemRange) (others []itemRange) {
	next := int64(1)
	for _, h := range hidden {
		if next < h.first {
			others = append(others, itemRange{first: next, last: h.first - 1})
		}
		next = h.last + 1
	}
	return append(others, itemRange{first: next, last: math.MaxInt64})
}

// rangesMax is the maximum number of ranges that one query reads.
const rangesMax = 100

// openIn returns the queries that read the open items of ranges. Each range is read by the
// primary key. An EXISTS would read the pool's hidden lists for each open item.
func openIn(columns squirrel.SelectBuilder, poolID string, ranges []itemRange) (queries []squirrel.SelectBuilder) {
	for some := range slices.Chunk(ranges, rangesMax) {
		var parts []string
		var args []any
		for _, r := range some {
			parts = append(parts, "SELECT pool_id, item, at, what, body, actor, done FROM agenda WHERE pool_id = ? AND item BETWEEN ? AND ?")
			args = append(args, poolID, r.first, r.last)
		}
		query := columns.From("pools").Join("("+strings.Join(parts, " UNION ALL ")+") AS agenda ON agenda.pool_id = pools.id", args...)
		queries = append(queries, query.Where(squirrel.Eq{"pools.id": poolID}).Where("agenda.done + 0 = 0")) // the + 0 excludes keys that begin with done: they do not have the numbers
	}
	return queries
}
