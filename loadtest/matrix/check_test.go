package main

import (
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The tables without their constraints: the check has to see what those would
// refuse.
const bareTables = `
CREATE TABLE pools (id TEXT, version INTEGER);
CREATE TABLE prizes (pool_id TEXT, id TEXT, stocked INTEGER, issued INTEGER);
CREATE TABLE awards (pool_id TEXT, version INTEGER, draw_id TEXT, ordinal INTEGER, user_id TEXT, prize_id TEXT, unit INTEGER);
CREATE TABLE moves (pool_id TEXT, version INTEGER, prize_id TEXT, delta INTEGER);
CREATE TABLE changes (pool_id TEXT, version INTEGER);
INSERT INTO pools VALUES ('p', 4), ('other', 9);
INSERT INTO prizes VALUES ('p', 'gold', 2, 2), ('p', 'tin', 5, 1);
INSERT INTO moves VALUES ('p', 1, 'gold', 2), ('p', 2, 'tin', 5);
INSERT INTO awards VALUES ('p', 3, 'd1', 1, 'u1', 'gold', 1), ('p', 4, 'd1', 2, 'u1', 'tin', 1),
	('p', 5, 'd2', 1, 'u2', 'gold', 2), ('other', 1, 'd9', 1, 'u9', 'gold', 1);
INSERT INTO changes VALUES ('p', 6);
UPDATE pools SET version = 6 WHERE id = 'p';`

func TestCheckNamesEveryBrokenLaw(t *testing.T) {
	for name, c := range map[string]struct {
		damage string
		faults []string
	}{
		"nothing": {"", nil},
		"an award too many": {
			"INSERT INTO awards VALUES ('p', 7, 'd3', 1, 'u3', 'gold', 3); UPDATE pools SET version = 7 WHERE id = 'p'",
			[]string{"SQL: gold over-issued by 1 (stocked 2, awards 3)", "SQL: gold says issued 2, has 3 awards"},
		},
		"a lost award": {
			"DELETE FROM awards WHERE version = 4 AND pool_id = 'p'",
			[]string{"SQL: tin says issued 1, has 0 awards", "SQL: 1 versions are missing"},
		},
		"a version twice": {
			"UPDATE awards SET version = 4 WHERE version = 3",
			[]string{"SQL: 1 versions are there twice", "SQL: 1 versions are missing"},
		},
		"a log that ends early": {
			"UPDATE pools SET version = 7 WHERE id = 'p'", []string{"SQL: the pool's version is 7, its log ends at 6"},
		},
		"a key of two users": {
			"UPDATE awards SET user_id = 'u5' WHERE version = 4", []string{"SQL: 1 draws are not one draw of one user"},
		},
		"a key drawn twice": {
			"UPDATE awards SET ordinal = 1 WHERE draw_id = 'd1'", []string{"SQL: 1 draws are not one draw of one user"},
		},
		"stock from nowhere": {
			"UPDATE prizes SET stocked = 3 WHERE id = 'gold'", []string{"SQL: gold says stocked 3, its moves add up to 2"},
		},
		"an award of nothing": {
			"UPDATE awards SET prize_id = 'lead' WHERE version = 4",
			[]string{"SQL: tin says issued 1, has 0 awards", "SQL: 1 awards are of no prize of the pool"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "bare.db")
			db, err := sql.Open("sqlite", file)
			require.NoError(t, err)
			_, err = db.Exec(bareTables + c.damage)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			found, err := check(t.Context(), "sqlite:"+file, "p")
			require.NoError(t, err)
			assert.ElementsMatch(t, c.faults, found.faults())
		})
	}
}

func TestCheckReadsOnly(t *testing.T) {
	_, err := check(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "absent.db"), "p")
	assert.Error(t, err)
}

func TestAgreeNamesThePrize(t *testing.T) {
	r := rows{prizes: map[string]prizeRows{"gold": {stocked: 2, awards: 2}}}
	s := &summary{Prizes: []counted{{Prize: "gold", Stocked: 2, Awards: 2}}}
	var a audited
	a.Prizes = append(a.Prizes, auditedPrize{Prize: "gold", Stocked: 2, Awards: 2})
	assert.Empty(t, agree(a, s, r))
	s.Prizes[0].Awards = 1
	assert.Equal(t, []string{"gold: audit 2 of 2, log 1 of 2, SQL 2 of 2"}, agree(a, s, r))
}

// TestSummary adds up sell-outs, and names the one that is not as it must be.
func TestSummary(t *testing.T) {
	ok := result{Script: "oversell", Program: service, Database: "SQLite", Mode: "external", Instances: 3, Stocked: 10, LogAwards: 10, Won: 10, SoldOut: 90, Passed: true}
	table, redis, spike, bad := ok, ok, ok, ok
	table.Lock, redis.Lock, spike.Script, bad.Passed, bad.LogOverIssued, bad.Program = "table", "redis", "spike", false, 3, "broken"
	summary := published{At: "2026-01-02T03:04:05Z", Cells: []result{table, redis, bad, spike}}.summary()
	assert.Contains(t, summary, "4 cells: 3 passed, 0 skipped")
	assert.Contains(t, summary, "| drawsvc | SQLite | external `table:` `redis:` | 3 | 2 | 200 | 20 | 20 | 0 | ok |\n")
	assert.Contains(t, summary, "| textbook `broken` | SQLite | external | 3 | 1 | 100 | 10 | 10 | 3 | FAILED |\n")
}

// TestPublished: the page of results says what the results say.
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
