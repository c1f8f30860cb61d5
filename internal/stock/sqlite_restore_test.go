package stock_test

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// crashedSet creates a database with the pool "p", in the state after a crash. It returns
// the paths of the database and of a backup of an earlier version.
func crashedSet(t *testing.T) (path, backup string, version, earlier int64) {
	t.Helper()
	live := filepath.Join(t.TempDir(), "d.db")
	s := openQuietly(t, live)
	stocktest.Pool(t, s, "p", 100_000)
	var err error
	for range 20 {
		earlier, err = drawSome(t.Context(), s, "p")
		require.NoError(t, err)
	}
	backup = filepath.Join(t.TempDir(), "backup.db")
	_, err = stock.Backup(t.Context(), "sqlite:"+live, backup, stock.Options{})
	require.NoError(t, err)
	for range 20 {
		version, err = drawSome(t.Context(), s, "p")
		require.NoError(t, err)
	}
	path = copySet(t, live) // nothing writes, so the copy is like the state after a crash
	require.NoError(t, s.Close())
	return path, backup, version, earlier
}

func TestBackup(t *testing.T) {
	t.Parallel()
	url := stocktest.URL(t, "sqlite")
	s := stocktest.Open(t, url, stock.Options{})
	longPool(t, s, 5000)
	folder := t.TempDir()
	backup := filepath.Join(folder, "backup.db")
	size, err := stock.Backup(t.Context(), url, backup, stock.Options{})
	require.NoError(t, err)
	info, err := os.Stat(backup)
	require.NoError(t, err)
	require.Equal(t, size, info.Size())
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.Equal(t, []string{"backup.db"}, names(t, folder), "nothing is left beside it")
	copied := stocktest.Open(t, "sqlite:"+backup, stock.Options{})
	require.Empty(t, faultsOf(t, copied))
	pool, err := copied.Pool(t.Context(), "long")
	require.NoError(t, err)
	require.Equal(t, int64(5002), pool.Version)

	before := content(t, backup)
	for _, taken := range []string{"backup.db", "other.db-wal", "link.db"} {
		path := filepath.Join(folder, taken)
		if taken == "link.db" {
			require.NoError(t, os.Symlink("nowhere", path))
		} else if taken != "backup.db" {
			require.NoError(t, os.WriteFile(path, nil, 0o600))
		}
		_, err := stock.Backup(t.Context(), url, filepath.Join(folder, taken[:len(taken)-len(filepath.Ext(taken))]+".db"), stock.Options{})
		require.ErrorContains(t, err, "there is a file "+path+" already", taken)
		require.ErrorIs(t, err, os.ErrExist)
	}
	require.Equal(t, before, content(t, backup))
	_, err = stock.Backup(t.Context(), url, filepath.Join(folder, "none", "b.db"), stock.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = stock.Backup(t.Context(), "sqlite:"+filepath.Join(folder, "none.db"), backup+".2", stock.Options{})
	require.ErrorContains(t, err, "there is no database file")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = stock.Backup(ended, url, backup+".3", stock.Options{})
	require.Error(t, err)
	require.NoFileExists(t, backup+".3")
}

func names(t *testing.T, folder string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

// TestRestore restores a backup over the state after a crash, and without an existing
// file.
func TestRestore(t *testing.T) {
	t.Parallel()
	path, backup, _, earlier := crashedSet(t)
	require.NoError(t, os.Chmod(path, 0o640))
	owner := os.Geteuid()
	if owner == 0 {
		owner = 65534
		require.NoError(t, os.Chown(path, owner, owner))
	}
	for _, state := range []string{"crashed", "missing", "damaged", "empty"} {
		switch state {
		case "missing":
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path+"-wal", []byte("of a crash"), 0o600))
		case "damaged":
			damage(t, path, "CREATE TABLE")
		case "empty":
			require.NoError(t, os.Truncate(path, 0))
		}
		found, err := stock.Restore(t.Context(), "sqlite:"+path, backup, stock.Options{})
		require.NoError(t, err, state)
		require.Equal(t, int64(1), found.Pools)
		require.Equal(t, earlier-2, found.Awards)
		require.Equal(t, []string{"d.db", "d.db.lock"}, names(t, filepath.Dir(path)), "what the crash left is removed")
		info, err := os.Stat(path)
		require.NoError(t, err)
		if state == "crashed" {
			require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "as before")
			require.EqualValues(t, owner, info.Sys().(*syscall.Stat_t).Uid)
		}
		again := started(t, path)
		require.NoError(t, again.refusal)
		require.Equal(t, earlier, again.versions["p"])
		require.False(t, again.examined, "the restore has read everything")
	}
	require.NoError(t, os.Chmod(backup, 0o400))
	require.NoError(t, os.Chmod(filepath.Dir(backup), 0o500))
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	_, err := stock.Restore(t.Context(), "sqlite:"+fresh, backup, stock.Options{})
	require.NoError(t, err, "nothing is written where the backup is")
	info, err := os.Stat(fresh)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, started(t, fresh).refusal)
	require.NoError(t, os.Chmod(filepath.Dir(backup), 0o700))
}

