package stock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestReadsOfRulesAreLinear bounds how many turns and agenda items an audit reads. It
// tests the turns of one user and of many users, without statistics and with old ones.
func TestReadsOfRulesAreLinear(t *testing.T) {
	eachMetered(t, func(t *testing.T, m metered, statistics string) {
		s := stocktest.Open(t, m.url, stock.Options{})
		if statistics == "stale" {
			fillRuled(t, s, "old", 10, "'u'")
			m.gather(t, s)
		}
		fillRuled(t, s, "one", m.fresh, "'u'")
		fillRuled(t, s, "many", m.fresh, "CONCAT('user-', 100000 + n)")
		require.NoError(t, s.Close())
		s = m.open(t)
		const tables = 6 // prizes, moves, awards, turns with their awards, and the agenda
		for _, pool := range []string{"one", "many"} {
			read := m.count(t, s, func() { stocktest.NoViolations(t, s, pool) })
			t.Logf("%s: read %d to see %d rows", pool, read, tables*m.fresh)
			require.LessOrEqual(t, read, readMax(tables*m.fresh), pool)
		}
		read := m.count(t, s, func() {
			found, err := s.Agenda(t.Context(), "one", int64(m.fresh/2), pageRows, false)
			require.NoError(t, err)
			require.Len(t, found, pageRows)
		})
		require.LessOrEqual(t, read, readMax(pageRows), "page of an agenda")
		partsOfAgenda(t, m, s)
		usersOfBatch(t, m, s)
		userPage(t, m, s)
		// The broken double is the former query for a page of one user's turns.
		if m.dialect == "postgres" {
			const page = `SELECT t.seq FROM turns AS t WHERE t.pool_id = ? AND t.user_id >= ? AND (t.user_id > ? OR t.what > ? OR t.what = ? AND t.seq > ?)
ORDER BY t.user_id, t.what, t.seq LIMIT 100`
			read = m.count(t, s, func() {
				require.NoError(t, m.drain(t.Context(), s.Engine().Read, page, "one", "u", "u", "draw", "draw", m.fresh-100))
			})
			require.Greater(t, read, readMax(100), "it must break the bound, or that bounds nothing")
		}
	})
}

