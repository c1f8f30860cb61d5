package migrations_test

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/stock/stocktest"
)

// statedAdmission matches the statement in which a migration states which binaries may
// work on the result. The first migration creates the row.
var statedAdmission = regexp.MustCompile(`(?m)^(?:UPDATE schema_admits SET binaries_from = (\d+);|` +
	`INSERT INTO schema_admits \(one, binaries_from\) VALUES \(1, (\d+)\))`)

// ofMariaDB matches SQL that MySQL does not support. The tests run on MariaDB, which
// supports it.
var ofMariaDB = regexp.MustCompile(`(?i)((ADD|DROP|MODIFY|CHANGE)( COLUMN| INDEX| KEY| CONSTRAINT)?|(CREATE|DROP) INDEX) IF (NOT )?EXISTS`)

// faults returns the rules of this package that a set breaks, and where.
func faults(set migrations.Set) (found []string) {
	var folders = []string{"postgres", "mysql", "sqlite"}
	var names, stated []string
	for _, folder := range folders {
		files, _ := fs.Glob(set.Files, folder+"/*.sql")
		var of []string
		least := 1
		for i, file := range files {
			text, _ := fs.ReadFile(set.Files, file)
			fault := func(format string, args ...any) { found = append(found, file+": "+fmt.Sprintf(format, args...)) }
			if number := fmt.Sprintf("/%05d_", i+1); !strings.Contains(file, number) {
				fault("the number is not %d", i+1)
			}
			from := admissionOf(string(text))
			if from < least || from > i+1 {
				fault("admits binaries from %d, not from %d to %d", from, least, i+1)
			}
			least = max(least, from)
			of = append(of, fmt.Sprint(from))
			found = append(found, wording(folder, file, string(text))...)
		}
		names = append(names, strings.ReplaceAll(strings.Join(files, " "), folder+"/", ""))
		stated = append(stated, strings.Join(of, " "))
	}
	for i := range folders {
		if names[i] != names[0] || stated[i] != stated[0] {
			found = append(found, fmt.Sprintf("%s and %s differ: %s admit %s, %s admit %s", folders[0], folders[i], names[0], stated[0], names[i], stated[i]))
		}
	}
	if last := stocktest.Target(set); set.OldestSchema < 1 || set.OldestSchema > last {
		found = append(found, fmt.Sprintf("the oldest schema is %d, not 1 to %d", set.OldestSchema, last))
	}
	return found
}

// admissionOf returns the number that a migration states, 0 if it states none or more
// than one.
func admissionOf(text string) (from int) {
	all := statedAdmission.FindAllStringSubmatch(text, -1)
	if len(all) == 1 {
		fmt.Sscan(all[0][1]+all[0][2], &from)
	}
	return from
}

// wording returns the broken rules in the text of one file.
func wording(folder, file, text string) (found []string) {
	begins := map[string]string{
		"postgres": "-- +goose Up\nSET LOCAL lock_timeout = '1s';\n",
		"mysql":    "-- +goose NO TRANSACTION\n-- +goose Up\nSET SESSION lock_wait_timeout = 1;\n",
		"sqlite":   "-- +goose Up\n",
	}[folder]
	if folder == "postgres" && strings.HasPrefix(text, "-- +goose NO TRANSACTION\n") {
		begins = "" // an index that is created concurrently with draws
	}
	if !strings.HasPrefix(text, begins) {
		found = append(found, fmt.Sprintf("%s: does not begin with %q", file, begins))
	}
	if strings.Contains(text, "-- +goose Down") {
		found = append(found, file+": has a way down")
	}
	if folder == "mysql" && ofMariaDB.MatchString(text) {
		found = append(found, file+": MySQL does not know: "+ofMariaDB.FindString(text))
	}
	return found
}

func TestRules(t *testing.T) {
	t.Parallel()
	require.Empty(t, faults(migrations.Embedded()))
	require.Empty(t, faults(stocktest.Additive()))
}

// TestRulesCatch: each broken rule is reported.
func TestRulesCatch(t *testing.T) {
	t.Parallel()
	good := stocktest.Additive()
	added := fmt.Sprintf("%05d_next.sql", stocktest.Target(good))
	for _, c := range []struct{ file, old, new, fault string }{
		{"postgres/" + added, "SET LOCAL lock_timeout = '1s';", "", "does not begin with"},
		{"mysql/" + added, "SET SESSION lock_wait_timeout = 1;", "", "does not begin with"},
		{"mysql/" + added, "-- +goose NO TRANSACTION\n", "", "does not begin with"},
		{"mysql/" + added, "ADD COLUMN season", "ADD COLUMN IF NOT EXISTS season", "MySQL does not know: ADD COLUMN IF NOT EXISTS"},
		{"sqlite/" + added, "UPDATE schema_admits", "-- UPDATE schema_admits", "admits binaries from 0"},
		{"sqlite/" + added, "binaries_from = 11", "binaries_from = 99", "admits binaries from 99"},
		{"sqlite/" + added, "binaries_from = 11", "binaries_from = 2", "differ"},
		{"sqlite/" + added, "CREATE TABLE", "-- +goose Down\nCREATE TABLE", "has a way down"},
	} {
		broken := fstest.MapFS{}
		files, err := fs.Glob(good.Files, "*/*.sql")
		require.NoError(t, err)
		for _, file := range files {
			text, err := fs.ReadFile(good.Files, file)
			require.NoError(t, err)
			if file == c.file {
				require.Contains(t, string(text), c.old)
				text = []byte(strings.Replace(string(text), c.old, c.new, 1))
			}
			broken[file] = &fstest.MapFile{Data: text}
		}
		found := faults(migrations.Set{Files: broken, OldestSchema: 1})
		require.NotEmpty(t, found, c.fault)
		require.Contains(t, strings.Join(found, "\n"), c.fault)
	}
	require.NotEmpty(t, faults(migrations.Set{Files: good.Files, OldestSchema: 99}))
	require.NotEmpty(t, faults(migrations.Set{Files: good.Files}))
}
