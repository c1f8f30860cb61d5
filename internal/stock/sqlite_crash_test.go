package stock_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/sqlite"

	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
)

// copyFile copies a file as far as it can be read, as cp does.
func copyFile(tb testing.TB, from, to string) {
	tb.Helper()
	source, err := os.Open(from)
	require.NoError(tb, err)
	defer source.Close()
	target, err := os.Create(to)
	require.NoError(tb, err)
	_, err = io.Copy(target, source)
	require.NoError(tb, err)
	require.NoError(tb, target.Close())
}

// copySet copies a database, with all files beside it, into a new folder, and returns its
// path there.
func copySet(tb testing.TB, path string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), filepath.Base(path))
	files, err := filepath.Glob(path + "*")
	require.NoError(tb, err)
	for _, file := range files {
		copyFile(tb, file, to+file[len(path):])
	}
	return to
}

// quietSet returns a copy of files that did not change during the copy. So they are as
// after a crash, although the service copies its WAL to the file at any time.
func quietSet(tb testing.TB, path string) string {
	tb.Helper()
	for {
		first, second := copySet(tb, path), copySet(tb, path)
		if isSame(tb, first, second) && isSame(tb, first+"-wal", second+"-wal") {
			return first
		}
		require.NoError(tb, tb.Context().Err())
	}
}

func isSame(tb testing.TB, a, b string) bool {
	tb.Helper()
	one, err := os.ReadFile(a)
	require.NoError(tb, err)
	other, err := os.ReadFile(b)
	require.NoError(tb, err)
	return bytes.Equal(one, other)
}

// copies returns the ways in which operators copy the file of a running service.
func copies() map[string]func(tb testing.TB, path, to string) {
	statement := func(sql string) func(testing.TB, string, string) {
		return func(tb testing.TB, path, to string) { execFile(tb, path, fmt.Sprintf(sql, to)) }
	}
	return map[string]func(tb testing.TB, path, to string){
		"cp":          copyFile,
		"vacuum into": statement(`VACUUM INTO '%s'`),
		"sqlite's backup": func(tb testing.TB, path, to string) {
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
			require.NoError(tb, err)
			defer db.Close()
			conn, err := db.Conn(tb.Context())
			require.NoError(tb, err)
			defer conn.Close()
			require.NoError(tb, conn.Raw(func(c any) error {
				b, err := c.(interface {
					NewBackup(to string) (*sqlite.Backup, error)
				}).NewBackup(to)
				if err != nil {
					return err
				}
				_, err = b.Step(-1)
				return errors.Join(err, b.Finish())
			}))
		},
		"drawsvc backup": func(tb testing.TB, path, to string) {
			_, err := stock.Backup(tb.Context(), "sqlite:"+path, to, stock.Options{})
			require.NoError(tb, err)
		},
	}
}

// execFile executes a statement while another process may use the file.
func execFile(tb testing.TB, path, statement string) {
	tb.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	require.NoError(tb, err)
	defer db.Close()
	_, err = db.ExecContext(tb.Context(), statement)
	require.NoError(tb, err)
}

// faultsOf returns the faults of a database that is served, "" for none.
func faultsOf(tb testing.TB, s *stock.Store) string {
	tb.Helper()
	pools, err := s.Pools(tb.Context())
	if err != nil {
		return err.Error()
	}
	for _, pool := range pools {
		audit, err := s.Audit(tb.Context(), pool.ID)
		if err != nil {
			return err.Error()
		}
		if len(audit.Violations) > 0 {
			return fmt.Sprint(audit.Violations)
		}
	}
	return ""
}

// start is the result of opening a file.
type start struct {
	// refusal is the error of the start, nil if the file was accepted.
	refusal error
	// examined means that the start read all rows first.
	examined bool
	// versions are the versions of the pools, if the file was accepted.
	versions map[string]int64
}

