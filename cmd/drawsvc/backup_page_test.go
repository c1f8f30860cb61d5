package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pages "drawsvc/internal/page"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// readBlocks returns the named blocks of a page.
func readBlocks(tb testing.TB, file string) map[string]string {
	tb.Helper()
	text, err := os.ReadFile(file)
	require.NoError(tb, err)
	blocks, err := pages.Blocks(string(text))
	require.NoError(tb, err)
	return blocks
}

//go:embed testdata/backup.sh
var backupPrelude string

// place is a database with instances, and the shell in which somebody works
// through docs/backup.md.
type place struct {
	testing.TB
	program
	blocks map[string]string
	// executed are the names of the blocks that were.
	executed  *sync.Map
	folder    string
	vars      []string
	server    *servertest.Server // nil where the database is a file
	instances []*process
	count     int // of instances
	keys      int
	// asked is what a block asks of the machine; the test itself does it.
	asked chan systemctl
}

// systemctl is a request of a block: /ACTION/SERVICE.
type systemctl struct {
	path string
	done chan<- error
}

const pageToken = "an-admin-token"

// newPlace makes a place for a database whose URL is given. vars are what the
// page calls the values of a site.
func newPlace(t *testing.T, executed *sync.Map, databaseURL string, server *servertest.Server, vars ...string) *place {
	t.Helper()
	w := &place{
		TB: t, program: on(t, databaseURL), blocks: readBlocks(t, "../../docs/backup.md"), executed: executed,
		folder: t.TempDir(), server: server, count: 2, asked: make(chan systemctl),
	}
	if server == nil {
		w.count = 1
	}
	w.program.vars["DRAWSVC_ADMIN_TOKEN"] = pageToken
	control := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		done := make(chan error, 1)
		w.asked <- systemctl{request.URL.Path, done}
		if err := <-done; err != nil {
			http.Error(answer, err.Error(), http.StatusInternalServerError)
		}
	}))
	t.Cleanup(control.Close)
	account, err := user.Current()
	require.NoError(t, err)
	if account.Uid == "0" {
		account.Username = "nobody" // as servertest has it
	}
	for _, name := range []string{"backups", "work", "home"} {
		require.NoError(t, os.Mkdir(filepath.Join(w.folder, name), 0o700))
	}
	prelude := filepath.Join(w.folder, "prelude.sh")
	require.NoError(t, os.WriteFile(prelude, []byte(backupPrelude), 0o600))
	w.vars = append([]string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + filepath.Join(w.folder, "home"), "BASH_ENV=" + prelude,
		"PAGE_PROGRAM=" + os.Args[0], "PAGE_CONTROL=" + control.URL, "PAGE_STATE=" + filepath.Join(w.folder, "state"),
		"DRAWSVC_DATABASE=" + databaseURL, "BACKUPS=" + filepath.Join(w.folder, "backups"), "ADMIN_TOKEN=" + pageToken,
		"PGACCOUNT=" + account.Username, "DBACCOUNT=" + account.Username,
	}, vars...)
	w.ok("migrate", "up")
	w.ok("pool", "create", "spring", "--prize", "id=gold,stock=100000")
	w.ok("pool", "create", "resting", "--prize", "id=gold,stock=10")
	w.ok("pool", "pause", "resting")
	w.start()
	return w
}

// obey does what a block asks of the machine.
func (w *place) obey(path string) error {
	switch path {
	case "/stop/drawsvc":
		w.stop()
	case "/start/drawsvc":
		w.start()
	case "/stop/postgresql", "/stop/mariadb":
		w.server.Stop()
	case "/start/postgresql", "/start/mariadb":
		return w.server.Start()
	case "/restart/postgresql":
		w.server.Stop()
		return w.server.Start()
	default:
		return fmt.Errorf("the test knows nothing of %s", path)
	}
	return nil
}

func (w *place) start() {
	for range w.count {
		i := w.program.start("--public-draw")
		i.token = pageToken
		w.instances = append(w.instances, i)
	}
}

