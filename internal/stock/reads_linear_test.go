package stock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

const (
	smallPrizes = 500 // enough prizes of a pool to show whether reads are linear
	pageRows    = 400
	batchDraws  = 500
)

// readMax returns the maximum that may be read for a number of rows: a plan passes each
// row through a few nodes.
func readMax(rows int) int64 { return int64(5*rows + 1000) }

// TestReadsAreLinear bounds the reads of tables that were just filled. The database has
// no statistics about them, or old ones from when they contained only another pool.
func TestReadsAreLinear(t *testing.T) {
	eachMetered(t, func(t *testing.T, m metered, statistics string) {
		s := stocktest.Open(t, m.url, stock.Options{})
		if statistics == "stale" {
			fillPool(t, s, "old", 10)
			m.gather(t, s)
		}
		fillPool(t, s, "fresh", m.fresh)
		fillPool(t, s, "small", smallPrizes)
		require.NoError(t, s.Close())
		s = m.open(t)
		for _, w := range linearWork(t, s, m.fresh) {
			read := m.count(t, s, w.do)
			t.Logf("%s: read %d to see %d rows", w.name, read, w.rows)
			require.LessOrEqual(t, read, readMax(w.rows), w.name)
		}
		for _, b := range brokenDoubles(m, statistics) {
			read := m.count(t, s, func() { require.NoError(t, m.drain(t.Context(), s.Engine().Read, b.query, b.args...)) })
			t.Logf("%s: read %d to see %d rows", b.name, read, b.rows)
			require.Greater(t, read, readMax(b.rows), "%s must break the bound, or it bounds nothing", b.name)
		}
	})
}

// fillPool creates a pool with the given number of prizes. Each has a move and an award,
// as if the prizes were imported and each was drawn once.
func fillPool(t *testing.T, s *stock.Store, poolID string, prizes int) {
	fillPoolFor(t, s, poolID, prizes, "'u'", "NULL")
}

