package experiments

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"drawsvc/internal/draw/drawtest"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
)

// restoreFaults replace the database by an earlier state of it, under running instances
// that have the lost state in memory.
func restoreFaults() []Experiment {
	return []Experiment{
		rowsPutBack(),
		{Name: "data folder put back while instances run", places: at(2, "postgres", "mysql"), base: ownServer, loses: true, run: folderPutBack},
		fileReplaced(),
		promotedTwice(),
		backupRestored(),
		commitmentRestored(true),
	}
}

func rowsPutBack() Experiment {
	return Experiment{Name: "rows put back by SQL while instances run", places: everywhere(2), loses: true, run: rowsRestored}
}

// poolTables returns the tables of a pool; a table comes before those that refer to it.
func poolTables() []string {
	return []string{"pools", "prizes", "awards", "moves", "changes", "code_heads", "codes", "step_heads", "steps"}
}

func rowsRestored(t *trial) error {
	p := t.part()
	conn, leave := t.otherSession()
	defer leave()
	t.keepRows(conn, p.pools)
	t.Must(p.lose())
	t.Must(t.putRowsBack(conn, p.pools))
	t.Ended = time.Now()
	t.Must(p.goOn())
	return p.judge()
}

func (t *trial) keepRows(conn *sql.Conn, pools []string) {
	for _, table := range poolTables() {
		t.Must(t.say(conn, fmt.Sprintf(`CREATE TABLE kept_%s AS SELECT * FROM %s WHERE %s`, table, table, among(table, pools))))
	}
}

func (t *trial) putRowsBack(conn *sql.Conn, pools []string) error {
	statements := []string{"BEGIN"}
	tables := poolTables()
	for n := range tables {
		table := tables[len(tables)-1-n]
		statements = append(statements, fmt.Sprintf(`DELETE FROM %s WHERE %s`, table, among(table, pools)))
	}
	for _, table := range tables {
		statements = append(statements, fmt.Sprintf(`INSERT INTO %s SELECT * FROM kept_%s`, table, table))
	}
	return t.say(conn, append(statements, "COMMIT")...)
}

func among(table string, pools []string) string {
	column := "pool_id"
	if table == "pools" {
		column = "id"
	}
	return column + ` IN ('` + strings.Join(pools, `', '`) + `')`
}

func ownServer(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	return g.Database(s, kind, servertest.Start(s, kind, servertest.Args(words.Of(kind).Small...)))
}

// folderPutBack stops the server, keeps a copy of its data, and starts it again. In the
// end it starts the server with the copy, as if a snapshot of the volume had been
// restored.
func folderPutBack(t *trial) error {
	p := t.part()
	data, kept := filepath.Join(t.Server.Dir(), "data"), filepath.Join(t.Server.Dir(), "kept")
	t.Server.Stop()
	if output, err := exec.Command("cp", "-a", data, kept).CombinedOutput(); err != nil {
		return fmt.Errorf("copy the data: %w\n%s", err, output)
	}
	t.Must(t.Server.Start())
	t.Must(p.lose())
	t.Server.Stop()
	t.Must(os.RemoveAll(data))
	t.Must(os.Rename(kept, data))
	t.Must(t.Server.Start())
	t.Ended = time.Now()
	t.Must(p.goOn())
	return p.judge()
}

// promotedTwice promotes two standbys of one primary. The second is promoted after the
// death of the first, with which it had no contact.
func promotedTwice() Experiment {
	f := &fork{}
	places := []place{{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3}, {"postgres", lockmode.External, "table", 3}}
	return Experiment{Name: "two standbys promoted to the same timeline", Number: 9, places: places, base: f.base, loses: true, run: f.promoted}
}

// fork is a primary and two of its standbys that do not know each other.
type fork struct{ nodes []*servertest.Server }

func (f *fork) base(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	primary := servertest.Start(s, kind, servertest.Args(words.Of(kind).Small...))
	f.nodes = []*servertest.Server{primary}
	for n := range 2 {
		name := fmt.Sprint("standby", n+1)
		f.nodes = append(f.nodes, servertest.StartStandby(s, primary, primary.Addr(), name, servertest.Args(words.Of(kind).Small...)))
	}
	return g.OnHosts(s, kind, primary, f.nodes)
}

