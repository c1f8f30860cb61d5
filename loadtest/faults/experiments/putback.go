package experiments

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
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

// rowsRestored puts all rows of some pools back, as a restore by SQL does.
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

// keepRows copies all rows of pools.
func (t *trial) keepRows(conn *sql.Conn, pools []string) {
	for _, table := range poolTables() {
		t.Must(t.say(conn, fmt.Sprintf(`CREATE TABLE kept_%s AS SELECT * FROM %s WHERE %s`, table, table, among(table, pools))))
	}
}

// putRowsBack puts what was kept in the place of the pools' rows.
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

// among is the condition of being a row of one of the pools.
func among(table string, pools []string) string {
	column := "pool_id"
	if table == "pools" {
		column = "id"
	}
	return column + ` IN ('` + strings.Join(pools, `', '`) + `')`
}

// ownServer makes the cell's database on a server of its own.
func ownServer(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	return g.Database(s, kind, servertest.Start(s, kind, servertest.Args(stage.ServerArgs(kind)...)))
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
	primary := servertest.Start(s, kind, servertest.Args(stage.ServerArgs(kind)...))
	f.nodes = []*servertest.Server{primary}
	for n := range 2 {
		name := fmt.Sprint("standby", n+1)
		f.nodes = append(f.nodes, servertest.StartStandby(s, primary, primary.Addr(), name, servertest.Args(stage.ServerArgs(kind)...)))
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
