package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// knows returns the version to which a program migrates a schema.
func (p program) knows() int64 { return stocktest.Target(schemas[p.schema]()) }

// standsAt returns the output of `migrate` for a schema at a version.
func (p program) standsAt(version int64, is string) string {
	return fmt.Sprintf("schema version %d, this drawsvc knows %d: %s\n", version, p.knows(), is)
}

// migrateUp runs `migrate up`, which may have to wait for other processes that migrate.
func (p program) migrateUp() {
	p.tb.Helper()
	o := p.run("migrate", "up")
	for line := range strings.Lines(o.stderr) {
		require.Regexp(p.tb, "waiting for another process that migrates this database|migration blocked by another session", line)
	}
	o.stderr = ""
	require.Equal(p.tb, outcome{stdout: p.standsAt(p.knows(), "up to date")}, o)
}

// pending is the output of `migrate status` before a migration.
const pending = "a migration is pending: run `drawsvc migrate up`"

func TestMigrate(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		p := on(t, url)
		none := outcome{exitPending, pending, p.standsAt(0, fmt.Sprintf("migrations pending: %d", p.knows())), ""}
		require.Equal(t, none, p.run("migrate", "status"))
		require.Equal(t, none, p.run("migrate", "status"), "asking changes nothing")
		require.Contains(t, p.ok("migrate", "sql"), "00001_draws.sql")
		if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
			require.NoFileExists(t, path)
			p.vars["DRAWSVC_DATABASE"] = url + ".d/x.db"
			p.refused(exitFailure, "no such file or directory", "migrate", "status")
			p.vars["DRAWSVC_DATABASE"] = url
			p.refused(exitFailure, "there is no database file", "pool", "list")
		}
		up := p.standsAt(p.knows(), "up to date")
		require.Equal(t, up, p.ok("migrate", "up"))
		require.Equal(t, up, p.ok("migrate", "up"), "a second time does nothing")
		require.Equal(t, up, p.ok("migrate", "status"))
		require.Equal(t, "-- nothing is pending\n", p.ok("migrate", "sql"))
	})
}

// TestMigrateStatus tests the output that scripts and init containers read, before and
// after a migration.
func TestMigrateStatus(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		status := func(schema string, code int) (says map[string]any) {
			o := program{tb: t, vars: map[string]string{"DRAWSVC_DATABASE": url}, schema: schema}.run("migrate", "status", "--output", "json")
			require.Equal(t, code, o.code, o.message)
			require.NoError(t, json.Unmarshal([]byte(o.stdout), &says))
			return says
		}
		older, newer := on(t, url), on(t, url)
		newer.schema = "additive"
		known, next := float64(older.knows()), float64(newer.knows())
		older.ok("migrate", "up")
		admits := float64(stocktest.Admits(schemas[""]()))
		says := map[string]any{
			"ok": true, "works": true, "version": known, "known": known, "oldest": float64(schemas[""]().OldestSchema),
			"admits_from": admits, "pending": []any{},
		}
		require.Equal(t, says, status("", exitOK))
		says["ok"], says["known"] = false, next
		says["pending"] = []any{map[string]any{"version": next, "file": fmt.Sprintf("%05d_next.sql", int(next))}}
		require.Equal(t, says, status("additive", exitPending))
		require.Contains(t, newer.run("migrate", "status").stdout, "migrations pending: 1; this drawsvc can work on the schema meanwhile")
		says["works"], says["oldest"] = false, next
		require.Equal(t, says, status("excluding", exitPending))

		newer.ok("migrate", "up")
		require.Equal(t, older.standsAt(older.knows()+1, "newer, and admits this drawsvc"), older.ok("migrate", "status"))
		require.Equal(t, true, status("", exitOK)["ok"])
		tamper(t, url, fmt.Sprintf(`UPDATE schema_admits SET binaries_from = %d`, newer.knows()))
		require.Equal(t, false, status("", exitFailure)["works"])
		o := older.run("migrate", "status")
		require.Equal(t, older.standsAt(older.knows()+1, "newer, and does not admit this drawsvc"), o.stdout)
		require.Contains(t, o.message, "does not admit this drawsvc")
	})
}

