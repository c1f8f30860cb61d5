package stock_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// TestAuditFinds breaks each rule by SQL and requires that the audit reports where. The
// schema's checks are off, because they would refuse some of these rows.
func TestAuditFinds(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		want   []string
	}{
		"nothing": {"", nil},
		"stock lowered": {
			`UPDATE prizes SET stocked = 1 WHERE id = 'a'`, []string{
				`over-issued: prize "a" has 2 awards and 2 issued, but 1 stocked`,
				`stocked-is-moves: prize "a" says 1 stocked, its moves add up to 5`,
			},
		},
		"stock raised": {
			`UPDATE prizes SET stocked = 6 WHERE id = 'a'`, []string{`stocked-is-moves: prize "a" says 6 stocked, its moves add up to 5`},
		},
		"issued raised": {
			`UPDATE prizes SET issued = 3 WHERE id = 'a'`, []string{`issued-is-awards: prize "a" says 3 issued, its awards are 2`},
		},
		"a unit twice": {
			`UPDATE awards SET unit = 1 WHERE draw_id = 'd2'`,
			[]string{`units-count-up: prize "a" has unit 1 behind unit 1 at version 5; of its 2 awards 1 are not the next unit`},
		},
		"units out of order": {
			`UPDATE awards SET unit = 3 - unit WHERE prize_id = 'a'`,
			[]string{`units-count-up: prize "a" has unit 2 behind unit 0 at version 4; of its 2 awards 2 are not the next unit`},
		},
		"a move at the version of an award": {
			`UPDATE moves SET version = 5 WHERE version = 2`,
			[]string{`version-gap: version 2 is missing`, `version-double: version 5 is there twice, as award and as move`},
		},
		"an award missing": {
			`DELETE FROM awards WHERE draw_id = 'd1'`, []string{
				`version-gap: version 4 is missing`,
				`issued-is-awards: prize "a" says 2 issued, its awards are 1`,
				`units-count-up: prize "a" has unit 2 behind unit 0 at version 5; of its 1 awards 1 are not the next unit`,
			},
		},
		"several gaps": {
			`UPDATE awards SET version = 17 WHERE version = 7; UPDATE moves SET version = 9 WHERE version = 3; UPDATE pools SET version = 17`,
			[]string{
				`version-gap: version 3 is missing`, `version-gap: versions 7 to 8 are missing`, `version-gap: versions 10 to 16 are missing`,
				`draw-whole: version 17 is award 2 of its draw, the version before is not its award 1`,
			},
		},
		"the pool ahead of its log": {
			`UPDATE pools SET version = 10`, []string{`version-gap: versions 8 to 10 are missing`},
		},
		"the log ahead of its pool": {
			`UPDATE pools SET version = 6`, []string{`version-gap: the pool is at version 6, its last entry is version 7`},
		},
		"a version before the first": {
			`UPDATE moves SET version = -7 WHERE version = 2`,
			[]string{`version-gap: the move of version -7 is before version 1`, `version-gap: version 2 is missing`},
		},
		"an award of nothing": {
			`UPDATE awards SET prize_id = 'zz' WHERE draw_id = 'd2'`, []string{
				`prize-unknown: the award of version 5 is of prize "zz", which the pool does not have`,
				`issued-is-awards: prize "a" says 2 issued, its awards are 1`,
			},
		},
		"a move of nothing": {
			`UPDATE moves SET prize_id = 'zz' WHERE version = 2`, []string{
				`prize-unknown: the move of version 2 is of prize "zz", which the pool does not have`,
				`stocked-is-moves: prize "a" says 5 stocked, its moves add up to 0`,
			},
		},
		"a draw without its first award": {
			`UPDATE awards SET ordinal = 2 WHERE draw_id = 'd1'`,
			[]string{`draw-whole: version 4 is award 2 of its draw, the version before is not its award 1`},
		},
		"a draw that lacks an award": {
			`UPDATE awards SET ordinal = 3 WHERE version = 7`,
			[]string{`draw-whole: versions 6 and 7 are awards 1 and 3 of one draw`},
		},
		"a change missing": {
			`DELETE FROM changes`, []string{`version-gap: version 1 is missing`},
		},
		"a change at the version of a move": {
			`UPDATE changes SET version = 2`,
			[]string{`version-gap: version 1 is missing`, `version-double: version 2 is there twice, as move and as change`},
		},
		"time that falls": {
			`UPDATE awards SET at = '2001-02-03T04:05:06.000000Z' WHERE version = 5; UPDATE moves SET at = '2001-02-03T04:05:05.000000Z';
			UPDATE changes SET at = '2001-02-03T04:05:05.000000Z'; UPDATE awards SET at = '2001-02-03T04:05:07.000000Z' WHERE version <> 5`,
			[]string{`time-backwards: the award of version 5 is of 2001-02-03T04:05:06.000000Z, the entry before it of 2001-02-03T04:05:07.000000Z`},
		},
		"time that falls before the first change": {
			`UPDATE awards SET at = '2001-02-03T04:05:06.000000Z'; UPDATE changes SET version = 8; UPDATE pools SET version = 8`,
			[]string{`version-gap: version 1 is missing`},
		},
		"a pool that its changes never opened": {
			`UPDATE changes SET body = '{"name":"P","state":"paused","mode":null}'`, []string{
				`drew-while-closed: the award of version 4 was made while the pool was paused`,
				`drew-while-closed: the award of version 5 was made while the pool was paused`,
				`drew-while-closed: the award of version 6 was made while the pool was paused`,
				`drew-while-closed: the award of version 7 was made while the pool was paused`,
				`state-is-changes: the pool is open by its row, paused by its changes`,
			},
		},
		"a pool that was paused and opened between": {
			`UPDATE awards SET version = version + 100; UPDATE awards SET version = version - 98; UPDATE pools SET version = 9;
			INSERT INTO changes SELECT 'p', 4, 'state', '{"state":"paused"}', 'test', at FROM changes;
			INSERT INTO changes SELECT 'p', 5, 'state', '{"state":"open"}', 'test', at FROM changes WHERE version = 1`, nil,
		},
		"a draw of two users": {
			`UPDATE awards SET user_id = 'v' WHERE version = 7`,
			[]string{`draw-whole: versions 6 and 7 are awards of one draw to different users`},
		},
		"a draw in two places": {
			`UPDATE awards SET draw_id = 'd1', ordinal = 2 WHERE version = 7`,
			[]string{`draw-whole: version 7 is award 2 of its draw, the version before is not its award 1`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := damageable(t)
			_, err := db.Exec(c.damage)
			require.NoError(t, err)
			require.Equal(t, c.want, violations(t, s))
		})
	}
}