func (w *place) stop() {
	for _, i := range w.instances {
		code, _ := i.signal(syscall.SIGTERM)
		require.Equal(w.TB, exitOK, code, i.stderr.String())
	}
	w.instances = nil
}

// blockMax is the longest that a block may take.
const blockMax = 2 * time.Minute

// shell prepares a block to be executed.
func (w *place) shell(ctx context.Context, name string) *exec.Cmd {
	w.Helper()
	require.Contains(w.TB, w.blocks, name)
	w.executed.Store(name, true)
	cmd := exec.CommandContext(ctx, "bash", "-c", w.blocks[name])
	cmd.Dir = filepath.Join(w.folder, "work")
	cmd.Env = w.vars
	if len(w.instances) > 0 {
		cmd.Env = append(cmd.Env, "SERVICE="+w.instances[0].url)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}

// try executes a block, and returns what it printed.
func (w *place) try(name string) (string, error) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.TB.Context(), blockMax)
	defer cancel()
	var output bytes.Buffer
	cmd := w.shell(ctx, name)
	cmd.Stdout, cmd.Stderr = &output, &output
	ended := make(chan error, 1)
	go func() { ended <- cmd.Run() }()
	for {
		select {
		case ask := <-w.asked:
			ask.done <- w.obey(ask.path)
		case err := <-ended:
			return output.String(), err
		}
	}
}

// do executes blocks as they stand on the page; each must go well.
func (w *place) do(names ...string) {
	w.Helper()
	for _, name := range names {
		began := time.Now()
		output, err := w.try(name)
		require.NoError(w.TB, err, "%s\n%s", name, output)
		w.Logf("%s: %v", name, time.Since(began).Round(10*time.Millisecond))
	}
}

// background executes a block that does not end, until the test does.
func (w *place) background(name string) {
	w.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := w.shell(ctx, name)
	require.NoError(w.TB, cmd.Start())
	w.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // was killed
	})
}

// draw draws n times over all instances and returns the answers by key.
func (w *place) draw(n int) map[string]map[string]any {
	w.Helper()
	answers := map[string]map[string]any{}
	for range n {
		w.keys++
		key := fmt.Sprintf("key-%d", w.keys)
		answer, replayed := w.instances[w.keys%len(w.instances)].won("spring", "u1", key)
		require.False(w.TB, replayed)
		answers[key] = answer
	}
	return answers
}

// drawsAgain waits until each instance draws; until then it may only say that
// the database is away.
func (w *place) drawsAgain() {
	w.Helper()
	for n, i := range w.instances {
		require.Eventually(w.TB, func() bool {
			status, body, err := i.draw("spring", "u1", fmt.Sprintf("again-%d-%d", w.keys, n))
			require.NoError(w.TB, err)
			require.Contains(w.TB, []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, status, body)
			return status == http.StatusOK
		}, 30*time.Second, 20*time.Millisecond)
	}
}

// restored says that the database is the one that had kept, and not lost, and
// that all instances go on with it.
func (w *place) restored(kept, lost map[string]map[string]any) {
	w.Helper()
	w.drawsAgain()
	for key, first := range kept {
		for _, i := range w.instances {
			answer, replayed := i.won("spring", "u1", key)
			require.True(w.TB, replayed, key)
			require.Equal(w.TB, first, answer)
		}
	}
	for key := range lost {
		n := len(key) % len(w.instances)
		answer, replayed := w.instances[n].won("spring", "u1", key)
		require.False(w.TB, replayed, "%s is not in the restored database", key)
		again, replayed := w.instances[len(w.instances)-1-n].won("spring", "u1", key)
		require.True(w.TB, replayed)
		require.Equal(w.TB, answer, again)
	}
	w.draw(20)
	require.Contains(w.TB, w.ok("audit"), "2 pools, 0 violations")
}

// promised writes the keys of wins that callers know.
func (w *place) promised(all ...map[string]map[string]any) {
	w.Helper()
	var keys strings.Builder
	for _, answers := range all {
		for key := range answers {
			fmt.Fprintln(&keys, key)
		}
	}
	require.NoError(w.TB, os.WriteFile(filepath.Join(w.folder, "work", "keys-of-the-callers.txt"), []byte(keys.String()), 0o600))
}

