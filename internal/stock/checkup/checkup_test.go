package checkup_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/checkup"
	"drawsvc/internal/stock/stocktest"
)

const (
	waitMax = 2 * time.Minute
	tick    = 50 * time.Millisecond
)

// usual returns the options of a service with default flags.
func usual(lock string) checkup.Options {
	return checkup.Options{Lock: lock, LockTTL: 10 * time.Second, LockWait: 2 * time.Second}
}

// checkUp opens the database again, so that its sessions have the current settings, and
// returns the findings as "level rule: detail".
func checkUp(t *testing.T, url string, o checkup.Options) []string {
	t.Helper()
	lines, err := tryCheckUp(t, url, o)
	require.NoError(t, err)
	return lines
}

func tryCheckUp(t *testing.T, url string, o checkup.Options) ([]string, error) {
	s, err := stock.Open(t.Context(), url, stock.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	found, err := checkup.Run(t.Context(), s, o)
	lines := []string{}
	for _, f := range found {
		if f.Why == "" || f.Remedy == "" {
			err = fmt.Errorf("%s has no reason or no remedy", f.Rule)
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Level, f.Rule, f.Detail))
	}
	return lines, err
}

// ailment is a fault of a database: the statements that cause it, those that repair it,
// and the finding.
type ailment struct {
	make, mend []string
	lock, want string
}

// testAilments causes the ailments one by one, and requires no findings between them.
func testAilments(t *testing.T, url string, settle func(), ailments []ailment) {
	s := stocktest.Open(t, url, stock.Options{})
	exec := func(statements []string) {
		stocktest.ExecAll(t, s, statements)
		if settle != nil {
			settle()
		}
	}
	for _, lock := range []string{"table", "row", "session"} {
		require.Empty(t, checkUp(t, url, usual(lock)), lock)
	}
	for _, a := range ailments {
		exec(a.make)
		o := usual("table")
		if a.lock != "" {
			awaitFound(t, url, o, []string{}) // the ailment does not concern this lock
			o = usual(a.lock)
		}
		awaitFound(t, url, o, []string{a.want})
		exec(a.mend)
		awaitFound(t, url, usual("row"), []string{})
	}
}