// TestAuditIsShort: a report lists the first violations of each rule, and only counts the
// others.
func TestAuditIsShort(t *testing.T) {
	s, db := damageable(t)
	_, err := db.Exec(`UPDATE pools SET version = 1007;
WITH RECURSIVE n (n) AS (SELECT 8 UNION ALL SELECT n + 1 FROM n WHERE n < 1007)
INSERT INTO awards SELECT 'p', n, 'x' || n, 2, 'u', 'zz', 1, '2026-01-01T00:00:00.000000Z' FROM n`)
	require.NoError(t, err)
	a, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, int64(2000), a.Found)
	found := violations(t, s)
	require.Len(t, found, 42)
	require.Equal(t, `draw-whole: version 8 is award 2 of its draw, the version before is not its award 1`, found[0])
	require.Equal(t, `draw-whole: and 980 more`, found[20])
	require.Equal(t, `prize-unknown: the award of version 8 is of prize "zz", which the pool does not have`, found[21])
	require.Equal(t, `prize-unknown: and 980 more`, found[41])
}

// TestAwardOfNothingIsShown: a page of awards, an export and a replay contain every
// award, even if its prize does not exist.
func TestAwardOfNothingIsShown(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			s := stocktest.New(t, dialect)
			stocktest.Pool(t, s, "p", 5)
			require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d1", "d2", "d3")))
			_, err := s.LockDB().ExecContext(t.Context(), `UPDATE awards SET prize_id = 'zz' WHERE draw_id = 'd2'`)
			require.NoError(t, err)
			page, err := s.Awards(t.Context(), "p", 0, 10)
			require.NoError(t, err)
			require.Len(t, page, 3)
			require.Equal(t, "zz", page[1].PrizeID)
			require.Empty(t, page[1].PrizeName)
			require.Equal(t, "Prize a", page[2].PrizeName)
			one, err := s.Draw(t.Context(), "p", "d2")
			require.NoError(t, err)
			require.Equal(t, page[1:2], one.Awards)
			tx, err := s.Read(t.Context(), urn.NewUrn("p"), stock.TxOptions{})
			require.NoError(t, err)
			defer tx.Rollback()
			known, err := tx.Draws(t.Context(), "p", []string{"d2", "d4"})
			require.NoError(t, err)
			require.Equal(t, map[string]draw.Draw{"d2": one}, known)
		})
	}
}