// partsOfAgenda bounds how much a page of a part of a large agenda reads. The broken
// double orders open items without the key.
func partsOfAgenda(t *testing.T, m metered, s *stock.Store) {
	_, err := s.LockDB().ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO agenda (pool_id, item, at, what, body, actor)
SELECT pools.id, %d + n, pools.created_at, 'stock', '{"prize":"prize-100000","delta":1,"reason":"r"}', 'test' FROM (%s) AS numbers, pools WHERE pools.id = 'many' AND n < %d`, m.fresh+1, numbers(m.fresh), m.fresh))
	require.NoError(t, err)
	for _, page := range []draw.AgendaPage{
		{Part: draw.AgendaDue, Limit: 100}, {Part: draw.AgendaDue, Kind: draw.ItemStock, Limit: 100},
		{Part: draw.AgendaDone, Limit: 100}, {Part: draw.AgendaDone, After: int64(m.fresh / 2), Limit: 100},
	} {
		read := m.count(t, s, func() {
			found, _, err := s.AgendaPart(t.Context(), "many", page)
			require.NoError(t, err)
			require.Len(t, found, 100)
		})
		require.LessOrEqual(t, read, readMax(100), "%+v", page)
	}
	for _, page := range []draw.AgendaPage{
		{Kind: draw.ItemMoment}, {PrizeID: "gold"}, {To: time.Unix(0, 0)}, {From: time.Now().AddDate(1, 0, 0)},
	} {
		page.Part, page.After, page.Limit = draw.AgendaDone, 100, 100
		read := m.count(t, s, func() {
			found, _, err := s.AgendaPart(t.Context(), "many", page)
			require.NoError(t, err)
			require.Empty(t, found)
		})
		require.LessOrEqual(t, read, readMax(100), "a filter must not read on into open items: %+v", page)
	}
	sumsOfAgenda(t, m, s)
	if m.dialect == "sqlite" { // a page of the file contains many items
		return
	}
	read := m.count(t, s, func() {
		require.NoError(t, m.drain(t.Context(), s.Engine().Read, `SELECT item FROM agenda WHERE pool_id = ? AND done = 0 ORDER BY actor, item LIMIT 100`, "many"))
	})
	require.Greater(t, read, readMax(100), "it must break the bound, or that bounds nothing")
}

// sumsOfAgenda bounds the reads for the sums of a large agenda with many hidden lists.
// The broken double searches the lists for each open item.
func sumsOfAgenda(t *testing.T, m metered, s *stock.Store) {
	const lists = 200
	each := m.fresh / lists // every second list is hidden
	_, err := s.LockDB().ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO hidden_items (pool_id, version, first_item, last_item, moments, sha256)
SELECT pools.id, %[1]d + n, %[1]d + n * %[2]d, %[1]d + n * %[2]d + %[3]d, n < 0, '%[4]s' FROM (%[5]s) AS numbers, pools WHERE pools.id = 'many' AND n < %[6]d`,
		m.fresh+1, each, each/2-1, strings.Repeat("a", 64), numbers(lists), lists))
	require.NoError(t, err)
	read := m.count(t, s, func() {
		sums, err := s.AgendaSums(t.Context(), "many", []time.Time{time.Unix(0, 0)}, false)
		require.NoError(t, err)
		require.EqualValues(t, m.fresh/2, sums.Sums[0].Planned)
	})
	t.Logf("read %d to sum %d items up", read, 2*m.fresh)
	require.LessOrEqual(t, read, readMax(2*m.fresh), "sums")
	read = m.count(t, s, func() {
		_, moves, err := s.AgendaPart(t.Context(), "many", draw.AgendaPage{Part: draw.AgendaDue, WithoutStock: true, Limit: 100})
		require.NoError(t, err)
		require.EqualValues(t, m.fresh/2, moves)
	})
	t.Logf("read %d to count %d open moves", read, m.fresh)
	require.LessOrEqual(t, read, readMax(m.fresh), "open moves")
	spanOfHidden(t, m, s)
	if m.dialect == "sqlite" { // a page of the file contains many items
		return
	}
	read = m.count(t, s, func() {
		require.NoError(t, m.drain(t.Context(), s.Engine().Read, `SELECT COUNT(*) FROM agenda WHERE pool_id = ? AND done = 0
AND NOT EXISTS (SELECT 1 FROM hidden_items AS h WHERE h.pool_id = agenda.pool_id AND agenda.item BETWEEN h.first_item AND h.last_item)`, "many"))
	})
	require.Greater(t, read, readMax(m.fresh), "it must break the bound, or that bounds nothing")
}

// spanOfHidden tests that the amount read of a span of an agenda does not depend on how many
// hidden items the span has. The broken double reads by time.
func spanOfHidden(t *testing.T, m metered, s *stock.Store) {
	const isHidden = `EXISTS (SELECT 1 FROM hidden_items AS h WHERE h.pool_id = agenda.pool_id AND agenda.item BETWEEN h.first_item AND h.last_item)`
	from := time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC)
	page := draw.AgendaPage{Part: draw.AgendaDue, Kind: draw.ItemStock, From: from, Limit: 100}
	readsOf := func() (page100, byTime int64) {
		page100 = m.count(t, s, func() {
			found, _, err := s.AgendaPart(t.Context(), "many", page)
			require.NoError(t, err)
			require.Empty(t, found)
		})
		return page100, m.count(t, s, func() {
			require.NoError(t, m.drain(t.Context(), s.Engine().Read, `SELECT item FROM agenda WHERE pool_id = ? AND done = 0 AND what = 'stock' AND at >= ? AND NOT `+isHidden, "many", s.Engine().Time(from)))
		})
	}
	none, byTimeNone := readsOf()
	_, err := s.LockDB().ExecContext(t.Context(), m.rebind(`UPDATE agenda SET at = ? WHERE pool_id = 'many' AND done = 0 AND `+isHidden), s.Engine().Time(from.AddDate(0, 1, 0)))
	require.NoError(t, err)
	all, byTimeAll := readsOf()
	t.Logf("read %d with no hidden item in the span, %d with all; by time %d and %d", none, all, byTimeNone, byTimeAll)
	few := int64(m.fresh / 8)
	require.InDelta(t, none, all, float64(few))
	if m.dialect != "sqlite" { // a page of the file contains many items
		require.Greater(t, byTimeAll-byTimeNone, few, "it must break the bound, or that bounds nothing")
	}
}