func TestDoctorOfPostgres(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres", servertest.Durable(), servertest.Roomy(), servertest.Archived())
	system := func(setting, value, want string) ailment {
		return ailment{
			make: []string{`ALTER SYSTEM SET ` + setting + ` = ` + value, `SELECT pg_reload_conf()`},
			mend: []string{`ALTER SYSTEM RESET ` + setting, `SELECT pg_reload_conf()`}, want: want,
		}
	}
	database := func(setting, value, lock, want string) ailment {
		return ailment{
			make: []string{`ALTER DATABASE postgres SET ` + setting + ` = ` + value},
			mend: []string{`ALTER DATABASE postgres RESET ` + setting}, lock: lock, want: want,
		}
	}
	standby := func(commit, want string) ailment { // by default, a commit would wait for this standby, which does not exist
		a := system("synchronous_standby_names", "'s1'", want)
		a.make = append([]string{`ALTER ROLE drawsvc SET synchronous_commit = ` + commit}, a.make...)
		a.mend = append(a.mend, `ALTER ROLE drawsvc RESET synchronous_commit`)
		return a
	}
	clock := func(ahead, want string) ailment {
		a := database("search_path", "wrong, pg_catalog, public", "", want)
		a.make = append([]string{
			`CREATE SCHEMA IF NOT EXISTS wrong`,
			`CREATE OR REPLACE FUNCTION wrong.clock_timestamp() RETURNS timestamptz LANGUAGE sql
				AS $$ SELECT pg_catalog.clock_timestamp() + interval '` + ahead + `' $$`,
		}, a.make...)
		return a
	}
	// After a reload, other processes of the server read the settings a moment later.
	testAilments(t, server.URL(), func() { time.Sleep(300 * time.Millisecond) }, []ailment{
		system("fsync", "off", "danger fsync: fsync = off"),
		system("full_page_writes", "off", "danger full-page-writes: full_page_writes = off"),
		system("synchronous_commit", "off", "danger synchronous-commit: synchronous_commit = off"),
		database("synchronous_commit", "off", "", "danger synchronous-commit: synchronous_commit = off"),
		standby("local", "danger synchronous-commit: synchronous_commit = local, although synchronous_standby_names = 's1'"),
		standby("remote_write", "warning remote-write: synchronous_commit = remote_write"),
		database("zero_damaged_pages", "on", "", "danger zero-damaged-pages: zero_damaged_pages = on"),
		database("ignore_checksum_failure", "on", "", "danger ignore-checksum-failure: ignore_checksum_failure = on"),
		database("default_transaction_isolation", "serializable", "", "warning isolation: default_transaction_isolation = serializable"),
		database("statement_timeout", "'1500ms'", "row",
			"warning statement-timeout: statement_timeout = 1.5s is shorter than the wait of 2s for the lock row:"),
		database("statement_timeout", "'1s'", "session",
			"warning statement-timeout: statement_timeout = 1s is shorter than the wait of 2s for the lock session:"),
		clock("20 seconds", "warning clock: the database's clock is 20s ahead of this machine's"),
		{
			[]string{`ALTER TABLE codes DROP CONSTRAINT code_once`}, []string{`ALTER TABLE codes ADD CONSTRAINT code_once UNIQUE (digest)`}, "",
			"danger codes-not-unique: the table codes has no unique constraint code_once",
		},
		clock("-1 hour", "danger clock: the database's clock is 1h0m0s behind this machine's"),
	})

	// These ailments prevent writes, so only stopping the server repairs them.
	replica, err := pgconn.Connect(t.Context(), server.URL()+"&replication=true")
	require.NoError(t, err)
	require.Equal(t, []string{"warning asynchronous-standby: 1 standbys are connected and synchronous_standby_names is empty"},
		checkUp(t, server.URL(), usual("table")))
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.Pool(t, s, "committed", 1)
	stocktest.ExecAll(t, s, []string{`UPDATE pools SET state = 'paused'`})
	require.NoError(t, stocktest.Commit(t, s, "committed", 1, 1))
	require.Regexp(t, `^\[danger asynchronous-standby: `, checkUp(t, server.URL(), usual("table")))
	plain, err := pgconn.Connect(t.Context(), server.URL())
	require.NoError(t, err)
	for _, statement := range []string{`ALTER SYSTEM SET synchronous_standby_names = 's1'`, `SELECT pg_reload_conf()`} {
		require.NoError(t, plain.Exec(t.Context(), statement).Close())
	}
	require.NoError(t, plain.Close(t.Context()))
	require.Eventually(t, func() bool {
		return slices.Contains(checkUp(t, server.URL(), usual("table")), "warning one-standby: commits wait for a standby, and only 1 is connected")
	}, time.Minute, 50*time.Millisecond)
	require.NoError(t, replica.Close(t.Context()))
	server.Stop()
	require.NoError(t, os.WriteFile(filepath.Join(server.Dir(), "data/standby.signal"), nil, 0o644))
	require.NoError(t, server.Start())
	require.Equal(t, []string{"danger replica: in recovery = on"}, checkUp(t, server.URL(), usual("table")))
}

// TestDoctorOfDefaults: a server with default memory and logs works, but gets notes that
// it could be faster.
func TestDoctorOfDefaults(t *testing.T) {
	t.Parallel()
	for kind, test := range map[string]struct{ args, want []string }{
		"postgres": {
			[]string{"-c", "shared_buffers=128MB", "-c", "max_wal_size=1GB", "-c", "checkpoint_timeout=5min"},
			[]string{"note shared-buffers: shared_buffers = 128 MB", "note max-wal-size: max_wal_size = 1024 MB", "note checkpoint-timeout: checkpoint_timeout = 300s",
				"note archiving: archive_mode = off"},
		},
		"mysql": {
			[]string{"--innodb-buffer-pool-size=128M", "--innodb-log-file-size=96M"},
			[]string{"note buffer-pool: innodb_buffer_pool_size = 128 MB", "note redo-log: innodb_log_file_size = 96 MB", "note archiving: log_bin = OFF"},
		},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			server := servertest.Start(t, kind, servertest.Durable(), servertest.Args(test.args...))
			stocktest.Open(t, server.URL(), stock.Options{})
			require.Equal(t, test.want, checkUp(t, server.URL(), usual("table")))
		})
	}
}

