package sqlitefile

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"
)

// database creates a file in WAL mode with one row that has the given text. The
// connection stays open until the test ends, so that its WAL stays too.
func database(t *testing.T, path, text string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	exec(t, db, `CREATE TABLE fact (text TEXT)`, fmt.Sprintf(`INSERT INTO fact VALUES ('%s')`, text))
	return db
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}

// turn begins a generation as the service does, with the ids 2n and 2n+1.
func turn(t *testing.T, db *sql.DB, n int) {
	t.Helper()
	exec(t, db, `PRAGMA wal_checkpoint(PASSIVE)`, fmt.Sprintf(`PRAGMA user_version = %d`, 2*n),
		`PRAGMA wal_checkpoint(PASSIVE)`, fmt.Sprintf(`PRAGMA user_version = %d`, 2*n+1))
}

func move(t *testing.T, from, to string, suffixes ...string) {
	t.Helper()
	for _, suffix := range suffixes {
		bytes, err := os.ReadFile(from + suffix)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to+suffix, bytes, 0o600))
	}
}

// textIn reads the content of a database, like a process that opens it after a crash.
func textIn(t *testing.T, path string) (text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT text FROM fact`).Scan(&text))
	return text
}

func TestInspect(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "d.db")
	db := database(t, source, "one")
	at := map[string]string{} // states of the files, by name
	keep := func(name string, suffixes ...string) {
		at[name] = filepath.Join(t.TempDir(), "d.db")
		move(t, source, at[name], suffixes...)
	}
	keep("a WAL that the service did not begin", "", "-wal")
	turn(t, db, 10)
	keep("base", "")
	exec(t, db, `INSERT INTO fact VALUES ('two')`)
	keep("generation", "", "-wal")
	exec(t, db, `CREATE TABLE more (x)`, `PRAGMA wal_checkpoint(PASSIVE)`)
	keep("generation that is copied", "", "-wal")
	exec(t, db, `INSERT INTO fact VALUES ('three')`) // restarts the WAL
	keep("generation of another program", "", "-wal")
	turn(t, db, 20)
	exec(t, db, `INSERT INTO fact VALUES ('four')`)
	keep("next generation", "", "-wal")
	exec(t, db, fmt.Sprintf(`VACUUM INTO '%s'`, filepath.Join(t.TempDir(), "v.db")))
	exec(t, db, `PRAGMA wal_checkpoint(PASSIVE)`, `PRAGMA user_version = 30`)
	keep("between the ids", "", "-wal")

	for _, c := range []struct {
		file, wal, note string
		want            Verdict
	}{
		{"base", "", "", Doubtful},
		{"base", "", "itself", Sound},
		{"base", "", noteOpen, Doubtful},
		{"base", "", noteDamaged, Doubtful},
		{"base", "generation", noteOpen, Sound},
		{"base", "generation", noteDamaged, Doubtful},
		{"base", "generation that is copied", noteOpen, Sound},
		{"generation", "generation", noteOpen, Sound},
		{"generation that is copied", "generation that is copied", noteOpen, Sound},
		{"generation that is copied", "generation", noteOpen, Foreign}, // a later page 1
		{"generation that is copied", "next generation", noteOpen, Foreign},
		{"base", "next generation", noteOpen, Foreign},
		{"next generation", "next generation", noteOpen, Sound},
		{"next generation", "generation", noteOpen, Foreign},
		{"generation of another program", "generation of another program", noteOpen, Doubtful},
		{"a WAL that the service did not begin", "a WAL that the service did not begin", "", Doubtful},
		{"between the ids", "between the ids", noteOpen, Doubtful},
		{"", "generation", noteOpen, Foreign},
		{"", "", noteOpen, New},
	} {
		name := fmt.Sprintf("file %q, WAL %q, note %q", c.file, c.wal, c.note)
		path := filepath.Join(t.TempDir(), "d.db")
		if c.file != "" {
			move(t, at[c.file], path, "")
		}
		if c.wal != "" {
			move(t, at[c.wal], path, "-wal")
		}
		if c.note == "itself" {
			file, err := readHeader(path)
			require.NoError(t, err)
			c.note = noteClosed(file)
		}
		require.NoError(t, os.WriteFile(path+lockSuffix, []byte(c.note), 0o600))
		got, reason, err := Inspect(path)
		require.NoError(t, err)
		require.Equal(t, c.want, got, "%s: %s", name, reason)
		require.Equal(t, got == Doubtful || got == Foreign, reason != "", name)
	}
}

// TestSealedFileBelongsToNoWAL: a sealed file belongs to no WAL, not even to that of
// its source.
func TestSealedFileBelongsToNoWAL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	db := database(t, path, "one")
	turn(t, db, 10)
	exec(t, db, `INSERT INTO fact VALUES ('two')`)
	copied := filepath.Join(t.TempDir(), "d.db")
	move(t, path, copied, "", "-wal")
	got, _, err := Inspect(copied)
	require.NoError(t, err)
	require.Equal(t, Sound, got)
	require.NoError(t, Seal(copied))
	got, _, err = Inspect(copied)
	require.NoError(t, err)
	require.Equal(t, Foreign, got)
	require.Error(t, Seal(copied+"-wal"), "no database")
}

// TestReplaceEndsAnywhere: a replacement that is interrupted after any step leaves either
// the old database with its WAL or the new database. The next process that locks the
// database completes the remaining steps.
func TestReplaceEndsAnywhere(t *testing.T) {
	t.Parallel()
	source, backup := filepath.Join(t.TempDir(), "d.db"), filepath.Join(t.TempDir(), "b.db")
	old := database(t, source, "base")
	turn(t, old, 10)
	exec(t, old, `UPDATE fact SET text = 'old'`)
	exec(t, database(t, filepath.Join(t.TempDir(), "n.db"), "new"), `VACUUM INTO '`+backup+`'`)
	steps := len((&File{}).replacement())
	came := map[string]int{}
	for n := range steps + 1 {
		path := filepath.Join(t.TempDir(), "d.db")
		move(t, source, path, "", "-wal", "-shm")
		f, err := Lock(path)
		require.NoError(t, err)
		part, err := f.Part()
		require.NoError(t, err)
		move(t, backup, part, "")
		for _, step := range f.replacement()[:n] {
			require.NoError(t, step())
		}
		require.NoError(t, f.lock.Unlock()) // as the end of the process does

		f, err = Lock(path)
		require.NoError(t, err)
		verdict, reason, err := Inspect(path)
		require.NoError(t, err)
		require.Equal(t, Sound, verdict, "step %d: %s", n, reason)
		require.False(t, Interrupted(path))
		require.NoError(t, f.Close(false))
		files, err := filepath.Glob(path + "*restore*")
		require.NoError(t, err)
		require.Empty(t, files)
		text := textIn(t, path)
		require.Contains(t, []string{"old", "new"}, text)
		require.False(t, text == "old" && came["new"] > 0, "there is one moment from which on it is the new one")
		came[text]++
	}
	require.Positive(t, came["old"])
	require.Positive(t, came["new"])
}

// TestReplaceCondemnsARename: a plain rename, which has no moment at which the
// replacement takes effect, may be interrupted. Then the new file is beside the old WAL.
// Inspect detects that, and SQLite itself does not.
func TestReplaceCondemnsARename(t *testing.T) {
	t.Parallel()
	source, backup := filepath.Join(t.TempDir(), "d.db"), filepath.Join(t.TempDir(), "b.db")
	old := database(t, source, "base")
	turn(t, old, 10)
	exec(t, old, `UPDATE fact SET text = 'old'`)
	exec(t, database(t, filepath.Join(t.TempDir(), "n.db"), "new"), `VACUUM INTO '`+backup+`'`)
	path := filepath.Join(t.TempDir(), "d.db")
	move(t, source, path, "", "-wal", "-shm")
	move(t, backup, path, "")
	verdict, _, err := Inspect(path)
	require.NoError(t, err)
	require.Equal(t, Foreign, verdict)
	require.Equal(t, "old", textIn(t, path), "the new file, with pages of the old one")
}

func TestPublish(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	part, there := write("part", "new"), write("there", "old")
	require.ErrorIs(t, Publish(part, there), os.ErrExist)
	text, err := os.ReadFile(there)
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	require.NoError(t, Publish(part, filepath.Join(folder, "absent")))
	require.NoFileExists(t, part)
	require.FileExists(t, filepath.Join(folder, "absent"))
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	f, err := Lock(path)
	require.NoError(t, err)
	_, err = Lock(path)
	require.ErrorIs(t, err, ErrInUse)
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Symlink(path, link))
	_, err = Lock(link)
	require.ErrorIs(t, err, ErrInUse, "by any name")
	require.NoError(t, f.Close(true))
	f, err = Lock(link)
	require.NoError(t, err)
	require.NoError(t, f.Close(false))
}
