package experiments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
)

// standbyFaults are the faults of a primary that is lost, whose standby is promoted by
// hand. They show what happens to changes that had not reached the standby.
func standbyFaults() []Experiment {
	sync, async := newPair(true), newPair(false)
	places := []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}}
	return []Experiment{
		{Name: "synchronous standby silent, then primary lost", Number: 9, places: places, base: sync.Base, run: sync.lost},
		cancelledWaits(),
		{Name: "asynchronous standby behind, then primary lost", Number: 9, places: places, base: async.Base, run: async.lost, loses: true},
	}
}

// cancelledWaits cancels every wait for a standby. Draws and moves of stock that only the
// primary has must be answered as unknown.
func cancelledWaits() Experiment {
	p := newPair(true)
	return Experiment{
		Name: "waits for a silent synchronous standby broken off, then primary lost", Number: 9,
		places: []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}},
		base:   p.Base, run: p.cancelled,
	}
}

type pair struct{ *stage.Pair }

func newPair(synchronous bool) *pair { return &pair{&stage.Pair{Synchronous: synchronous}} }

const (
	// behind is how long the standby receives nothing: longer than the service's
	// timeout of a statement.
	behind = 7 * time.Second
	// cancelling is how long waits for the standby are cancelled.
	cancelling = 4 * time.Second
	lostNode   = stage.LostNode
	heirNode   = stage.HeirNode
	promote    = stage.Promote
)

// lost cuts the standby off, lets callers retry unanswered requests, and removes the
// primary permanently.
func (p *pair) lost(t *trial) error {
	p.Link.Hold()
	for until := time.Now().Add(behind); time.Now().Before(until); t.Sleep(50, 150) {
		doubts := t.History.Doubtful(t.History.Now())
		t.AskAgain(doubts[:min(len(doubts), 16)], 0)
	}
	return p.handOver(t)
}

