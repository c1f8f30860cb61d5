package main

import (
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/stock/stocktest"
)

// schemaNow is the version that this binary needs: migrations are numbered
// from 1, alike for each database.
func schemaNow(tb testing.TB) int {
	tb.Helper()
	files, err := fs.Glob(migrations.FS, "sqlite/*.sql")
	require.NoError(tb, err)
	return len(files)
}

// standsAt is what `migrate` prints of a schema at a version.
func standsAt(tb testing.TB, version int) string {
	tb.Helper()
	return fmt.Sprintf("schema version %d, this drawsvc needs %d\n", version, schemaNow(tb))
}

func TestMigrate(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		if strings.HasPrefix(url, "sqlite:") {
			p.refused(exitFailure, "there is no database file", "migrate", "status")
		} else {
			require.Equal(t, standsAt(t, 0), p.ok("migrate", "status"))
			require.Equal(t, standsAt(t, 0), p.ok("migrate", "status"), "asking changes nothing")
		}
		require.Equal(t, standsAt(t, schemaNow(t)), p.ok("migrate", "up"))
		require.Equal(t, standsAt(t, schemaNow(t)), p.ok("migrate", "up"), "a second time does nothing")
		require.Equal(t, standsAt(t, schemaNow(t)), p.ok("migrate", "status"))
	})
}

// TestMigrateByTwo: one does it, the others wait.
func TestMigrateByTwo(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file is one process's
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			p := on(t, stocktest.URL(t, dialect))
			var all sync.WaitGroup
			outcomes := make([]outcome, 4)
			for i := range outcomes {
				all.Go(func() { outcomes[i] = p.run("migrate", "up") })
			}
			all.Wait()
			for _, o := range outcomes {
				require.Equal(t, outcome{stdout: standsAt(t, schemaNow(t))}, o)
			}
			p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
			p.ok("audit")

			// And by two services that start at once.
			p = on(t, stocktest.URL(t, dialect))
			for range 2 {
				all.Go(func() { p.serve("--migrate", "--demo").end() })
			}
			all.Wait()
			require.Contains(t, p.ok("pool", "list"), "demo  open")
			p.ok("audit")
		})
	}
}

// TestSchemaOfAnotherTime: nothing but `migrate` works on a schema that is not
// there, and nothing at all writes on one that is newer.
func TestSchemaOfAnotherTime(t *testing.T) {
	each(t, func(t *testing.T, url string) {
		p := on(t, url)
		writing := [][]string{
			{"pool", "create", "spring"}, {"pool", "pause", "spring"},
			{"stock", "add", "--pool", "spring", "--prize", "gold", "--delta", "1", "--reason", "x"},
			{"stock", "import", "--pool", "spring", "-"},
			{"serve", "--listen", "127.0.0.1:0"}, {"serve", "--listen", "127.0.0.1:0", "--demo"},
		}
		reading := [][]string{{"audit"}, {"audit", "--pool", "spring"}, {"pool", "list"}, {"pool", "show", "spring"}}
		if !strings.HasPrefix(url, "sqlite:") { // that one migrates itself
			for _, args := range append(writing, reading...) {
				line := p.refused(exitFailure, fmt.Sprintf("the database's schema has version 0, this drawsvc needs %d", schemaNow(t)), args...)
				require.Contains(t, line, "run `drawsvc migrate up`, or serve with --migrate")
			}
		}
		p.ok("migrate", "up")
		p.ok("pool", "create", "spring", "--prize", "id=gold,stock=1")
		p.ok("audit")
		tamper(t, url, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`)
		require.Equal(t, standsAt(t, 99), p.ok("migrate", "status"))
		newer := append([][]string{{"migrate", "up"}, {"serve", "--listen", "127.0.0.1:0", "--migrate"}}, writing...)
		for _, args := range append(newer, reading...) {
			p.refused(exitFailure, fmt.Sprintf("schema has version 99 and is newer than this drawsvc, which knows %d: run a newer drawsvc", schemaNow(t)), args...)
		}
	})
}