// damageable returns a store with an intact pool "p" of seven versions, and a connection
// on which the schema's checks are off.
func damageable(t *testing.T) (*stock.Store, *sql.DB) {
	path := filepath.Join(t.TempDir(), "draws.db")
	s := stocktest.Open(t, "sqlite:"+path, stock.Options{})
	stocktest.Pool(t, s, "p", 5, 5)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 3, "a", 0, "d1", "d2")))
	two := stocktest.Plan("p", 5, "b", 0, "d3", "d3")
	two.Awards[1].Ordinal = 2
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, two))
	db, err := sql.Open("sqlite", path+"?_pragma=ignore_check_constraints(1)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	for _, table := range []string{"awards", "moves", "changes"} { // all at the same time, so that rows may be in any order
		_, err := db.ExecContext(t.Context(), `UPDATE `+table+` SET at = '2026-01-01T00:00:00.000000Z'`)
		require.NoError(t, err)
	}
	return s, db
}

func violations(t *testing.T, s *stock.Store) (found []string) {
	a, err := s.Audit(t.Context(), "p")
	require.NoError(t, err)
	for _, v := range a.Violations {
		found = append(found, v.Rule+": "+v.Detail)
	}
	require.Equal(t, len(found) == 0, a.OK())
	return found
}

// TestSchemaRefuses shows law 2: without any code of the service, the schema refuses rows
// that must not exist.
func TestSchemaRefuses(t *testing.T) {
	award := func(version, draw, ordinal string) string {
		return `INSERT INTO awards (pool_id, version, draw_id, ordinal, user_id, prize_id, unit, at)
			VALUES ('p', ` + version + `, '` + draw + `', ` + ordinal + `, 'u', 'a', 9, '2026-01-01T00:00:00')`
	}
	for name, statement := range map[string]string{
		"issued beyond stock":       `UPDATE prizes SET issued = 6 WHERE id = 'a'`,
		"issued below nothing":      `UPDATE prizes SET issued = -1 WHERE id = 'a'`,
		"stock below issued":        `UPDATE prizes SET stocked = 1 WHERE id = 'a'`,
		"two awards of one version": award("4", "d9", "1"),
		"a draw's name twice":       award("9", "d1", "1"),
		"a pool in no state":        `UPDATE pools SET state = 'ajar'`,
		"a version below nothing":   `UPDATE pools SET version = -1`,
	} {
		for _, dialect := range stock.Dialects() {
			t.Run(dialect+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := stocktest.New(t, dialect)
				stocktest.Pool(t, s, "p", 5)
				require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "d1", "d2")))
				_, err := s.LockDB().ExecContext(t.Context(), statement)
				require.Error(t, err)
				require.False(t, strings.Contains(err.Error(), "syntax"), "%v", err)
				stocktest.NoViolations(t, s, "p")
			})
		}
	}
}

// TestReadOnly: if a process serves an SQLite file, a second process cannot serve it, but
// can read it.
func TestReadOnly(t *testing.T) {
	url := "sqlite:" + filepath.Join(t.TempDir(), "draws.db")
	s := stocktest.Open(t, url, stock.Options{})
	stocktest.Pool(t, s, "p", 5)

	_, err := stock.Open(t.Context(), url, stock.Options{})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.ErrorContains(t, err, "in use by another process")

	reader, err := stock.Open(t.Context(), url, stock.Options{ReadOnly: true})
	require.NoError(t, err)
	stocktest.NoViolations(t, reader, "p")
	_, err = reader.Stock(t.Context(), draw.Stocking{PoolID: "p", PrizeID: "a", Delta: 1, Reason: "x"}, "test")
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
	require.NoError(t, reader.Close())

	_, err = stock.Open(t.Context(), url+"-absent", stock.Options{ReadOnly: true})
	require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
}