// lines are those of a file that the page made.
func (w *place) lines(name string) []string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.folder, "work", name))
	require.NoError(w.TB, err)
	return strings.Fields(string(text))
}

// compared says that the comparison finds what was lost, while nobody can draw.
func (w *place) compared(kept, lost map[string]map[string]any) {
	w.Helper()
	require.Equal(w.TB, []string{"spring"}, w.lines("open-pools.txt"))
	w.promised(kept, lost)
	w.do("compare")
	found := w.lines("lost-keys.txt")
	require.Len(w.TB, found, len(lost))
	for _, key := range found {
		require.Contains(w.TB, lost, key)
	}
	status, body, err := w.instances[0].draw("spring", "u1", "while-paused")
	require.NoError(w.TB, err)
	require.Equal(w.TB, http.StatusConflict, status, body)
}

// settled gives one unit of the stock for a promise, and opens.
func (w *place) settled() {
	w.Helper()
	before := w.ok("pool", "show", "spring")
	w.do("settle", "settle", "open") // the second one is the first again
	require.Contains(w.TB, before, "100000")
	require.Contains(w.TB, w.ok("pool", "show", "spring"), "99999")
}

func (w *place) set(name, value string) { w.vars = append(w.vars, name+"="+value) }

// TestBackupPage works through docs/backup.md, on each database, with instances
// that are stopped and with some that go on. Each block must be executed.
func TestBackupPage(t *testing.T) {
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

// TestBackupPageIsCaught: blocks that do not work as pasted.
func TestBackupPageIsCaught(t *testing.T) {
	t.Parallel()
	var executed sync.Map
	w := newPlace(t, &executed, stocktest.URL(t, "sqlite"), nil)
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
	w := newPlace(t, executed, stocktest.URL(t, "sqlite"), nil)
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

// newPostgres is a server with a database drawsvc, and what the page calls it.
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

// testPostgresDump: the instances go on, and notice at the switch.
func testPostgresDump(t *testing.T, executed *sync.Map) {
	server, databaseURL, vars := newPostgres(t)
	w := newPlace(t, executed, databaseURL, server, vars...)
	kept := w.draw(30)
	w.do("pg-dump")
	lost := w.draw(30)
	w.do("pg-restore", "pause")
	for key, answer := range w.draw(5) { // until the switch
		lost[key] = answer
	}
	w.do("pg-switch")
	require.Eventually(t, func() bool { return w.isPaused() }, 30*time.Second, 20*time.Millisecond)
	w.compared(kept, lost)
	w.do("pg-lost")
	require.Len(t, w.lines("lost-wins.csv"), len(lost))
	w.settled()
	w.restored(kept, lost)
}

// isPaused asks all instances whether their pool is paused.
func (w *place) isPaused() bool {
	for n, i := range w.instances {
		status, body, err := i.draw("spring", "u1", fmt.Sprintf("paused-%d", n))
		require.NoError(w.TB, err)
		require.NotEqual(w.TB, http.StatusInternalServerError, status, body)
		if status != http.StatusConflict {
			return false
		}
	}
	return true
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

// postgresMoment is a server with an archive, and a moment that is passed.
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

// newMariaDB is a server with a binary log, and what the page calls it.
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

// newMariaDBPlace is a place whose clients find the server by ~/.my.cnf.
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

// testMariaDBDump: the instances go on, and notice at the switch.
func testMariaDBDump(t *testing.T, executed *sync.Map) {
	w := newMariaDBPlace(t, executed)
	kept := w.draw(30)
	w.do("mysql-dump")
	lost := w.draw(30)
	w.do("mysql-restore", "pause")
	for key, answer := range w.draw(5) { // until the switch
		lost[key] = answer
	}
	w.do("mysql-switch")
	require.Eventually(t, func() bool { return w.isPaused() }, 30*time.Second, 20*time.Millisecond)
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
	time.Sleep(1100 * time.Millisecond) // the binary log knows seconds
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
