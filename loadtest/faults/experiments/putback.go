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

// restoreFaults put a former state of the database in the place of the present
// one, under instances that live on and have in memory what is lost.
func restoreFaults() []Experiment {
	return []Experiment{
		rowsPutBack(),
		{Name: "data folder put back under living instances", places: at(2, "postgres", "mysql"), base: ownServer, loses: true, run: folderPutBack},
		fileReplaced(),
		promotedTwice(),
		backupRestored(),
		commitmentRestored(true),
	}
}

func rowsPutBack() Experiment {
	return Experiment{Name: "rows put back by SQL under living instances", places: everywhere(2), loses: true, run: rowsRestored}
}

// poolTables are the tables that hold a pool, those first that others refer to.
func poolTables() []string { return []string{"pools", "prizes", "awards", "moves", "changes"} }

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

// folderPutBack stops the server, keeps a copy of its data, lets it go on, and
// starts it with the copy in the end: a snapshot of the volume is put back.
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

// promotedTwice promotes two standbys of one primary, the second after the
// death of the first, of which it never heard.
func promotedTwice() Experiment {
	f := &fork{}
	places := []place{{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3}, {"postgres", lockmode.External, "table", 3}}
	return Experiment{Name: "two standbys promoted to the same timeline", Number: 9, places: places, base: f.base, loses: true, run: f.promoted}
}

// fork is a primary and two standbys of it that do not know of each other.
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

// awaitFollowed waits until every node has what was written so far.
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

// goneFor is how long an instance lives on without the files that it opened.
const goneFor = 2 * time.Second

func fileReplaced() Experiment {
	return Experiment{Name: "data folder put back under living instances", places: at(1, "sqlite"), loses: true, run: filesPutBack}
}

// filesPutBack keeps a copy of an embedded database as a snapshot of the volume
// has it, lets the instance go on, and puts the copy in the place of the files.
// The instance must not acknowledge anything then, until it is started again.
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
	for _, suffix := range []string{"-shm", "-wal", ""} { // the file itself comes last
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

// wantAway wants all that was asked and answered within a time to be answered that
// the database is away.
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

// parted are pools of which the first instance knows a state that is lost, at a
// version to which another history comes as well. To draw from what it knows
// would be to draw from other units than there are.
type parted struct {
	t     *trial
	pools []string
}

const (
	partedPools = 8
	// partedBefore draws of each pool are made before the histories part,
	// partedLost versions in the one that is lost, and partedAfter draws in the
	// one that stays.
	partedBefore = 10
	partedLost   = 20
	partedAfter  = 40
	// withdrawn are most units of the first prize: the history that is lost has
	// other odds than the one that stays.
	withdrawn = 370
)

// part makes the pools, and lets the first instance draw from them.
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

// goOn makes the history that stays: another instance draws to the version that
// the first one knows, or to some versions before it; then the first one draws.
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

// insist asks with the same key until it is answered 200.
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

// judgeOdds holds the first awards of pools that are stocked alike against the
// law of a draw. How many are counted must not depend on what was won.
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
