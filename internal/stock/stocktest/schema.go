package stocktest

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing/fstest"

	"drawsvc/db/migrations"
)

//go:embed migrations/*.sql
var additive embed.FS

// Additive returns the schema of a next release that only adds. After the embedded
// migrations it has one that creates a table, columns and an index. It admits the same
// binaries as the embedded schema.
func Additive() migrations.Set {
	return next(func(dialect string, admits, _ int) string {
		text, err := additive.ReadFile("migrations/" + dialect + ".sql")
		if err != nil {
			panic(fmt.Sprintf("stocktest: a new dialect needs an additive migration: %v", err))
		}
		return strings.ReplaceAll(string(text), "ADMITS", fmt.Sprint(admits))
	})
}

// Excluding returns the schema of a next release that admits no older binary, and whose
// own binary works on no older schema.
func Excluding() migrations.Set {
	set := next(func(_ string, _, version int) string {
		return fmt.Sprintf("-- +goose Up\nUPDATE schema_admits SET binaries_from = %d;\n", version)
	})
	set.OldestSchema = Target(set)
	return set
}

// Breaking returns the broken double of Additive: it admits older binaries, but removes a
// column that they write.
func Breaking() migrations.Set {
	return next(func(_ string, admits, _ int) string {
		return fmt.Sprintf("-- +goose Up\nUPDATE schema_admits SET binaries_from = %d;\nALTER TABLE awards DROP COLUMN unit;\n", admits)
	})
}

// Target returns the version to which the migrations of a set lead.
func Target(set migrations.Set) int64 {
	names, err := fs.Glob(set.Files, "sqlite/*.sql")
	if err != nil {
		panic(err)
	}
	return int64(len(names)) // they are numbered from 1
}

// Admits returns the lowest schema version that a binary must know, which the last
// migration of a set states.
func Admits(set migrations.Set) int {
	names, err := fs.Glob(set.Files, "sqlite/*.sql") // in the order of their numbers
	if err != nil {
		panic(err)
	}
	text, err := fs.ReadFile(set.Files, names[len(names)-1])
	if err != nil {
		panic(err)
	}
	var admits int
	if _, err := fmt.Sscan(admitting.FindStringSubmatch(string(text))[1], &admits); err != nil {
		panic(err)
	}
	return admits
}

// admitting matches the statement of a migration that states this version. Every
// migration has one.
var admitting = regexp.MustCompile(`(?:SET binaries_from = |VALUES \(1, )(\d+)`)

// next returns the embedded set and one more migration, whose text depends on the
// dialect.
func next(text func(dialect string, admits, version int) string) migrations.Set {
	set := migrations.Embedded()
	version := int(Target(set)) + 1
	files := fstest.MapFS{}
	names, err := fs.Glob(set.Files, "*/*.sql")
	if err != nil {
		panic(err)
	}
	for _, name := range names {
		content, err := fs.ReadFile(set.Files, name)
		if err != nil {
			panic(err)
		}
		files[name] = &fstest.MapFile{Data: content}
		dialect := path.Dir(name)
		added := fmt.Sprintf("%s/%05d_next.sql", dialect, version)
		files[added] = &fstest.MapFile{Data: []byte(text(dialect, Admits(set), version))}
	}
	set.Files = files
	return set
}

// Statements returns the statements of an SQL text. A statement ends at the end of a
// line.
func Statements(text string) (all []string) {
	statement := ""
	for line := range strings.Lines(text) {
		if statement == "" && (strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "") {
			continue
		}
		statement += line
		if strings.HasSuffix(strings.TrimSpace(line), ";") {
			all = append(all, strings.TrimSpace(statement))
			statement = ""
		}
	}
	return all
}
