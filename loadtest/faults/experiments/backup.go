package experiments

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/page"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
)

// backupRestored makes a backup under load, and restores it after more draws, by the
// commands of docs/backup.md. If the backup is a dump, the instances keep running.
func backupRestored() Experiment {
	return Experiment{
		Name: "backup under load, and its restore", places: everywhere(2), base: onDatabaseOfThePage, loses: true, codes: []string{"paused"},
		run: func(t *trial) error { return newRestore(t).run() },
	}
}

// pageDatabase and pagePool are the names that the page uses.
const (
	pageDatabase = "drawsvc"
	pagePool     = "spring"
	// pageCallers is the number of callers that draw from that pool, each of them in
	// sequence.
	pageCallers = 3
)

// onDatabaseOfThePage creates the cell's database under the name on the page, on a
// server of its own.
func onDatabaseOfThePage(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	switch kind {
	case "sqlite":
		return g.Database(s, kind, nil)
	case "postgres":
		servertest.NeedPrograms(s, "postgresql", "psql", "pg_dump", "vacuumdb")
	case "mysql":
		servertest.NeedPrograms(s, "mariadb-server", "mariadb", "mariadb-dump")
	}
	args := words.Of(kind).Small
	if kind == "mysql" {
		args = append(args, "--log-bin=binlog", "--server-id=1", "--binlog-format=ROW")
	}
	return g.Named(s, kind, pageDatabase, servertest.Start(s, kind, servertest.Args(args...)))
}

type restore struct {
	*trial
	*shell
	// before is when the backup began, after when it was complete.
	before, after time.Duration
	stopped       chan struct{}
	callers       sync.WaitGroup
}

func newRestore(t *trial) *restore {
	return &restore{trial: t, shell: newShell(t), stopped: make(chan struct{})}
}

// steps returns the blocks of the page: those of the backup, and those of the restore
// up to the start of the instances.
func (r *restore) steps() (backup, restored []string) {
	switch r.Kind {
	case "sqlite":
		return []string{"sqlite-backup"}, []string{"sqlite-keep", "sqlite-restore", "pause"}
	case "postgres":
		return []string{"pg-dump"}, []string{"pg-restore", "pause", "pg-switch"}
	}
	return []string{"mysql-dump"}, []string{"mysql-restore", "pause", "mysql-switch"}
}

func (r *restore) run() error {
	backup, restored := r.steps()
	r.Must(r.MakePool(pagePool, 50_000, 50_000))
	r.call()
	defer r.quiet()
	r.Sleep(300, 600)
	r.before = r.History.Now()
	r.Must(r.do(backup...))
	r.after = r.History.Now()
	r.Sleep(500, 1000)
	r.Must(r.replace(restored))
	r.quiet()
	r.compare()
	r.Must(r.open())
	r.Ended = time.Now()
	return nil
}