// fillRuled is fillPool for a pool in which an item of the agenda has planned each move,
// and in which each award is a user's turn.
func fillRuled(t *testing.T, s *stock.Store, poolID string, prizes int, user string) {
	character := map[string]string{"postgres": "CHR(31)"}[s.Dialect()]
	if character == "" {
		character = "CHAR(31)"
	}
	fillPoolFor(t, s, poolID, prizes, user, `CONCAT(`+character+`, CONCAT('item ', n + 1))`)
	rows := fmt.Sprintf(` FROM (%s) AS numbers, pools WHERE pools.id = '%s' AND n < %d`, numbers(prizes), poolID, prizes)
	award := fmt.Sprint(prizes) + ` + n + 1`
	seq := "1"
	if user == "'u'" {
		seq = "n + 1"
	}
	for _, statement := range []string{
		`INSERT INTO agenda (pool_id, item, at, what, body, actor, done)
SELECT pools.id, n + 1, pools.created_at, 'stock', CONCAT('{"prize":"prize-', CONCAT(100000 + n, '","delta":1000,"reason":"r"}')), 'test', n + 1` + rows,
		`INSERT INTO turns (pool_id, user_id, what, seq, version, run, at)
SELECT pools.id, ` + user + `, 'draw', ` + seq + `, ` + award + `, 0, pools.created_at` + rows,
	} {
		_, err := s.LockDB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
}

// usersOfBatch bounds how much a batch reads about its users. It measures repeatedly,
// because plans are cached, and a cached plan may be from a time when the table was
// small.
func usersOfBatch(t *testing.T, m metered, s *stock.Store) {
	const users = 100
	for pool, userOf := range map[string]func(int) string{
		"many": func(i int) string { return fmt.Sprint("user-", 100_000+i*(m.fresh/users)) },
		"one":  func(int) string { return "u" },
	} {
		var needs []urn.Need
		for i := range users {
			needs = append(needs, urn.Need{Subject: userOf(i), Counted: draw.CountedDraw, Windows: []int64{3}, Units: 1})
		}
		urn := urn.NewUrn(pool)
		tx, err := s.Read(t.Context(), urn, stock.TxOptions{})
		require.NoError(t, err)
		tx.Rollback()
		for range 7 {
			tx, err := s.Resume(t.Context(), stock.TxOptions{})
			require.NoError(t, err)
			read := m.count(t, s, func() {
				_, err := tx.Turns(t.Context(), urn, needs)
				require.NoError(t, err)
				tx.Rollback()
			})
			require.LessOrEqual(t, read, readMax(2*users), "users of a batch in pool %q", pool)
		}
	}
	if m.dialect != "sqlite" { // in SQLite, a page of the file contains the turns of many users
		read := m.count(t, s, func() {
			require.NoError(t, m.drain(t.Context(), s.Engine().Read, `SELECT MAX(seq) FROM turns WHERE pool_id = ? AND CONCAT(user_id, '') = ?`, "many", "user-100000"))
		})
		require.Greater(t, read, readMax(2*users), "a scan must break the bound, or that bounds nothing")
	}
}

// userPage bounds the reads for the last page of a user's awards.
func userPage(t *testing.T, m metered, s *stock.Store) {
	rules, err := rules.Parse([]byte(`{"limits":[{"of":"draws","max":1000000}]}`))
	require.NoError(t, err)
	_, err = s.SetRules(t.Context(), "one", rules, nil, "test")
	require.NoError(t, err)
	const rows = 100
	for _, before := range []int{0, 1, m.fresh / 2, m.fresh - rows} {
		read := m.count(t, s, func() {
			found, err := s.UserAwards(t.Context(), "one", "u", int64(m.fresh+before), rows)
			require.NoError(t, err)
			require.Len(t, found, rows)
			require.Equal(t, int64(m.fresh+before+1), found[0].Version)
		})
		t.Logf("read %d to see %d awards behind %d", read, rows, before)
		require.LessOrEqual(t, read, readMax(3*rows), "page of a user's awards: turns, awards and prizes")
	}
	found, err := s.UserAwards(t.Context(), "one", "u", int64(2*m.fresh), rows)
	require.NoError(t, err)
	require.Empty(t, found)
	// The broken double is the former query. In SQLite, a page of the file contains many
	// turns.
	if m.dialect != "sqlite" {
		const page = `SELECT version FROM turns WHERE pool_id = ? AND user_id = ? AND what = ? AND version > ? ORDER BY seq LIMIT 100`
		read := m.count(t, s, func() {
			require.NoError(t, m.drain(t.Context(), s.Engine().Read, page, "one", "u", "draw", 2*m.fresh-rows))
		})
		require.Greater(t, read, readMax(3*rows), "it must break the bound, or that bounds nothing")
	}
}
