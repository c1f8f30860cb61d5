package stock_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/db/migrations"
	"drawsvc/internal/draw"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

// open opens a database without migrating it.
func open(tb testing.TB, url string, o stock.Options) *stock.Store {
	tb.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s, err := stock.Open(tb.Context(), url, o)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

// structure returns a description of a database's schema.
func structure(tb testing.TB, s *stock.Store) string {
	tb.Helper()
	ask := func(question string) (answers []string) {
		rows, err := s.LockDB().QueryContext(tb.Context(), question)
		require.NoError(tb, err)
		defer rows.Close()
		for rows.Next() {
			var answer string
			require.NoError(tb, rows.Scan(&answer))
			answers = append(answers, answer)
		}
		require.NoError(tb, rows.Err())
		return answers
	}
	var all []string
	switch s.Dialect() {
	case "postgres":
		all = ask(`SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%' ORDER BY table_name, ordinal_position`)
		all = append(all, ask(`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename NOT LIKE 'goose%' ORDER BY 1`)...)
		all = append(all, ask(`SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
			AND conname NOT LIKE 'goose%' ORDER BY 1`)...)
	case "mysql":
		for _, table := range ask(`SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name NOT LIKE 'goose%' ORDER BY 1`) {
			var name, made string
			require.NoError(tb, s.LockDB().QueryRowContext(tb.Context(), `SHOW CREATE TABLE `+table).Scan(&name, &made))
			all = append(all, made)
		}
	default:
		all = ask(`SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name`)
	}
	all = append(all, ask(`SELECT 'binaries from ' || binaries_from FROM schema_admits`)...)
	return strings.Join(append(all, fmt.Sprint(ask(`SELECT DISTINCT version_id FROM goose_db_version ORDER BY 1`))), "\n")
}

// runSome runs the first n statements on one connection, and leaves the connection open,
// like a process that is killed.
func runSome(ctx context.Context, db *sql.DB, statements []string, n int) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, statement := range statements[:n] {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	return nil
}

// resume kills a migration after its first n statements, on a separate database, and
// migrates again. That migration waits for others for at most the time wait.
func resume(t *testing.T, dialect string, set migrations.Set, n int, wait time.Duration) (made string, err error) {
	s := open(t, stocktest.URL(t, dialect), stock.Options{Migrations: set, MigrateWait: wait})
	defer s.Close() // there are more such databases than the server allows connections
	script, err := s.PendingSQL(t.Context())
	require.NoError(t, err)
	require.NoError(t, runSome(t.Context(), s.LockDB(), stocktest.Statements(script), n))
	if err := s.Migrate(t.Context()); err != nil {
		return "", err
	}
	schema, err := s.Schema(t.Context())
	require.NoError(t, err)
	require.Empty(t, schema.Pending)
	stocktest.Pool(t, s, "p", 3)
	require.NoError(t, stocktest.Write(t, s, stock.TxOptions{}, stocktest.Plan("p", 2, "a", 0, "k")))
	stocktest.NoViolations(t, s, "p")
	return structure(t, s), nil
}

// TestMigrateResumes: a migration may be killed after any statement, and the next
// migration completes it. By default the test tries only the statements that killedBehind
// selects.
func TestMigrateResumes(t *testing.T) {
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			set := stocktest.Additive()
			whole := open(t, stocktest.URL(t, dialect), stock.Options{Migrations: set})
			script, err := whole.PendingSQL(t.Context())
			require.NoError(t, err)
			require.NoError(t, whole.Migrate(t.Context()))
			want := structure(t, whole)
			require.Contains(t, want, "seasons")
			statements := stocktest.Statements(script)
			tried := 0
			for n := range len(statements) + 1 {
				if !killedBehind(dialect, statements, n) {
					continue
				}
				tried++
				t.Run(fmt.Sprint("behind ", n), func(t *testing.T) {
					t.Parallel() // some wait until excluded instances have stopped
					made, err := resume(t, dialect, set, n, time.Minute)
					require.NoError(t, err, "killed behind %d statements, the last of them %q", n, statements[max(0, n-1)])
					require.Equal(t, want, made)
				})
			}
			t.Logf("killed behind %d of %d statements", tried, len(statements))
			require.Greater(t, tried, 10, "of six migrations and more")
		})
	}
}