// fillPoolFor is fillPool with given users of the awards and keys of the moves. No row is
// changed afterwards: the old version of a changed row may affect the database's plans
// for some time.
func fillPoolFor(t *testing.T, s *stock.Store, poolID string, prizes int, user, key string) {
	_, err := s.CreatePool(t.Context(), draw.Pool{ID: poolID, Name: poolID}, "test")
	require.NoError(t, err)
	rows := fmt.Sprintf(` FROM (%s) AS numbers, pools WHERE pools.id = '%s' AND n < %d`, numbers(prizes), poolID, prizes)
	for _, statement := range []string{
		`DELETE FROM changes WHERE pool_id = '` + poolID + `'`, // a pool of an earlier schema has no such change
		`INSERT INTO prizes (pool_id, id, name, value, stocked, issued, added, changed)
SELECT pools.id, CONCAT('prize-', 100000 + n), CONCAT('Prize ', n), 1.50, 1000, 1, n + 1, ` + fmt.Sprint(prizes) + ` + n + 1` + rows,
		`INSERT INTO moves (pool_id, version, prize_id, delta, reason, key_id, stocked, issued, at)
SELECT pools.id, n + 1, CONCAT('prize-', 100000 + n), 1000, 'delivery', ` + key + `, 1000, 0, pools.created_at` + rows,
		`INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
SELECT pools.id, ` + fmt.Sprint(prizes) + ` + n + 1, CONCAT('draw-', ` + fmt.Sprint(prizes) + ` + n), 1, ` + user + `, CONCAT('prize-', 100000 + n), 1, pools.created_at` + rows,
		fmt.Sprintf(`UPDATE pools SET version = %d WHERE id = '%s'`, 2*prizes, poolID),
	} {
		_, err := s.LockDB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

// numbers returns a query for all numbers, from 0 on, that have no more digits than n-1.
func numbers(n int) string {
	sum, from := "0", "d"
	for place := 1; place < n; place *= 10 {
		sum += fmt.Sprintf(" + %d * d%d.d", place, place)
		from += fmt.Sprintf(", d AS d%d", place)
	}
	return `WITH d (d) AS (SELECT 0 UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4
	UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)
SELECT ` + sum + ` AS n FROM ` + from + ` WHERE d.d = 0`
}

// planOfEach returns a plan that draws one unit of each of the first prizes.
func planOfEach(poolID string, version int64, prizes int, unit int64) *urn.Plan {
	p := &urn.Plan{PoolID: poolID, From: draw.Head{Version: version}}
	for n := range prizes {
		id := fmt.Sprintf("prize-%d", 100_000+n)
		p.Raises = append(p.Raises, urn.Raise{PrizeID: id, Issued: 1})
		p.Awards = append(p.Awards, draw.Award{
			Version: version + int64(n) + 1, DrawID: fmt.Sprintf("draw-%d", version+int64(n)), Ordinal: 1, UserID: "u", PrizeID: id, Unit: unit,
			At: time.Now().UTC().Truncate(time.Microsecond),
		})
	}
	return p
}

// work is an operation, and the number of rows that it must read.
type work struct {
	name string
	rows int
	do   func()
}

// linearWork returns operations on the pool "fresh", which has a move and an award for
// each prize.
func linearWork(t *testing.T, s *stock.Store, fresh int) []work {
	ctx := t.Context()
	var keys []string
	for n := range 100 {
		keys = append(keys, fmt.Sprintf("draw-%d", fresh+n*fresh/100))
	}
	u := urn.NewUrn("fresh")
	drawsByKey := func(o stock.TxOptions, write *urn.Plan) {
		tx, err := s.Read(ctx, u, o)
		require.NoError(t, err)
		defer tx.Rollback()
		found, err := tx.Draws(ctx, "fresh", keys)
		require.NoError(t, err)
		require.Len(t, found, len(keys))
		if write != nil {
			require.NoError(t, tx.Write(ctx, stocktest.On(u, write)))
		}
	}
	drawsByKey(stock.TxOptions{}, nil) // from here on, the urn has the prizes
	return []work{
		{"audit", 3 * fresh, func() {
			a := stocktest.NoViolations(t, s, "fresh")
			require.Len(t, a.Prizes, fresh)
		}},
		{"pool", fresh, func() {
			found, err := s.Pool(ctx, "fresh")
			require.NoError(t, err)
			require.Len(t, found.Prizes, fresh)
		}},
		{"page of awards", 2 * pageRows, func() {
			found, err := s.Awards(ctx, "fresh", int64(fresh+fresh/2), pageRows)
			require.NoError(t, err)
			require.Len(t, found, pageRows)
			require.Equal(t, fmt.Sprintf("Prize %d", fresh/2), found[0].PrizeName)
		}},
		{"page of moves", pageRows, func() {
			found, err := s.Moves(ctx, "fresh", int64(fresh/2), pageRows)
			require.NoError(t, err)
			require.Len(t, found, pageRows)
		}},
		{"a draw", 2, func() {
			found, err := s.Draw(ctx, "fresh", keys[50])
			require.NoError(t, err)
			require.Len(t, found.Awards, 1)
		}},
		{"a search of a draw", 2, func() {
			found, _, err := s.FindAwards(ctx, "fresh", draw.AwardFilter{DrawID: keys[50]}, 0, 10)
			require.NoError(t, err)
			require.Len(t, found, 1)
		}},
		{"a search of nobody", fresh, func() {
			found, _, err := s.FindAwards(ctx, "fresh", draw.AwardFilter{UserID: "nobody"}, 0, 10)
			require.NoError(t, err)
			require.Empty(t, found)
		}},
		{"overviews", 2 * fresh, func() {
			_, err := s.Overviews(ctx, 100, 50)
			require.NoError(t, err)
		}},
		{"draws by key", 2 * len(keys), func() { drawsByKey(stock.TxOptions{}, nil) }},
		{"a batch", 2*len(keys) + 2*batchDraws, func() {
			drawsByKey(stock.TxOptions{Lock: true}, planOfEach("fresh", int64(2*fresh), batchDraws, 2))
		}},
		{"a stock move", 4, func() {
			_, err := s.Stock(ctx, draw.Stocking{PoolID: "fresh", PrizeID: "prize-101234", Delta: 1, Reason: "restock", Key: "m1"}, "test")
			require.NoError(t, err)
		}},
		{"a file of steps", 6 * pageRows, func() {
			wanted := make([]draw.WantedStep, pageRows)
			for n := range wanted {
				wanted[n] = draw.WantedStep{Award: int64(fresh + fresh/2 + n + 1), What: draw.StepFulfilled, Line: n + 2}
			}
			done, err := s.StepAll(ctx, "fresh", wanted, "test", false)
			require.NoError(t, err)
			require.Equal(t, pageRows, done.Written)
		}},
		{"a restock", 2*fresh + 2*100, func() {
			file := "prize,name,value,stock\n"
			for n := range 100 {
				file += fmt.Sprintf("prize-%d,,,10\n", 100_000+n)
			}
			done, err := imported(t, s, "fresh", file)
			require.NoError(t, err)
			require.Equal(t, 100, done.Restocked)
		}},
	}
}

// broken is a query that reads more than necessary.
type broken struct {
	name  string
	rows  int
	query string
	args  []any
}

// brokenDoubles returns queries for which the database chooses bad plans. They are the
// former queries for a page of awards, for the audit and for the draws of a batch.
func brokenDoubles(m metered, statistics string) []broken {
	const page = `SELECT a.version, p.name FROM awards AS a JOIN prizes AS p ON p.pool_id = a.pool_id AND p.id = a.prize_id
WHERE a.pool_id = ? AND a.version > ? ORDER BY a.version LIMIT 400`
	switch m.dialect + "/" + statistics {
	case "postgres/none":
		return []broken{{"page of a join", 2 * pageRows, page, []any{"fresh", m.fresh + m.fresh/2}}}
	case "postgres/stale":
		return []broken{
			{"page of a join", 2 * pageRows, page, []any{"small", smallPrizes}},
			{"sums joined", 3 * smallPrizes, `SELECT p.id, p.stocked, p.issued, COALESCE(m.moved, 0), COALESCE(w.awards, 0)
FROM prizes AS p
LEFT JOIN (SELECT prize_id, SUM(delta) AS moved FROM moves WHERE pool_id = ? GROUP BY prize_id) AS m ON m.prize_id = p.id
LEFT JOIN (SELECT prize_id, COUNT(*) AS awards FROM awards WHERE pool_id = ? GROUP BY prize_id) AS w ON w.prize_id = p.id
WHERE p.pool_id = ? ORDER BY p.added`, []any{"small", "small", "small"}},
		}
	case "sqlite/none":
		return []broken{{"join with keys", 2 * 100, `SELECT a.version FROM json_each(?) AS k
CROSS JOIN awards AS a ON a.pool_id = ? AND a.draw_id = k.value`, []any{`["draw-2000"` + strings.Repeat(`, "draw-2001"`, 99) + `]`, "fresh"}}}
	}
	return []broken{{"counts for each prize", 3 * smallPrizes, `SELECT p.id,
	(SELECT COUNT(*) FROM awards AS a WHERE a.pool_id = p.pool_id AND a.prize_id = p.id),
	(SELECT COALESCE(SUM(m.delta), 0) FROM moves AS m WHERE m.pool_id = p.pool_id AND m.prize_id = p.id)
FROM prizes AS p WHERE p.pool_id = ?`, []any{"small"}}}
}