// call makes callers draw from the page's pool until quiet is called.
func (r *restore) call() {
	for n := range pageCallers {
		r.callers.Go(func() {
			for {
				o := r.asking(pagePool, 1)[0]
				o.Client, o.Instance = 9000+n, n%len(r.Instances)
				r.Send(r.Ctx, o)
				select {
				case <-r.stopped:
					return
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
}

func (r *restore) quiet() {
	select {
	case <-r.stopped:
	default:
		close(r.stopped)
	}
	r.callers.Wait()
}

// replace restores the backup over the database. The instance of a file is stopped
// first.
func (r *restore) replace(steps []string) error {
	if r.Kind != "sqlite" {
		return r.do(steps...)
	}
	r.Must(errors.Join(r.Instances[0].Stop(), r.do(steps...)))
	return errors.Join(r.reopen(), r.Instances[0].Again(r.Ctx))
}

// promised returns the answered wins of the pool, by key.
func (r *restore) promised() map[string]history.Op {
	won := map[string]history.Op{}
	for _, o := range r.History.Ops() {
		if o.Pool == pagePool && o.Kind == history.Draw && o.Won() {
			won[o.Key] = o
		}
	}
	return won
}

// compare finds the promised draws that were lost by the restore. Draws after the backup
// must be lost, and draws before it must not.
func (r *restore) compare() {
	promised := r.promised()
	keys := strings.Join(slices.Sorted(maps.Keys(promised)), "\n") + "\n"
	r.Must(os.WriteFile(filepath.Join(r.work, "keys-of-the-callers.txt"), []byte(keys), 0o600))
	// The instances must reconnect to the database first.
	if err := stage.Within(r.Ctx, client.RecoverMax, func() error { return r.do("compare") }); err != nil {
		r.Verdict.Say(history.NotRecovered, "the comparison: %v", err)
		return
	}
	text, err := os.ReadFile(filepath.Join(r.work, "lost-keys.txt"))
	r.Must(err)
	r.judgeLost(promised, strings.Fields(string(text)))
}

// judgeLost compares the keys that were found with the time of the backup and with the
// rows.
func (r *restore) judgeLost(promised map[string]history.Op, found []string) {
	kept, wrong := sortOut(promised, found, r.before, r.after)
	for _, said := range wrong {
		r.Verdict.Say(history.Fault, "%s", said)
	}
	rows, err := r.Rows(pagePool)
	if err != nil || len(rows.Awards) != kept {
		r.Verdict.Say(history.Fault, "%d promised draws are kept, and the restored pool has %d awards: %v", kept, len(rows.Awards), err)
	}
	if r.Note("the comparison found %d of %d promised draws lost", len(found), len(promised)); len(found) == 0 || kept == 0 {
		r.Verdict.Say(history.Fault, "%d are lost and %d kept, which shows nothing", len(found), kept)
	}
}

// sortOut counts the promised draws that the backup kept. It returns the kept draws
// that should have been lost, and the lost draws that should have been kept.
func sortOut(promised map[string]history.Op, lost []string, before, after time.Duration) (kept int, wrong []string) {
	for _, key := range lost {
		switch o, ok := promised[key]; {
		case !ok:
			wrong = append(wrong, "promised to nobody, and found to be lost: "+key)
		case o.Return < before:
			wrong = append(wrong, "won before the backup, and lost: "+o.String())
		}
	}
	for key, o := range promised {
		if slices.Contains(lost, key) {
			continue
		}
		if kept++; o.Call > after {
			wrong = append(wrong, "won after the backup, and not found to be lost: "+o.String())
		}
	}
	return kept, wrong
}

func (r *restore) open() error {
	if r.Kind != "sqlite" { // on SQLite, the instance holds the file
		return r.do("open")
	}
	text, err := os.ReadFile(filepath.Join(r.work, "open-pools.txt"))
	r.Must(err)
	for _, pool := range strings.Fields(string(text)) {
		if err := r.setState(pool, "open"); err != nil {
			return fmt.Errorf("open %s: %w", pool, err)
		}
	}
	return nil
}

// backupPage is the page whose commands the shell executes.
const backupPage = "docs/backup.md"

// prelude precedes each block. STATE keeps the variables from one block to the next.
const prelude = `set -eE -o pipefail
if [ -e "$STATE" ]; then . "$STATE"; fi
set -a
trap 'export -p | grep -v "^declare -x STATE=" >"$STATE"' EXIT
drawsvc() { "$PROGRAM" "$@"; }
`

// shell is the environment in which an operator follows the page.
type shell struct {
	work   string
	env    []string
	blocks map[string]string
}

func newShell(t *trial) *shell {
	text, err := os.ReadFile(backupPage)
	t.Must(err)
	program, err := filepath.Abs(filepath.Join(stage.Bin, stage.Released))
	t.Must(err)
	s := &shell{work: t.Site.TempDir()}
	s.blocks, err = page.Blocks(string(text))
	t.Must(err)
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "HOME=" + s.work, "STATE=" + filepath.Join(s.work, "state"), "PROGRAM=" + program,
		"DRAWSVC_DATABASE=" + t.URL, "BACKUPS=" + t.Site.TempDir(), "ADMIN_TOKEN=" + harness.AdminToken, "SERVICE=" + t.Instances[0].URL(),
	}
	if t.Server == nil {
		return s
	}
	restored, err := url.Parse(t.URL)
	t.Must(err)
	restored.Path += "_restored"
	at, err := url.Parse(t.Server.URL())
	t.Must(err)
	if t.Kind == "mysql" { // on MySQL, the service's account has rights only on its own database
		restored.User = at.User
	}
	s.env = append(s.env, "RESTORED="+restored.String())
	t.Must(s.asOwner(t.Kind, at))
	return s
}

// asOwner configures the database's own programs to find the server, with the account
// that owns the database.
func (s *shell) asOwner(kind string, at *url.URL) error {
	password, _ := at.User.Password()
	if kind == "postgres" {
		s.env = append(s.env, "PGHOST="+at.Hostname(), "PGPORT="+at.Port(), "PGUSER="+at.User.Username(), "PGPASSWORD="+password, "PGDATABASE="+pageDatabase)
		return nil
	}
	account := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", at.Hostname(), at.Port(), at.User.Username(), password)
	return os.WriteFile(filepath.Join(s.work, ".my.cnf"), []byte(account), 0o600)
}

// do executes blocks of the page unchanged.
func (r *restore) do(names ...string) error {
	for _, name := range names {
		block, ok := r.blocks[name]
		if !ok {
			return fmt.Errorf("%s has no block %s", backupPage, name)
		}
		if err := r.execute(block); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (r *restore) execute(commands string) error {
	cmd := exec.CommandContext(r.Ctx, "bash", "-c", prelude+commands)
	cmd.Dir, cmd.Env = r.work, r.shell.env
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(output)))
	}
	return nil
}
