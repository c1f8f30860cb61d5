package cli

import (
	_ "embed"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// TestBackupPage follows docs/backup.md, on each database, with instances that are
// stopped and with some that keep running. Each block must be executed.
func TestBackupPage(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	places := map[string]func(*testing.T, *sync.Map){
		"SQLite":                                testSQLitePage,
		"PostgreSQL dump":                       testPostgresDump,
		"PostgreSQL point in time":              testPostgresPointInTime,
		"PostgreSQL point in time, not stopped": testPostgresPointInTimeLiving,
		"MariaDB dump":                          testMariaDBDump,
		"MariaDB point in time":                 testMariaDBPointInTime,
		"mariadb-backup":                        testMariaDBBackup,
		"mariadb-backup, not stopped":           testMariaDBBackupLiving,
	}
	var executed sync.Map
	var done atomic.Int32
	t.Run("places", func(t *testing.T) {
		for name, test := range places {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, &executed)
				done.Add(1)
			})
		}
	})
	for name := range readBlocks(t, "../../docs/backup.md") {
		if _, was := executed.Load(name); !was && int(done.Load()) == len(places) {
			t.Errorf("no place executes %s", name)
		}
	}
}

// TestBackupPageIsCaught: blocks that do not work as pasted fail.
func TestBackupPageIsCaught(t *testing.T) {
	t.Parallel()
	var executed sync.Map
	w := newPlace(t, &executed, stocktest.Migrated(t, "sqlite"), nil)
	w.blocks = map[string]string{
		"good": "DATABASE=x\ndrawsvc audit | grep -q violations\n", "kept": "[ $DATABASE = x ]\n",
		"first line": "drawsvc audit --frob\ntrue\n", "in a pipe": "drawsvc pools | cat\n", "missing": "drawsrv audit\n",
		"violation": "drawsvc audit\n", "no service": "sudo systemctl stop frob\n",
	}
	w.do("good", "kept")
	tamper(t, w.program.vars["DRAWSVC_DATABASE"], `UPDATE prizes SET issued = 1`)
	for _, name := range []string{"first line", "in a pipe", "missing", "violation", "no service"} {
		_, err := w.try(name)
		require.Error(t, err, name)
	}
}