// started opens a file as the service does when it starts. If the file is accepted, it
// must have no faults, also after draws.
func started(t *testing.T, path string) (c start) {
	t.Helper()
	var log bytes.Buffer
	s, err := stock.Open(t.Context(), "sqlite:"+path, stock.Options{WALPages: smallWAL, Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c.examined = strings.Contains(log.String(), "was examined")
	if err != nil {
		require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err), "%v", err)
		require.Contains(t, err.Error(), "drawsvc restore", "says what to do")
		c.refusal = err
		return c
	}
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.Migrate(t.Context()))
	require.Empty(t, faultsOf(t, s), "started on")
	pools, err := s.Pools(t.Context())
	require.NoError(t, err)
	c.versions = map[string]int64{}
	for _, p := range pools {
		c.versions[p.ID] = p.Version
		_, err := drawSome(t.Context(), s, p.ID)
		require.NoError(t, err)
	}
	require.Empty(t, faultsOf(t, s), "after draws")
	return c
}

// isMixture reports whether SQLite, without the service's checks, makes an inconsistent
// database of the files.
func isMixture(t *testing.T, path string) bool {
	t.Helper()
	path = copySet(t, path)
	db, err := sql.Open("sqlite", "file:"+path)
	require.NoError(t, err)
	defer db.Close()
	var answer string
	if err := db.QueryRowContext(t.Context(), `PRAGMA integrity_check(1)`).Scan(&answer); err != nil || answer != "ok" {
		return true
	}
	s, err := stock.Open(t.Context(), "sqlite:"+path, stock.Options{ReadOnly: true})
	require.NoError(t, err)
	defer s.Close()
	return faultsOf(t, s) != ""
}

// crashes is how often each test here kills the process.
const crashes = 4

// TestBackupBesideTheWALOfACrash: the service is killed, a backup is copied over the
// file, and the service is started. If it starts, its database is one state. After a
// crash without such a copy, the service always starts.
func TestBackupBesideTheWALOfACrash(t *testing.T) {
	servertest.Long(t) // it starts and kills other processes
	t.Parallel()
	for name, take := range copies() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var of tally
			path := filepath.Join(t.TempDir(), "d.db")
			for range crashes {
				d := startDrawer(t, path)
				d.await(1 + mathrand.N(40))
				backup := filepath.Join(t.TempDir(), "backup.db")
				take(t, path, backup)
				d.await(mathrand.N(3) * mathrand.N(40)) // often 0
				d.kill()
				of.crash(t, path, d.acknowledged)
				of.mix(t, path, backup)
			}
			t.Logf("%+v", of)
			require.GreaterOrEqual(t, of.refused, of.mixtures)
		})
	}
}

// TestOlderFileBesideTheWALOfACrash does the same with a file that was closed before the
// service ran. Then each combination of file and WAL is a mixture.
func TestOlderFileBesideTheWALOfACrash(t *testing.T) {
	servertest.Long(t) // it starts and kills other processes
	t.Parallel()
	var of tally
	path := filepath.Join(t.TempDir(), "d.db")
	for n := range crashes {
		d := startDrawer(t, path)
		d.await(20)
		d.kill()
		require.NoError(t, started(t, path).refusal) // this also closes the file
		backup := filepath.Join(t.TempDir(), "backup.db")
		copyFile(t, path, backup)
		d = startDrawer(t, path)
		d.await(20 * (n + 2))
		d.kill()
		of.crash(t, path, d.acknowledged)
		of.mix(t, path, backup)
	}
	t.Logf("%+v", of)
	require.Positive(t, of.mixtures, "SQLite alone serves them")
	require.GreaterOrEqual(t, of.refused, of.mixtures)
}

// tally counts the results of crashes, and of crashes after which a copy replaced the
// file.
type tally struct{ crashes, examined, mixtures, refused int }

// crash starts the service after a crash. It must start without help, and without a loss.
func (c *tally) crash(t *testing.T, path string, acknowledged map[string]int64) {
	t.Helper()
	after := started(t, copySet(t, path))
	require.NoError(t, after.refusal, "an ordinary crash")
	for id, version := range acknowledged {
		require.GreaterOrEqual(t, after.versions[id], version, "acknowledged in %s", id)
	}
	c.crashes++
	if after.examined {
		c.examined++
	}
}

// mix starts the service after a copy has replaced the file.
func (c *tally) mix(t *testing.T, path, backup string) {
	t.Helper()
	mixed := copySet(t, path)
	copyFile(t, backup, mixed)
	if mathrand.N(2) == 0 {
		require.NoError(t, os.Remove(mixed+"-shm"))
	}
	if isMixture(t, mixed) {
		c.mixtures++
	}
	if started(t, mixed).refusal != nil {
		c.refused++
	}
}