// cancelled is like lost, while an operator cancels every wait for the standby: each
// commit is then visible, and no standby has it.
func (p *pair) cancelled(t *trial) error {
	p.Link.Hold()
	until := time.Now().Add(cancelling)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for ; time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
			doubts := t.History.Doubtful(t.History.Now())
			t.AskAgain(doubts[:min(len(doubts), 16)], 0)
		}
	}()
	cancelled := int64(0)
	var err error
	for ; time.Now().Before(until) && err == nil; t.Sleep(10, 30) {
		var n int64
		n, err = stage.CountOn(t.Ctx, t.Nodes[lostNode], `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
		cancelled += n
	}
	<-asked
	t.Must(err)
	if t.Note("%d waits for the standby were broken off", cancelled); cancelled == 0 {
		return errors.New("nobody waited for the standby")
	}
	return p.handOver(t)
}

func (p *pair) handOver(t *trial) error {
	t.Must(p.HandOver(t.Base))
	return t.awaitWritable(t.Nodes, false)
}

// laggingFaults are the faults of an instance that is connected to a lagging read-only
// server. That server may lack rows that another server has.
func laggingFaults() []Experiment {
	replica := &replicated{}
	return []Experiment{
		standbyBehind(),
		{Name: "an instance led to a read-only replica that is behind, then promoted", Number: 17, places: at(behindInstances, "mysql"), base: replica.base, run: replica.behind},
	}
}

func standbyBehind() Experiment {
	standby := newPair(true)
	return Experiment{
		Name: "an instance led to a standby that is behind, then promoted", Number: 17,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", behindInstances}, {"postgres", lockmode.Optimistic, "", behindInstances},
			{"postgres", lockmode.External, "table", behindInstances},
		},
		base: standby.misled, run: standby.behind,
	}
}

// Of three instances, the last is connected to the lagging server.
const (
	behindInstances = 3
	misled          = behindInstances - 1
)

// misled returns the pair with one instance that is connected only to the standby.
func (p *pair) misled(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	b := p.Base(g, s, kind)
	migrateUp(s, b.URL)
	b.URLs = []string{b.URLs[0], b.URLs[1], strings.Replace(b.URL, p.Primary.Addr(), p.Standby.Addr(), 1)}
	b.AwaitTable(s, "lock_tokens")
	return b
}

func migrateUp(s *harness.Site, url string) {
	_, err := stage.Command(context.Background(), stage.Released, "migrate", "up", "--database", url)
	s.Must(err)
}

// behind pauses the standby, changes pools on the primary, and promotes the standby in
// the end.
func (p *pair) behind(t *trial) error {
	begin := t.History.Now()
	pools := t.beforeBehind()
	t.awaitFollowed()
	heir := t.Nodes[heirNode]
	t.Must(stage.ExecAll(heir, `SELECT pg_wal_replay_pause()`))
	t.askBehind(begin, pools)
	p.Primary.Kill()
	delete(t.Nodes, lostNode)
	if err := stage.ExecAll(heir, promote); err != nil { // promotion ends the pause as well
		return err
	}
	return t.awaitWritable(t.Nodes, false)
}

// behindPools are pools whose latest changes the lagging server does not have.
type behindPools struct {
	sold, paused, absent string
	known                history.Op
}

func (t *trial) beforeBehind() behindPools {
	b := behindPools{sold: t.Pool("sold"), paused: t.Pool("paused"), absent: t.Pool("absent")}
	for _, pool := range []string{b.sold, b.paused} {
		t.Must(t.MakePool(pool, 1))
	}
	b.known = t.asking(b.sold, 1)[0]
	b.known.Instance = 0
	t.Must(t.insist(b.known))
	t.Must(t.setState(b.paused, "paused"))
	return b
}

func (t *trial) setState(pool, state string) error {
	return t.Admin(http.MethodPatch, "/admin/pools/"+pool, map[string]any{"state": state}, http.StatusOK)
}

// askBehind changes the pools, and sends the misled instance requests that depend on
// the changes: from begin on, it must answer every request with 503.
func (t *trial) askBehind(begin time.Duration, b behindPools) {
	move := history.Op{Kind: history.Stock, Pool: b.sold, Key: t.Key(), Prize: stage.PrizeNames()[0], Delta: 10}
	t.Must(t.insist(move))
	t.Must(t.setState(b.paused, "open"))
	t.Must(t.MakePool(b.absent, 10))
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); t.Sleep(10, 30) {
		for _, pool := range []string{b.sold, b.paused, b.absent} {
			o := t.asking(pool, 1)[0]
			o.Client, o.Instance = 9000, misled
			t.Send(t.Ctx, o)
		}
		b.known.Client, b.known.Instance = 9000, misled
		t.Send(t.Ctx, b.known)
		if err := t.knows(misled, b.absent, "nobody"); err == nil || !strings.Contains(err.Error(), fmt.Sprint(http.StatusServiceUnavailable)) {
			t.Verdict.Say(history.Fault, "asked for a draw, the instance that is misled says: %v", err)
		}
	}
	refused, now := 0, t.History.Now()
	for _, o := range t.History.Ops() {
		if o.Instance != misled || o.Call < begin || o.Return > now {
			continue
		}
		refused++
		if o.Status != http.StatusServiceUnavailable {
			t.Verdict.Say(history.Fault, "by a server that is behind: %s", &o)
		}
	}
	t.Note("%d requests to the instance that is misled", refused)
}

// replicated is a MariaDB server and a read-only replica of it.
type replicated struct{ primary, replica *servertest.Server }

func (r *replicated) base(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	args := func(id int, more ...string) servertest.Option {
		return servertest.Args(append(append(words.Of(kind).Small, "--log-bin=changes", fmt.Sprintf("--server-id=%d", id), "--binlog-format=ROW"), more...)...)
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
	s.Must(stage.ExecAll(s.Opened(words.OpenMySQL(r.replica.URL(), "")), fmt.Sprintf(`CHANGE MASTER TO MASTER_HOST = '%s', MASTER_PORT = %s, MASTER_USER = '%s', MASTER_PASSWORD = '%s', `+
		`MASTER_USE_GTID = slave_pos`, host, port, from.User.Username(), password), `START SLAVE`))
	replica := s.Opened(words.OpenMySQL(r.replica.URL(), strings.TrimPrefix(u.Path, "/")))
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

// behind makes the replica receive changes without applying them, changes pools on the
// primary, and hands over the role of primary in the end.
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

// caughtUp waits until the new primary has applied everything that the old one has
// committed.
func (r *replicated) caughtUp(t *trial, primary, heir *sql.DB) error {
	var position string
	t.Must(primary.QueryRowContext(t.Ctx, `SELECT @@global.gtid_binlog_pos`).Scan(&position))
	n, err := stage.CountOn(t.Ctx, heir, fmt.Sprintf(`SELECT MASTER_GTID_WAIT('%s', 15)`, position))
	if err == nil && n != 0 {
		err = fmt.Errorf("the replica does not come to %s", position)
	}
	return err
}