func (f *fork) promoted(t *trial) error {
	p := t.part()
	t.awaitFollowed()
	var timelines []string
	for n, then := range []func() error{p.lose, p.goOn} {
		f.nodes[n].Kill()
		delete(t.Nodes, fmt.Sprint("node ", n+1))
		heir := t.Nodes[fmt.Sprint("node ", n+2)]
		t.Must(stage.ExecAll(heir, promote))
		t.Must(t.awaitWritable(map[string]*sql.DB{"the heir": heir}, false))
		var timeline string
		t.Must(heir.QueryRowContext(t.Ctx, `SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)`).Scan(&timeline))
		timelines = append(timelines, timeline)
		t.Must(then())
	}
	if t.Note("timelines %v", timelines); timelines[0] != timelines[1] {
		return fmt.Errorf("the timelines are %v, and have to be the same", timelines)
	}
	return p.judge()
}

// awaitFollowed waits until every node has everything that was written so far.
func (t *trial) awaitFollowed() {
	t.Must(stage.ExecAll(t.Base.Admin, `INSERT INTO probes VALUES (now())`))
	const probes = `SELECT count(*) FROM probes`
	want, err := t.Count(t.Ctx, probes)
	t.Must(err)
	for name, db := range t.Nodes {
		t.Must(stage.Within(t.Ctx, stage.TakeoverMax, func() error {
			n, err := stage.CountOn(t.Ctx, db, probes)
			if err == nil && n < want {
				err = fmt.Errorf("%d of %d probes", n, want)
			}
			if err != nil {
				err = fmt.Errorf("%s does not follow: %w", name, err)
			}
			return err
		}))
	}
}

// goneFor is how long an instance runs without the files that it opened.
const goneFor = 2 * time.Second

func fileReplaced() Experiment {
	return Experiment{Name: "data folder put back while instances run", places: at(1, "sqlite"), loses: true, run: filesPutBack}
}

// filesPutBack copies the files of an embedded database like a snapshot of the volume,
// waits while the instance continues, and replaces the files by the copy. From then on
// the instance must not acknowledge anything, until it is started again.
func filesPutBack(t *trial) error {
	p := t.part()
	i, kept := t.Instances[0], filepath.Join(filepath.Dir(t.File), "kept")
	t.Must(os.Mkdir(kept, 0o700))
	i.Signal(syscall.SIGSTOP) // a snapshot has all files of one moment
	err := moveFiles(t.File, kept, copyFile)
	i.Signal(syscall.SIGCONT)
	t.Must(err)
	t.Must(p.lose())
	t.Must(moveFiles(filepath.Join(kept, filepath.Base(t.File)), filepath.Dir(t.File), os.Rename))
	from := t.History.Now()
	time.Sleep(goneFor)
	t.wantAway(from, t.History.Now())
	i.Kill()
	t.Must(t.reopen())
	t.Ended = time.Now()
	t.Must(i.Again(t.Ctx))
	t.Must(p.goOn())
	return errors.Join(p.judge(), t.integrity())
}

