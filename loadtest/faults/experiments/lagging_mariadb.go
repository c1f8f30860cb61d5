package experiments

import (
	"database/sql"
	"fmt"
	"net/url"
	"strings"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// replicated is a MariaDB server and a read-only replica of it.
type replicated struct{ primary, replica *servertest.Server }

// base makes the cell's database on a server that writes a log for its replica.
func (r *replicated) base(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	args := func(id int, more ...string) servertest.Option {
		return servertest.Args(append(append(stage.ServerArgs(kind), "--log-bin=changes", fmt.Sprintf("--server-id=%d", id), "--binlog-format=ROW"), more...)...)
	}
	r.primary = servertest.Start(s, kind, args(1))
	r.replica = servertest.Start(s, kind, args(2, "--read-only=ON"))
	b := g.Database(s, kind, r.primary)
	migrateUp(s, b.URL)
	u, err := url.Parse(b.URL)
	s.Must(err)
	host, port, _ := strings.Cut(r.primary.Addr(), ":")
	from, err := url.Parse(r.primary.URL())
	s.Must(err)
	password, _ := from.User.Password()
	s.Must(stage.ExecAll(s.Opened(harness.OpenMySQL(r.replica.URL(), "")), fmt.Sprintf(`CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = '%s', MASTER_PASSWORD = '%s', `+
		`MASTER_USE_GTID = slave_pos`, host, port, from.User.Username(), password), `START SLAVE`))
	replica := s.Opened(harness.OpenMySQL(r.replica.URL(), strings.TrimPrefix(u.Path, "/")))
	b.Nodes = map[string]*sql.DB{lostNode: b.Admin, heirNode: replica}
	b.AwaitTable(s, "lock_tokens")
	at := func(hosts ...string) string {
		return strings.Replace(b.URL, r.primary.Addr(), strings.Join(hosts, ","), 1)
	}
	primary, second := r.primary.Addr(), r.replica.Addr()
	b.URLs = []string{at(primary, second), at(second, primary), at(second)}
	b.Server = nil
	return b
}

// behind lets the replica take in changes without applying them, changes pools
// on the primary, and hands the primary's place over in the end.
func (r *replicated) behind(t *trial) error {
	begin := t.History.Now()
	pools := t.beforeBehind()
	primary, heir := t.Nodes[lostNode], t.Nodes[heirNode]
	t.Must(r.caughtUp(t, primary, heir))
	t.Must(stage.ExecAll(heir, `STOP SLAVE SQL_THREAD`))
	t.askBehind(begin, pools)
	t.Must(stage.ExecAll(primary, `SET GLOBAL read_only = ON`))
	t.Must(stage.ExecAll(heir, `START SLAVE SQL_THREAD`))
	t.Must(r.caughtUp(t, primary, heir))
	r.primary.Kill()
	delete(t.Nodes, lostNode)
	t.Base.Admin = heir
	t.Must(stage.ExecAll(heir, `STOP SLAVE`, `RESET SLAVE ALL`, `CREATE TABLE probes (at timestamp)`, `SET GLOBAL read_only = OFF`))
	return t.awaitWritable(t.Nodes, false)
}

// caughtUp waits until the heir has applied what the primary has committed.
func (r *replicated) caughtUp(t *trial, primary, heir *sql.DB) error {
	var position string
	if err := primary.QueryRowContext(t.Ctx, `SELECT @@global.gtid_binlog_pos`).Scan(&position); err != nil {
		return err
	}
	n, err := stage.CountOn(t.Ctx, heir, fmt.Sprintf(`SELECT MASTER_GTID_WAIT('%s', 15)`, position))
	if err == nil && n != 0 {
		err = fmt.Errorf("the replica does not come to %s", position)
	}
	return err
}
