package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/rulebook"
	"drawsvc/internal/stock/sqlitefile"
)

// doctor returns the check-up of a file. It needs no query for the clock, which is this
// machine's, and none for synchronous, which the service sets for its own connection.
func doctor() engine.Doctor {
	return engine.Doctor{Vitals: readVitals, Rules: doctorRules}
}

func readVitals(ctx context.Context, e *engine.Engine, _ []string) (v engine.Vitals, err error) {
	v = engine.Vitals{}
	var number int
	var name, path string
	if err := e.Read.QueryRowContext(ctx, `PRAGMA database_list`).Scan(&number, &name, &path); err != nil {
		return v, err
	}
	v["folder"] = unwritable(filepath.Dir(path))
	v["file"] = unwritableFile(path)
	v["file system"] = fileSystem(path)
	if v["files"], err = foreignWAL(path); err != nil {
		return v, err
	}
	for name, question := range map[string]string{"journal_mode": `PRAGMA journal_mode`, "integrity": `PRAGMA quick_check(1)`} {
		var answer string
		err := e.Read.QueryRowContext(ctx, question).Scan(&answer)
		if IsDamaged(err) {
			answer, err = err.Error(), nil
		}
		if err != nil {
			return v, err
		}
		v[name] = answer
	}
	return v, nil
}

// inspections is the number of inspections in a row that must find that the WAL does not
// belong to its file. While a service copies the WAL, one inspection may find that by
// mistake.
const inspections = 3

// foreignWAL returns why the WAL does not belong to the file, "" if it does.
func foreignWAL(path string) (reason string, err error) {
	for range inspections {
		var verdict sqlitefile.Verdict
		if verdict, reason, err = sqlitefile.Inspect(path); err != nil || verdict != sqlitefile.Foreign {
			return "", err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return reason, nil
}

// unwritable returns why this account cannot create files in a folder, "" if it can.
func unwritable(folder string) string {
	file, err := os.CreateTemp(folder, ".drawsvc-doctor-*")
	if err != nil {
		return err.Error()
	}
	if err := errors.Join(file.Close(), os.Remove(file.Name())); err != nil {
		return err.Error()
	}
	return ""
}

func doctorRules() []engine.Rule {
	said := func(name string) func(engine.Vitals, engine.Serving) string {
		return func(v engine.Vitals, _ engine.Serving) string { return v[name] }
	}
	onOne := func(detail string, names ...string) func(engine.Vitals, engine.Serving) string {
		return func(v engine.Vitals, _ engine.Serving) string {
			if v.Has("file system", names...) {
				return detail + ": " + v["file system"]
			}
			return ""
		}
	}
	return []engine.Rule{
		engine.NewRule(
			"integrity", engine.LevelDanger,
			func(v engine.Vitals, _ engine.Serving) string {
				if v.Has("integrity", "ok") {
					return ""
				}
				return "quick_check: " + v["integrity"]
			},
			"the file is damaged: awards and counts may be lost or wrong",
			"stop the service, keep a copy of the file, restore a backup with `drawsvc restore FILE`, then run `drawsvc audit`",
		),
		engine.NewRule(
			"foreign-wal", engine.LevelDanger, said("files"),
			"SQLite would apply the log and make a mixture of two states; the service refuses to start",
			AdviceRestore+", then run `drawsvc audit`",
		),
		engine.NewRule(
			"network-file-system", engine.LevelDanger, onOne("the file is on a network file system", networkFileSystems()...),
			"its locks and its memory maps do not reach from one machine to another, and its flushes may not reach a disk: the file can be damaged",
			"put the file on a local disk, or use a server database",
		),
		engine.NewRule(
			"fuse", engine.LevelWarning, onOne("the file is on a file system of a program's own", fileSystemFUSE),
			"whether a commit reaches a disk, and whether locks hold, is that program's matter",
			"put the file on a local disk, unless you know that program",
		),
		engine.NewRule(
			"memory-file-system", engine.LevelDanger, onOne("the file is in memory", fileSystemMemory),
			"everything is lost when the machine stops",
			"put the file on a disk",
		),
		engine.NewRule(
			"folder", engine.LevelDanger, said("folder"),
			"the service keeps a journal and a lock beside the file and cannot start without them",
			"make the folder writable for the account that runs the service",
		),
		engine.NewRule(
			"read-only-file", engine.LevelDanger, said("file"),
			"the service cannot start, because every draw writes to the file",
			"make the file writable for the account that runs the service",
		),
		engine.NewRule(
			"journal-mode", engine.LevelWarning,
			rulebook.NotSetTo("journal_mode", "wal"),
			"readers and the writer block each other; the service asks for WAL when it starts, so it has not run since, or the file system refuses it",
			"start the service and run this again; if it stays, move the file to a local disk",
		),
	}
}
