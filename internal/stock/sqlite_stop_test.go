package stock_test

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// openQuietly opens a file for writing, and closes it when the test ends.
func openQuietly(t *testing.T, path string) *stock.Store {
	t.Helper()
	s, err := stock.Open(t.Context(), "sqlite:"+path, stock.Options{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	return s
}

// stopped requires that a store acknowledges no write and answers no read.
func stopped(t *testing.T, s *stock.Store, poolID string) {
	t.Helper()
	_, err := s.Read(t.Context(), urn.NewUrn(poolID), stock.TxOptions{Lock: true})
	require.Error(t, err)
	require.Equal(t, stock.ClassUnavailable, stock.ClassOf(err), "%v", err)
	for what, do := range map[string]func() error{
		"draw":  func() error { _, err := drawSome(t.Context(), s, poolID); return err },
		"stock": func() error { return restock(t, s, poolID) },
		"pool": func() error {
			_, err := s.CreatePool(t.Context(), draw.Pool{ID: "new", Name: "new"}, "test")
			return err
		},
		"read":  func() error { _, err := s.Awards(t.Context(), poolID, 0, 1); return err },
		"ready": func() error { _, err := s.Schema(t.Context()); return err },
	} {
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(do()), what)
	}
}

func restock(t *testing.T, s *stock.Store, poolID string) error {
	_, err := s.Stock(t.Context(), draw.Stocking{PoolID: poolID, PrizeID: "a", Delta: 1, Reason: "restock"}, "test")
	return err
}

// content returns a digest of each file of a database that may contain rows.
func content(t *testing.T, path string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, suffix := range []string{"", "-wal"} {
		if bytes, err := os.ReadFile(path + suffix); err == nil {
			found[suffix] = fmt.Sprintf("%d bytes, %x", len(bytes), sha256.Sum256(bytes))
		}
	}
	return found
}

// TestFileReplacedWhileItIsServed: the store stops at its next write at the latest. It
// does not change the file that has replaced its own.
func TestFileReplacedWhileItIsServed(t *testing.T) {
	t.Parallel()
	moveAway := func(t *testing.T, path string) {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			require.NoError(t, os.Rename(path+suffix, path+".old"+suffix))
		}
	}
	for name, c := range map[string]struct {
		replace func(t *testing.T, path, other string)
		// starts means that the service can start with the files that exist afterwards.
		starts bool
	}{
		"set renamed, other file": {func(t *testing.T, path, other string) {
			moveAway(t, path)
			require.NoError(t, os.Rename(other, path))
		}, true},
		"set renamed, nothing": {func(t *testing.T, path, _ string) { moveAway(t, path) }, true},
		"other file renamed over it": {func(t *testing.T, path, other string) {
			require.NoError(t, os.Rename(other, path))
		}, false}, // the WAL belongs to the old file
		"other file copied over it": {func(t *testing.T, path, other string) { copyFile(t, other, path) }, false},
		"file removed":              {func(t *testing.T, path, _ string) { require.NoError(t, os.Remove(path)) }, false},
		"WAL removed":               {func(t *testing.T, path, _ string) { require.NoError(t, os.Remove(path+"-wal")) }, true},
		"folder renamed": {func(t *testing.T, path, _ string) {
			require.NoError(t, os.Rename(filepath.Dir(path), filepath.Dir(path)+".old"))
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "served", "d.db")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			s := openQuietly(t, path)
			stocktest.Pool(t, s, "p", 1000)
			other := filepath.Join(t.TempDir(), "other.db")
			_, err := stock.Backup(t.Context(), "sqlite:"+path, other, stock.Options{})
			require.NoError(t, err)
			_, err = drawSome(t.Context(), s, "p")
			require.NoError(t, err)

			c.replace(t, path, other)
			before := content(t, path)
			require.Error(t, restock(t, s, "p"), "the first change")
			stopped(t, s, "p")
			require.NoError(t, s.Close())
			require.Equal(t, before, content(t, path), "what is there now is left alone")
			again := started(t, copySet(t, path)) // the start gets a copy, as another process would find the files
			require.Equal(t, c.starts, again.refusal == nil, "%v", again.refusal)
		})
	}
}