// TestMigrateSQL: the printed statements have the effect of `migrate up`.
func TestMigrateSQL(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		p := on(t, url)
		p.schema = "additive"
		for _, from := range []string{"nothing", "a release"} {
			if from == "nothing" && strings.HasPrefix(url, "sqlite:") {
				continue // there is no file yet
			}
			if from == "a release" {
				url = stocktest.URL(t, strings.SplitN(url, ":", 2)[0])
				p.vars["DRAWSVC_DATABASE"] = url
				on(t, url).ok("migrate", "up")
			}
			script := p.ok("migrate", "sql")
			require.Equal(t, script, p.ok("migrate", "sql"), "printing changes nothing")
			db := rows(t, url)
			db.SetMaxOpenConns(1)
			for _, statement := range stocktest.Statements(script) {
				_, err := db.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
			require.Equal(t, p.standsAt(p.knows(), "up to date"), p.ok("migrate", "status"))
			require.Equal(t, p.standsAt(p.knows(), "up to date"), p.ok("migrate", "up"))
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
			p.ok("audit")
		}
	})
}

// TestMigrateByTwo: one of two processes migrates, and the other waits.
func TestMigrateByTwo(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // only one process may open an SQLite file
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := on(t, stocktest.URL(t, dialect))
			var all sync.WaitGroup
			for range 4 {
				all.Go(p.migrateUp)
			}
			all.Wait()
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
			p.ok("audit")

			// The same with two services that start at the same time.
			p = on(t, stocktest.URL(t, dialect))
			for range 2 {
				all.Go(func() { p.serve("--migrate", "--demo").end() })
			}
			all.Wait()
			require.Regexp(t, `(?m)^demo +open`, p.ok("pool", "list"))
			p.ok("audit")
		})
	}
}

// TestSchemaOfAnotherTime: only `migrate` works on a database without a schema, and
// nothing writes to a schema that does not permit the program.
func TestSchemaOfAnotherTime(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		p := on(t, url)
		writing := [][]string{
			{"pool", "create", "spring"}, {"pool", "pause", "spring"},
			{"stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "x"},
			{"stock", "import", "--pool", "spring", "-"},
			{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--demo"},
		}
		reading := [][]string{{"audit"}, {"audit", "--pool", "spring"}, {"pool", "list"}, {"pool", "show", "spring"}}
		if !strings.HasPrefix(url, "sqlite:") { // an SQLite file is migrated automatically
			for _, args := range append(writing, reading...) {
				line := p.refused(exitFailure, fmt.Sprintf("the database's schema has version 0, this drawsvc needs %d or later", schemas[""]().OldestSchema), args...)
				require.Contains(t, line, "run `drawsvc migrate up`, or serve with --migrate")
			}
		}
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
		p.ok("audit")
		newer := p
		newer.schema = "excluding"
		newer.ok("migrate", "up")
		newest := append([][]string{{"migrate", "up"}, {"serve", "--listen", "127.0.0.1:0", "--migrate"}}, writing...)
		for _, args := range append(newest, reading...) {
			p.refused(exitFailure, fmt.Sprintf("schema has version %d and does not admit this drawsvc, which knows %d: run a newer drawsvc",
				newer.knows(), p.knows()), args...)
		}
		newer.ok("audit")
	})
}

// TestMigrateLeavesForeignTablesAlone: a database with tables of another program is not
// changed.
func TestMigrateLeavesForeignTablesAlone(t *testing.T) {
	eachEmpty(t, func(t *testing.T, url string) {
		_, err := rows(t, url).ExecContext(t.Context(), `CREATE TABLE prizes (id INTEGER)`)
		require.NoError(t, err)
		p := on(t, url)
		p.refused(exitFailure, "the database holds tables that drawsvc needs and has not made", "migrate", "up")
		p.refused(exitFailure, "the database holds tables that drawsvc needs and has not made", "serve", "--listen", "127.0.0.1:0", "--migrate")
		var found int
		err = rows(t, url).QueryRowContext(context.Background(), `SELECT COUNT(*) FROM schema_admits`).Scan(&found)
		require.Error(t, err, "nothing was made")
		require.NotErrorIs(t, err, sql.ErrNoRows)
	})
}
