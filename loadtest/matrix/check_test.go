package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/report"
)

// The tables have no constraints here: the check must find the faults that the
// constraints would reject.
const bareTables = `
CREATE TABLE pools (id TEXT, version INTEGER);
CREATE TABLE prizes (pool_id TEXT, id TEXT, stocked INTEGER, issued INTEGER);
CREATE TABLE awards (pool_id TEXT, version INTEGER, draw_id TEXT, ordinal INTEGER, user_id TEXT, prize_id TEXT, unit INTEGER);
CREATE TABLE moves (pool_id TEXT, version INTEGER, prize_id TEXT, delta INTEGER, key_id TEXT, stocked INTEGER, issued INTEGER);
CREATE TABLE changes (pool_id TEXT, version INTEGER);
INSERT INTO pools VALUES ('p', 4), ('other', 9);
INSERT INTO prizes VALUES ('p', 'gold', 2, 2), ('p', 'tin', 5, 1);
INSERT INTO moves VALUES ('p', 1, 'gold', 2, NULL, 2, 0), ('p', 2, 'tin', 5, NULL, 5, 0);
INSERT INTO awards VALUES ('p', 3, 'd1', 1, 'u1', 'gold', 1), ('p', 4, 'd1', 2, 'u1', 'tin', 1),
	('p', 5, 'd2', 1, 'u2', 'gold', 2), ('other', 1, 'd9', 1, 'u9', 'gold', 1);
INSERT INTO changes VALUES ('p', 6);
UPDATE pools SET version = 6 WHERE id = 'p';`

func TestEveryBrokenLawIsNamed(t *testing.T) {
	const mixed = "SQL: draw-twice: pool p has 2 awards of the draw d1, which are not one draw of one user"
	for name, c := range map[string]struct {
		damage string
		faults []string
	}{
		"nothing": {"", nil},
		"an award too many": {
			"INSERT INTO awards VALUES ('p', 7, 'd3', 1, 'u3', 'gold', 3); UPDATE pools SET version = 7 WHERE id = 'p'",
			[]string{
				"SQL: over-issued: pool p issued 1 more of gold than the 2 stocked",
				"SQL: counters: pool p says 2 issued and 2 stocked of gold; its logs say 3 and 2",
			},
		},
		"a lost award": {
			"DELETE FROM awards WHERE version = 4 AND pool_id = 'p'",
			[]string{
				"SQL: counters: pool p says 1 issued and 5 stocked of tin; its logs say 0 and 5",
				"SQL: versions: pool p lacks the version 4 of 6",
			},
		},
		"a version twice": {
			"UPDATE awards SET version = 4 WHERE version = 3",
			[]string{"SQL: versions: pool p has the version 4 twice", "SQL: versions: pool p lacks the version 3 of 6"},
		},
		"a log that ends early": {
			"UPDATE pools SET version = 7 WHERE id = 'p'", []string{"SQL: versions: pool p lacks the version 7 of 7"},
		},
		"a key of two users": {"UPDATE awards SET user_id = 'u5' WHERE version = 4", []string{mixed}},
		"a key drawn twice":  {"UPDATE awards SET ordinal = 1 WHERE draw_id = 'd1'", []string{mixed}},
		"a unit twice": {
			"UPDATE awards SET unit = 1 WHERE version = 5", []string{"SQL: unit-twice: pool p issued unit 1 of gold twice"},
		},
		"stock from nowhere": {
			"UPDATE prizes SET stocked = 3 WHERE id = 'gold'",
			[]string{"SQL: counters: pool p says 2 issued and 3 stocked of gold; its logs say 2 and 2"},
		},
		"an award of nothing": {
			"UPDATE awards SET prize_id = 'lead' WHERE version = 4",
			[]string{
				"SQL: counters: pool p says 1 issued and 5 stocked of tin; its logs say 0 and 5",
				"SQL: counters: pool p has 1 awards of lead, which it does not have",
			},
		},
		"no pool": {
			"DELETE FROM prizes; DELETE FROM awards; DELETE FROM moves; DELETE FROM changes; DELETE FROM pools",
			[]string{"SQL: counters: pool p has no prizes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bare.db")
			db, err := sql.Open("sqlite", file)
			require.NoError(t, err)
			_, err = db.Exec(bareTables + c.damage)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			found, err := read(t.Context(), "sqlite:"+file, "p", false)
			require.NoError(t, err)
			assert.ElementsMatch(t, c.faults, lawsBroken(found))
		})
	}
}

func TestRowsAreReadOnly(t *testing.T) {
	_, err := read(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "absent.db"), "p", false)
	assert.Error(t, err)
}

// TestCountIsThatOfTheRows: the count is taken from the rows, not from the counters.
func TestCountIsThatOfTheRows(t *testing.T) {
	rows := history.Rows{
		Prizes: []history.PrizeRow{{ID: "gold", Stocked: 1, Issued: 1}, {ID: "tin", Stocked: 5}},
		Awards: []history.AwardRow{{Prize: "gold"}, {Prize: "gold"}},
	}
	assert.Equal(t, []counted{{"gold", 1, 2, 1}, {"tin", 5, 0, 0}}, count(rows))
	assert.Equal(t, counted{"", 6, 2, 1}, total(count(rows)))
}

func TestAgreeNamesThePrize(t *testing.T) {
	gold := func(awards int64) []counted { return []counted{{Prize: "gold", Stocked: 2, Awards: awards}} }
	assert.Empty(t, agree(gold(2), gold(2), gold(2)))
	assert.Equal(t, []string{"gold: audit 2 of 2, log 1 of 2, SQL 2 of 2"}, agree(gold(2), gold(1), gold(2)))
	assert.Equal(t, []string{"audit, log and SQL know 1, 1 and 0 prizes", "gold: audit 2 of 2, log 2 of 2, SQL 0 of 0"}, agree(gold(2), gold(2), nil))
}

// TestSummary: the summary adds up sell-outs, and names the wrong one.
func TestSummary(t *testing.T) {
	ok := result{Script: "oversell", Program: service, Database: "SQLite", Mode: "external", Instances: 3, Stocked: 10, LogAwards: 10, Won: 10, SoldOut: 90, Outcome: report.Outcome{Passed: true}}
	table, redis, spike, bad := ok, ok, ok, ok
	table.Lock, redis.Lock, spike.Script, bad.Passed, bad.LogOverIssued, bad.Program = "table", "redis", "spike", false, 3, "broken"
	summary := published{Stand: report.Stand{At: "2026-01-02T03:04:05Z"}, Cells: []result{table, redis, bad, spike}}.summary()
	assert.Contains(t, summary, "4 cells: 3 passed, 0 skipped")
	assert.Contains(t, summary, "| drawsvc | SQLite | external `table:` `redis:` | 3 | 2 | 200 | 20 | 20 | 0 | ok |\n")
	assert.Contains(t, summary, "| textbook `broken` | SQLite | external | 3 | 1 | 100 | 10 | 10 | 3 | FAILED |\n")
}

// TestPublished: the page of results agrees with the results.
func TestPublished(t *testing.T) {
	text, err := os.ReadFile("../results/matrix.json")
	require.NoError(t, err)
	var p published
	require.NoError(t, json.Unmarshal(text, &p))
	shown, err := os.ReadFile("../results/matrix.md")
	require.NoError(t, err)
	assert.Equal(t, p.markdown(), string(shown))
	p.Cells[0].LogOverIssued++
	assert.NotEqual(t, p.markdown(), string(shown), "another result is another page")
}