// TestStrangersOnTheFile: other programs read the file for long, and copy the WAL to it.
// The service continues to work, and starts again after a crash.
func TestStrangersOnTheFile(t *testing.T) {
	servertest.Long(t) // it starts and kills other processes
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	s, err := stock.Open(t.Context(), "sqlite:"+path, stock.Options{WALPages: smallWAL, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, s.Migrate(t.Context()))
	stocktest.Pool(t, s, "p", 1_000_000)
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer other.Close()
	var version int64
	drawMany := func() {
		for range 60 {
			version, err = drawSome(t.Context(), s, "p")
			require.NoError(t, err)
		}
	}
	crashed := func() {
		after := started(t, quietSet(t, path)) // the state after a crash
		require.NoError(t, after.refusal)
		require.Equal(t, version, after.versions["p"])
	}
	reading, err := other.Begin()
	require.NoError(t, err)
	require.NoError(t, reading.QueryRow(`SELECT COUNT(*) FROM awards`).Scan(new(int)))
	drawMany()
	crashed()
	require.NoError(t, reading.Rollback())
	for _, mode := range []string{"PASSIVE", "RESTART", "TRUNCATE"} {
		drawMany()
		_, err := other.Exec(`PRAGMA wal_checkpoint(` + mode + `)`)
		require.NoError(t, err)
		crashed()
		drawMany()
		crashed()
	}
	require.NoError(t, s.Close())
}

// TestReplacedCondemnsNoGuard: without the guard, SQLite continues to write to a file
// that no longer has a name.
func TestReplacedCondemnsNoGuard(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)")
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `CREATE TABLE fact (text TEXT)`)
	require.NoError(t, err)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.Rename(path+suffix, path+".old"+suffix))
	}
	_, err = db.ExecContext(t.Context(), `INSERT INTO fact VALUES ('acknowledged')`)
	require.NoError(t, err)
	require.NoFileExists(t, path)
}

// longPool creates a pool with n awards, k1, k2 …, and a second pool whose rows are at
// the beginning of the file.
func longPool(t *testing.T, s *stock.Store, n int) {
	t.Helper()
	stocktest.Pool(t, s, "a-short", 1000)
	_, err := drawSome(t.Context(), s, "a-short")
	require.NoError(t, err)
	stocktest.Pool(t, s, "long", 1_000_000)
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("k%d", i+1)
	}
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("long", 2, "a", 0, ids...)))
}

// damage overwrites those pages of a file that contain a text.
func damage(t *testing.T, path, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	const page = 4096
	damaged := 0
	for begin := 0; begin < len(content); begin += page {
		if part := content[begin:min(begin+page, len(content))]; bytes.Contains(part, []byte(text)) {
			copy(part, strings.Repeat("damaged!", page/8))
			damaged++
		}
	}
	require.Positive(t, damaged)
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// TestDamagedFile: the first read of the damaged pages stops the store, and the next
// start examines the file.
func TestDamagedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	s := openQuietly(t, path)
	longPool(t, s, 20_000)
	require.NoError(t, s.Close())
	backup := filepath.Join(t.TempDir(), "backup.db")
	_, err := stock.Backup(t.Context(), "sqlite:"+path, backup, stock.Options{})
	require.NoError(t, err)
	damage(t, path, "k9999") // the rows of "" are on other pages

	s = openQuietly(t, path) // the file is as it was when it was closed
	_, err = drawSome(t.Context(), s, "a-short")
	require.NoError(t, err, "the damage is elsewhere")
	tx, err := s.Read(t.Context(), urn.NewUrn("long"), stock.TxOptions{})
	require.NoError(t, err)
	_, err = tx.Draws(t.Context(), "long", []string{"k9999"})
	require.Equal(t, stock.ClassUnavailable, stock.ClassOf(err), "%v", err)
	require.Contains(t, err.Error(), "damaged")
	tx.Rollback()
	stopped(t, s, "a-short")
	require.NoError(t, s.Close())

	refusal := started(t, path).refusal
	require.ErrorContains(t, refusal, "damaged")
	require.Equal(t, refusal.Error(), started(t, path).refusal.Error(), "and again")
	_, err = stock.Backup(t.Context(), "sqlite:"+path, backup+".bad", stock.Options{})
	require.ErrorContains(t, err, "was not backed up")
	require.NoFileExists(t, backup+".bad")
	_, err = stock.Restore(t.Context(), "sqlite:"+path, backup, stock.Options{})
	require.NoError(t, err)
	require.NoError(t, started(t, path).refusal)
}

// TestStoppedStoreLeavesItsSuccessorAlone: the file is replaced, and another process
// serves the new file. Only then the old process ends. It must not change the new file.
func TestStoppedStoreLeavesItsSuccessorAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "d.db")
	s := openQuietly(t, path)
	stocktest.Pool(t, s, "p", 1000)
	for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
		require.NoError(t, os.Rename(path+suffix, path+".old"+suffix))
	}
	successor := openQuietly(t, path)
	stocktest.Pool(t, successor, "p", 1000)
	stopped(t, s, "p")
	require.NoError(t, s.Close())
	version, err := drawSome(t.Context(), successor, "p")
	require.NoError(t, err, "its WAL is where it was")
	crash := started(t, quietSet(t, path)) // the state after a crash
	require.NoError(t, crash.refusal)
	require.Equal(t, version, crash.versions["p"])
	require.NoError(t, successor.Close())
}

// TestDoctorOfForeignWAL: the doctor reports a WAL that a start would refuse.
func TestDoctorOfForeignWAL(t *testing.T) {
	t.Parallel()
	path, backup, _, _ := crashedSet(t)
	require.Empty(t, checkUp(t, "sqlite:"+path), "an ordinary crash")
	copyFile(t, backup, path)
	require.Contains(t, fmt.Sprint(checkUp(t, "sqlite:"+path)), "danger foreign-wal: the write-ahead log "+path+"-wal does not belong to")
}