func TestDoctorOfPostgresReadOnly(t *testing.T) {
	t.Parallel()
	server := servertest.Start(t, "postgres", servertest.Roomy(), servertest.Archived()) // not durable
	s := stocktest.Open(t, server.URL(), stock.Options{})
	stocktest.ExecAll(t, s, []string{`ALTER DATABASE postgres SET default_transaction_read_only = on`})
	require.Equal(t, []string{
		"danger fsync: fsync = off", "danger full-page-writes: full_page_writes = off",
		"danger read-only: default_transaction_read_only = on",
	}, checkUp(t, server.URL(), usual("table")))
}

func TestDoctorOfSQLite(t *testing.T) {
	t.Parallel()
	url := stocktest.URL(t, "sqlite")
	path := strings.TrimPrefix(url, "sqlite:")
	s, err := stock.Open(t.Context(), url, stock.Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"note schema: the schema has version 0, this drawsvc knows " + known()}, onDisk(checkUp(t, url, usual("table"))))
	require.NoError(t, s.Migrate(t.Context()))
	stocktest.Pool(t, s, "p", 100)
	require.Empty(t, onDisk(checkUp(t, url, usual("table"))), "beside the service")
	require.NoError(t, s.Close())
	require.Empty(t, onDisk(checkUp(t, url, usual("table"))))

	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `PRAGMA journal_mode = DELETE`)
	require.NoError(t, err)
	require.Equal(t, []string{"warning journal-mode: journal_mode = delete"}, onDisk(checkUp(t, url, usual("table"))))
	var root int // the first page of a table; the schema's own pages stay
	require.NoError(t, db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'prizes'`).Scan(&root))
	require.NoError(t, db.Close())

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	const page = 4096
	for i := (root - 1) * page; i < root*page; i++ {
		content[i] = 0xa5
	}
	require.NoError(t, os.WriteFile(path, content, 0o600))
	found := onDisk(checkUp(t, url, usual("table")))
	require.NotEmpty(t, found)
	require.Contains(t, found[0], "danger integrity: quick_check: ")
}

// onDisk removes the finding about the folder, for tests in memory.
func onDisk(found []string) []string {
	kept := []string{}
	for _, f := range found {
		if !strings.HasPrefix(f, "danger memory-file-system: ") {
			kept = append(kept, f)
		}
	}
	return kept
}

func TestDoctorKnowsMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		return // other systems do not check this
	}
	folder, err := os.MkdirTemp("/dev/shm", "drawsvc-doctor-")
	require.NoError(t, err)
	defer os.RemoveAll(folder)
	url := "sqlite:" + folder + "/draws.db"
	stocktest.Open(t, url, stock.Options{})
	require.Equal(t, []string{"danger memory-file-system: the file is in memory: tmpfs"}, checkUp(t, url, usual("table")))
}

// TestDoctorOfSchemas: older and newer schemas, and a schema without one of its tables,
// are reported.
func TestDoctorOfSchemas(t *testing.T) {
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			s := stocktest.Open(t, url, stock.Options{})
			find := func() (lines []string) {
				for _, f := range checkUp(t, url, usual("table")) {
					if strings.Contains(f, " schema: ") || strings.Contains(f, " tables: ") {
						lines = append(lines, f)
					}
				}
				return lines
			}
			require.Empty(t, find())
			stocktest.ExecAll(t, s, []string{`DROP TABLE lock_tokens`, `DROP TABLE moves`})
			require.Equal(t, []string{"danger tables: there is no table moves, lock_tokens, although the schema's version says so"}, find())
			stocktest.ExecAll(t, s, []string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`})
			require.Equal(t, []string{
				"danger tables: there is no table moves, lock_tokens, although the schema's version says so",
				"note schema: the schema has version 99, this drawsvc knows " + known(),
			}, find())
			stocktest.ExecAll(t, s, []string{`UPDATE schema_admits SET binaries_from = 99`})
			require.Contains(t, find(), "danger schema: the schema has version 99, this drawsvc knows "+known())
			stocktest.ExecAll(t, s, []string{`DELETE FROM goose_db_version`, `UPDATE schema_admits SET binaries_from = 1`})
			level := "danger"
			if dialect == "sqlite" {
				level = "note" // it is migrated automatically
			}
			require.Equal(t, []string{level + " schema: the schema has version 0, this drawsvc knows " + known()}, find())
		})
	}
}

// known returns the version of the schema of this binary.
func known() string { return fmt.Sprint(stocktest.Target(migrations.Embedded())) }