func moveFiles(database, folder string, move func(from, to string) error) error {
	for _, suffix := range []string{"-shm", "-wal", ""} { // the database file itself comes last
		from := database + suffix
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := move(from, filepath.Join(folder, filepath.Base(from))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o600)
}

// wantAway demands that all requests within a time are answered that the database is
// unavailable.
func (t *trial) wantAway(from, to time.Duration) {
	away := 0
	for _, o := range t.History.Ops() {
		if o.Call < from || o.Return > to {
			continue
		}
		away++
		if o.Status != http.StatusServiceUnavailable {
			t.Verdict.Say(history.Fault, "from a database that is away: %s", &o)
		}
	}
	if t.Note("%d requests to an instance whose files were replaced", away); away == 0 {
		t.Verdict.Say(history.Fault, "nobody asked the instance whose files were replaced")
	}
}

func (t *trial) reopen() error {
	err := t.Base.Admin.Close()
	t.Must(err)
	t.Base.Admin, err = t.OpenFile()
	return err
}

// parted are pools of which the first instance has a lost state in memory. The history
// that remains also has the version of that state, with other remaining units. So a draw
// from the lost state would issue wrong units.
type parted struct {
	t     *trial
	pools []string
}

const (
	partedPools = 8
	// partedBefore is the number of draws of each pool before the histories part,
	// partedLost the number of versions in the lost history, partedAfter the number of
	// draws in the history that stays.
	partedBefore = 10
	partedLost   = 20
	partedAfter  = 40
	// withdrawn is most of the units of the first prize, so that the odds of the lost
	// history differ from those of the history that stays.
	withdrawn = 370
)

// part creates the pools, and draws from them on the first instance.
func (t *trial) part() *parted {
	p := &parted{t: t}
	for n := range partedPools {
		name := t.Pool(fmt.Sprint("parted-", n))
		t.Must(t.MakePool(name, 400, 400))
		p.pools = append(p.pools, name)
	}
	t.Must(p.each(func(_ int, pool string) error { return p.draws(pool, 0, partedBefore) }))
	return p
}

func (p *parted) lose() error {
	return p.each(func(_ int, pool string) error {
		move := history.Op{Kind: history.Stock, Pool: pool, Key: p.t.Key(), Prize: stage.PrizeNames()[0], Delta: -withdrawn, Client: 8000}
		if err := p.t.insist(move); err != nil {
			return err
		}
		return p.draws(pool, 0, partedLost-1)
	})
}

// goOn makes the history that remains. A second instance draws up to the version of the
// first instance's copy, or some versions fewer; then the first instance draws.
func (p *parted) goOn() error {
	other := 1 % len(p.t.Instances)
	return p.each(func(n int, pool string) error {
		first := partedLost - n%4
		for _, part := range []struct{ instance, draws int }{{other, first}, {0, partedLost}, {other, partedAfter - partedLost - first}} {
			if err := p.draws(pool, part.instance, part.draws); err != nil {
				return err
			}
		}
		return nil
	})
}

func (p *parted) judge() error { return p.t.judgeOdds(p.pools, partedBefore+partedAfter) }

// each runs fn for all pools at once.
func (p *parted) each(fn func(n int, pool string) error) error {
	var failed atomic.Pointer[error]
	client.Parallel(len(p.pools), func(n int) {
		if err := fn(n, p.pools[n]); err != nil {
			failed.Store(&err)
		}
	})
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *parted) draws(pool string, instance, n int) error {
	for _, o := range p.t.asking(pool, max(n, 0)) {
		o.Client, o.Instance = 8000, instance
		if err := p.t.insist(o); err != nil {
			return err
		}
	}
	return nil
}

const insistMax = 20 * time.Second

// insist retries with the same key until the answer is 200.
func (t *trial) insist(o history.Op) error {
	for until := time.Now().Add(insistMax); ; time.Sleep(50 * time.Millisecond) {
		answered := t.Send(t.Ctx, o)
		if answered.Won() {
			return nil
		}
		if answered.Refused() || time.Now().After(until) {
			return fmt.Errorf("it does not win: %s", &answered)
		}
	}
}

// judgeOdds compares the first awards of equally stocked pools with the law of a draw.
// The number of counted awards must not depend on the won prizes.
func (t *trial) judgeOdds(pools []string, first int) error {
	var samples []drawtest.Sample
	for _, pool := range pools {
		s, err := t.sample(pool, first)
		t.Must(err)
		samples = append(samples, s)
	}
	if err := drawtest.Judge(samples...); err != nil {
		t.Verdict.Say(history.Odds, "%v", err)
	}
	t.Note("odds: %s", sumOf(samples))
	return nil
}

// sample counts the prizes of a pool's first awards.
func (t *trial) sample(pool string, first int) (s drawtest.Sample, err error) {
	rows, err := t.Rows(pool)
	if err != nil {
		return s, err
	}
	if len(rows.Awards) < first {
		return s, fmt.Errorf("pool %s has %d awards of %d that are to be judged", pool, len(rows.Awards), first)
	}
	wins := map[string]int64{}
	for _, a := range rows.Awards[:first] {
		wins[a.Prize]++
	}
	for _, p := range t.Made[pool] {
		s.Stock, s.Wins = append(s.Stock, p.Stock), append(s.Wins, wins[p.ID])
	}
	return s, nil
}

func sumOf(samples []drawtest.Sample) string {
	wins := make([]int64, len(samples[0].Wins))
	for _, s := range samples {
		for i, n := range s.Wins {
			wins[i] += n
		}
	}
	return fmt.Sprintf("won %v of pools that hold %v each", wins, samples[0].Stock)
}