// TestRestoreOfASet: a backup may consist of the files after a crash, database and WAL.
func TestRestoreOfASet(t *testing.T) {
	t.Parallel()
	set, older, version, _ := crashedSet(t)
	path := filepath.Join(t.TempDir(), "d.db")
	_, err := stock.Restore(t.Context(), "sqlite:"+path, set, stock.Options{})
	require.NoError(t, err)
	require.Equal(t, version, started(t, path).versions["p"])
	copyFile(t, older, set)
	_, err = stock.Restore(t.Context(), "sqlite:"+path, set, stock.Options{})
	require.ErrorContains(t, err, "does not belong to")
}

// TestRestoreRefuses: a refused restore does not change the database.
func TestRestoreRefuses(t *testing.T) {
	t.Parallel()
	path, backup, version, _ := crashedSet(t)
	other := func(change func(path string)) string {
		to := filepath.Join(t.TempDir(), "bad.db")
		copyFile(t, backup, to)
		change(to)
		return to
	}
	sql := func(statement string) string {
		return other(func(path string) { execFile(t, path, statement) })
	}
	link := filepath.Join(t.TempDir(), "link.db")
	require.NoError(t, os.Symlink(path, link))
	before := content(t, path)
	for want, file := range map[string]string{
		"no such file":        filepath.Join(t.TempDir(), "none.db"),
		"is not a file":       t.TempDir(),
		"the database itself": link,
		"not a database": other(func(path string) {
			require.NoError(t, os.WriteFile(path, []byte("some text, long enough to be read as a header of a file that is none, so that it is refused"), 0o600))
		}),
		"the file is damaged": other(func(path string) { damage(t, path, "Prize a") }),
		"no tables of drawsvc": func() string {
			path := filepath.Join(t.TempDir(), "strange.db")
			execFile(t, path, `CREATE TABLE strange (x)`)
			return path
		}(),
		"run a newer drawsvc": sql(`UPDATE schema_admits SET binaries_from = 99`),
		"issued-is-awards":    sql(`UPDATE prizes SET issued = issued + 1`),
		"version-gap":         sql(`UPDATE pools SET version = version + 1`),
	} {
		_, err := stock.Restore(t.Context(), "sqlite:"+path, file, stock.Options{})
		require.ErrorContains(t, err, want)
		require.Equal(t, before, content(t, path), want)
		require.NotContains(t, fmt.Sprint(names(t, filepath.Dir(path))), "restore", "nothing is left of it")
	}
	after := started(t, path)
	require.NoError(t, after.refusal)
	require.Equal(t, version, after.versions["p"])

	s := stocktest.Open(t, "sqlite:"+path, stock.Options{})
	_, err := stock.Restore(t.Context(), "sqlite:"+path, backup, stock.Options{})
	require.ErrorContains(t, err, "is in use by another process")
	require.Empty(t, faultsOf(t, s))
	for url, want := range map[string]string{
		"postgres://u:secret@h/d": "pg_basebackup or pg_dump", "mysql://u:secret@h/d": "mariadb-backup or mariadb-dump", "oracle:x": "must be sqlite:PATH",
	} {
		_, err := stock.Restore(t.Context(), url, backup, stock.Options{})
		require.ErrorContains(t, err, want)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err))
		_, err = stock.Backup(t.Context(), url, filepath.Join(t.TempDir(), "b.db"), stock.Options{})
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
	}
}

// restoreFrom is a variable of the environment. Together with drawerFile, it makes the
// test's binary restore the backup with that name.
const restoreFrom = "DRAWSVC_TEST_RESTORE"

// TestRestoreKilled: a restore that is killed at any moment leaves the old database or
// the new one.
func TestRestoreKilled(t *testing.T) {
	servertest.Long(t) // it starts and kills other processes
	t.Parallel()
	crashed, backup, version, earlier := crashedSet(t)
	came := map[int64]int{}
	longest := 200 * time.Millisecond
	for range 20 {
		path := copySet(t, crashed)
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), drawerFile+"="+path, restoreFrom+"="+backup)
		began := time.Now()
		require.NoError(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case err := <-ended:
			require.NoError(t, err)
			longest = time.Since(began) // so that later restores are killed earlier
		case <-time.After(mathrand.N(longest)):
			if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
				require.NoError(t, err)
			}
			<-ended
		}
		after := started(t, path)
		require.NoError(t, after.refusal)
		came[after.versions["p"]]++
		require.NotContains(t, fmt.Sprint(names(t, filepath.Dir(path))), "restore", "nothing is left")
	}
	t.Log(came)
	require.Equal(t, 20, came[version]+came[earlier])
}