// killedBehind selects the statements of TestMigrateResumes. In MySQL, each statement
// that writes commits by itself and leaves another state; the other statements only
// affect their session. In other databases, a migration that is killed before its commit
// is rolled back completely.
func killedBehind(dialect string, statements []string, n int) bool {
	if servertest.Every() || n == 0 || n == len(statements) {
		return true
	}
	if dialect == "mysql" {
		isNew := len(statements)-n < 40 // of the others, one in four
		return !startsWith(statements[n-1], "SET", "PREPARE", "DEALLOCATE") && (isNew || n%4 == 0)
	}
	inside := false
	for _, statement := range statements[:n] {
		if startsWith(statement, "BEGIN") {
			inside = true
		} else if startsWith(statement, "COMMIT") {
			inside = false
		}
	}
	return !inside || startsWith(statements[n], "COMMIT")
}

func startsWith(statement string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(statement, w) })
}

// changed returns a set in whose files one text is replaced.
func changed(t *testing.T, set migrations.Set, old, new string) migrations.Set {
	t.Helper()
	files, changes := fstest.MapFS{}, 0
	names, err := fs.Glob(set.Files, "*/*.sql")
	require.NoError(t, err)
	for _, name := range names {
		text, err := fs.ReadFile(set.Files, name)
		require.NoError(t, err)
		changes += strings.Count(string(text), old)
		files[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(text), old, new))}
	}
	require.Positive(t, changes, old)
	set.Files = files
	return set
}

// TestMigrateResumesCatches: the test fails for a step of MySQL that cannot be run again.
func TestMigrateResumesCatches(t *testing.T) {
	t.Parallel()
	broken := changed(t, stocktest.Additive(), "@missing, 'ALTER TABLE prizes", "1 = 1, 'ALTER TABLE prizes")
	script, err := open(t, stocktest.URL(t, "mysql"), stock.Options{Migrations: broken}).PendingSQL(t.Context())
	require.NoError(t, err)
	_, err = resume(t, "mysql", broken, len(stocktest.Statements(script))-1, time.Second)
	require.ErrorContains(t, err, "Duplicate column name 'note'")
}

// TestMigrateLock: a migration briefly waits for the lock that a killed process has left,
// and logs that. Its wait for a running process is bounded.
func TestMigrateLock(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"postgres", "mysql"} { // an SQLite file belongs to one process
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			url := stocktest.URL(t, dialect)
			holder := open(t, url, stock.Options{})
			require.NoError(t, holder.Migrate(t.Context()), "makes the table of the lock")
			hold := func(lease string) {
				stocktest.ExecAll(t, holder, []string{`UPDATE goose_lock SET locked = true, locked_by = 'shop-4711-x', lease_expires_at = ` + lease})
			}
			in := map[string]string{"postgres": "now() + interval '%d seconds'", "mysql": "now(6) + INTERVAL %d SECOND"}[dialect]

			var log lines
			next := open(t, url, stock.Options{Migrations: stocktest.Additive(), Log: slog.New(slog.NewTextHandler(&log, nil)), MigrateWait: time.Minute})
			hold(fmt.Sprintf(in, 3600))
			begun, ended := time.Now(), make(chan error, 1)
			go func() { ended <- next.Migrate(t.Context()) }()
			require.Eventually(t, func() bool {
				return strings.Contains(log.String(), "waiting for another process that migrates this database; if it was killed, its lock expires")
			}, waitMax, tick)
			runsOut := time.Now()
			hold(fmt.Sprintf(in, 2))
			require.NoError(t, <-ended)
			require.Greater(t, time.Since(runsOut), 1900*time.Millisecond, "the lock was respected")
			require.Contains(t, log.String(), "holder=shop-4711-x lease=10s")
			require.LessOrEqual(t, strings.Count(log.String(), "\n"), 1+int(time.Since(begun)/(10*time.Second)), "the wait is logged, not every try")

			last := open(t, url, stock.Options{Migrations: stocktest.Excluding(), MigrateWait: 2 * time.Second})
			hold(fmt.Sprintf(in, 3600))
			stocktest.ExecAll(t, holder, []string{`DELETE FROM goose_db_version WHERE version_id > 1`})
			err := last.Migrate(t.Context())
			require.Equal(t, draw.CodeStoreUnavailable, draw.CodeOf(err))
			require.ErrorContains(t, err, "another process migrates this database; nothing was changed")
			require.ErrorContains(t, err, "shop-4711-x has held the lock for ")
		})
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}