func testSQLitePage(t *testing.T, executed *sync.Map) {
	w := newPlace(t, executed, stocktest.Migrated(t, "sqlite"), nil)
	kept := w.draw(30)
	w.do("sqlite-backup")
	lost := w.draw(30)
	w.do("stop", "sqlite-keep", "sqlite-restore", "pause", "start")
	w.compared(kept, lost)
	w.instances[0].admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"state":"open"}`)
	w.restored(kept, lost)
	w.do("sqlite-try")
	files, err := filepath.Glob(filepath.Join(w.folder, "backups", "before-restore", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
}

// newPostgres returns a server with a database drawsvc, and the page's variables for
// it.
func newPostgres(t *testing.T) (server *servertest.Server, databaseURL string, vars []string) {
	t.Helper()
	servertest.NeedPrograms(t, "postgresql", "psql", "pg_dump", "pg_basebackup", "vacuumdb")
	server = servertest.Start(t, "postgres", servertest.Durable())
	_, err := rows(t, server.URL()).ExecContext(t.Context(), `CREATE DATABASE drawsvc`)
	require.NoError(t, err)
	location, err := url.Parse(server.URL())
	require.NoError(t, err)
	password, _ := location.User.Password()
	location.Path = "/drawsvc"
	return server, location.String(), []string{
		"PGHOST=" + location.Hostname(), "PGPORT=" + location.Port(), "PGUSER=" + location.User.Username(), "PGPASSWORD=" + password,
		"PGDATABASE=drawsvc", "PGDATA=" + filepath.Join(server.Dir(), "data"), "ARCHIVE=" + filepath.Join(server.Dir(), "wal"),
		"RESTORED=" + location.JoinPath("../drawsvc_restored").String(),
	}
}

// testPostgresDump: the instances keep running, and notice that the database was
// replaced.
func testPostgresDump(t *testing.T, executed *sync.Map) {
	server, databaseURL, vars := newPostgres(t)
	w := newPlace(t, executed, databaseURL, server, vars...)
	kept := w.draw(30)
	w.do("pg-dump")
	lost := w.draw(30)
	w.do("pg-restore", "pause")
	for key, answer := range w.draw(5) { // the instances draw until the switch
		lost[key] = answer
	}
	w.do("pg-switch")
	require.Eventually(t, func() bool { return w.isPaused() }, commandMax, 20*time.Millisecond)
	w.compared(kept, lost)
	w.do("pg-lost")
	require.Len(t, w.lines("lost-wins.csv"), len(lost))
	w.settled()
	w.restored(kept, lost)
}

func testPostgresPointInTime(t *testing.T, executed *sync.Map) {
	w, kept, lost := postgresMoment(t, executed)
	w.do("stop", "pg-recover", "pause", "start")
	w.compared(kept, lost)
	w.settled()
	w.restored(kept, lost)
}

func testPostgresPointInTimeLiving(t *testing.T, executed *sync.Map) {
	w, kept, lost := postgresMoment(t, executed)
	w.do("pg-recover")
	w.restored(kept, lost)
}

// postgresMoment returns a server that archives its log. The page's variable RESTORE_TO
// is a past moment: the draws in kept were made before it, those in lost after it.
func postgresMoment(t *testing.T, executed *sync.Map) (w *place, kept, lost map[string]map[string]any) {
	t.Helper()
	server, databaseURL, vars := newPostgres(t)
	w = newPlace(t, executed, databaseURL, server, vars...)
	w.do("pg-archive")
	w.drawsAgain()
	before := w.draw(10)
	w.do("pg-base")
	kept = w.draw(30)
	for key, answer := range before {
		kept[key] = answer
	}
	time.Sleep(10 * time.Millisecond)
	w.set("RESTORE_TO", time.Now().UTC().Format("2006-01-02 15:04:05.000000+00"))
	time.Sleep(10 * time.Millisecond)
	return w, kept, w.draw(30)
}

// newMariaDB returns a server with a binary log, and the page's variables for it.
func newMariaDB(t *testing.T) (server *servertest.Server, vars []string) {
	t.Helper()
	servertest.NeedPrograms(t, "mariadb-server mariadb-backup", "mariadb", "mariadb-dump", "mariadb-binlog", "mariadb-backup")
	server = servertest.Start(t, "mysql", servertest.Durable(),
		servertest.Args("--log-bin=binlog", "--server-id=1", "--binlog-format=ROW", "--sync-binlog=1"))
	return server, []string{
		"RESTORED=" + server.URL() + "_restored",
		"DATADIR=" + filepath.Join(server.Dir(), "data"), "BINLOGS=" + t.TempDir(),
	}
}

// newMariaDBPlace returns a place whose clients find the server by ~/.my.cnf.
func newMariaDBPlace(t *testing.T, executed *sync.Map) *place {
	t.Helper()
	server, vars := newMariaDB(t)
	w := newPlace(t, executed, server.URL(), server, vars...)
	location, err := url.Parse(server.URL())
	require.NoError(t, err)
	password, _ := location.User.Password()
	require.NoError(t, os.WriteFile(filepath.Join(w.folder, "home", ".my.cnf"), []byte(fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n",
		location.Hostname(), location.Port(), location.User.Username(), password)), 0o600))
	return w
}

// testMariaDBDump: the instances keep running, and notice that the database was replaced.
func testMariaDBDump(t *testing.T, executed *sync.Map) {
	w := newMariaDBPlace(t, executed)
	kept := w.draw(30)
	w.do("mysql-dump")
	lost := w.draw(30)
	w.do("mysql-restore", "pause")
	for key, answer := range w.draw(5) { // the instances draw until the switch
		lost[key] = answer
	}
	w.do("mysql-switch")
	require.Eventually(t, func() bool { return w.isPaused() }, commandMax, 20*time.Millisecond)
	w.compared(kept, lost)
	w.do("mysql-lost")
	require.Len(t, w.lines("lost-wins.tsv"), 4*len(lost), "four columns")
	w.settled()
	w.restored(kept, lost)
}

func testMariaDBPointInTime(t *testing.T, executed *sync.Map) {
	w := newMariaDBPlace(t, executed)
	w.background("mysql-binlogs")
	before := w.draw(10)
	w.do("mysql-dump")
	kept := w.draw(30)
	for key, answer := range before {
		kept[key] = answer
	}
	time.Sleep(1100 * time.Millisecond) // the binary log has a resolution of seconds
	w.set("RESTORE_TO", time.Now().UTC().Format("2006-01-02 15:04:05"))
	time.Sleep(1100 * time.Millisecond)
	lost := w.draw(30)
	w.do("mysql-restore", "mysql-recover", "pause", "stop", "mysql-switch", "start")
	w.compared(kept, lost)
	w.settled()
	w.restored(kept, lost)
}

func testMariaDBBackup(t *testing.T, executed *sync.Map) {
	w := newMariaDBPlace(t, executed)
	kept := w.draw(30)
	w.do("mysql-physical")
	lost := w.draw(30)
	w.do("stop", "mysql-physical-restore", "pause", "start")
	w.compared(kept, lost)
	w.settled()
	w.restored(kept, lost)
}

func testMariaDBBackupLiving(t *testing.T, executed *sync.Map) {
	w := newMariaDBPlace(t, executed)
	kept := w.draw(30)
	w.do("mysql-physical")
	lost := w.draw(30)
	w.do("mysql-physical-restore")
	w.restored(kept, lost)
}
