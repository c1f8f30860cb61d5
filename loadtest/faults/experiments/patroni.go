package experiments

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// patroniFaults are the faults of a PostgreSQL cluster with a synchronous standby, in
// which Patroni selects the primary.
func patroniFaults() []Experiment {
	c := &patroni{}
	places := []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}}
	return []Experiment{
		{Name: "primary killed, synchronous standby (Patroni)", Number: 9, places: places, base: c.base, run: c.killed},
		{Name: "primary hangs and is fenced, synchronous standby (Patroni)", Number: 9, places: places, base: c.base, run: c.hangs},
		{Name: "switchover, synchronous standby (Patroni)", Number: 9, places: places, base: c.base, run: c.switched},
		{
			Name: "job: database failed over to another server in the middle of a run (Patroni)", jobs: jobKinds(), points: true, base: c.base,
			places: jobsOn("postgres", "table", "redis"), run: c.jobFailedOver,
		},
	}
}

// patroni is the cluster of these experiments, which is started once because that takes
// half a minute. Each experiment leaves the cluster complete, with another primary than
// before.
type patroni struct {
	*servertest.Patroni
	whole bool
}

// patroniNodes is the minimum number of nodes with which a cluster that has lost one
// still has a synchronous standby, without which it accepts no write.
const patroniNodes = 3

func (c *patroni) base(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	if c.Patroni == nil || !c.whole {
		c.Patroni = servertest.StartPatroni(&stage.Lasting{Site: s, Whole: g.Whole}, patroniNodes)
	}
	s.Must(c.AwaitWhole(context.Background()))
	c.whole = false // the cluster counts as incomplete until the experiment has ended well
	return g.OnHosts(s, kind, c.Leader(context.Background()), c.Nodes)
}

// awaitWritable waits until one of the nodes accepts and keeps a write: then the fault
// has ended for the service. In a guarded cluster, the write counts only if there is a
// synchronous standby: a node that was just promoted accepts writes before that, and
// then stops again.
func (t *trial) awaitWritable(nodes map[string]*sql.DB, guarded bool) error {
	written := make(chan string, len(nodes))
	ctx, cancel := context.WithTimeout(t.Ctx, stage.TakeoverMax)
	defer cancel()
	for name, db := range nodes {
		go func() {
			for ctx.Err() == nil {
				if t.probe(ctx, db, guarded) == nil {
					written <- name
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
	}
	began := time.Now()
	select {
	case name := <-written:
		t.Ended = time.Now()
		t.Note("%s takes writes after %.1f s", name, time.Since(began).Seconds())
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no node takes writes after %v", stage.TakeoverMax)
	}
}

// probe writes a row. It does not wait long for a commit that waits for a standby.
func (t *trial) probe(ctx context.Context, db *sql.DB, guarded bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if guarded {
		n, err := stage.CountOn(ctx, db, `SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')`)
		if err != nil || n == 0 {
			return errors.Join(err, errors.New("no standby is synchronous"))
		}
	}
	_, err := db.ExecContext(ctx, `INSERT INTO probes VALUES (now())`)
	return err
}

func (c *patroni) others(t *trial, but *servertest.Server) map[string]*sql.DB {
	left := map[string]*sql.DB{}
	for n, node := range c.Nodes {
		if name := fmt.Sprint("node ", n+1); node != but {
			left[name] = t.Nodes[name]
		}
	}
	return left
}

// takenOver waits under load until there is a new primary and the service uses it; then
// it starts the old primary again, which must follow.
func (c *patroni) takenOver(t *trial, old *servertest.Server, back func() error) error {
	t.Must(t.awaitWritable(c.others(t, old), true))
	t.Recover(t.Ended)
	t.Must(back())
	t.Must(c.AwaitWhole(t.Ctx))
	if c.Leader(t.Ctx) == old {
		t.Verdict.Say(history.Fault, "the old primary is primary again")
	}
	c.whole = true
	t.Ended = time.Now() // the instances draw already
	return nil
}

// killed kills PostgreSQL and Patroni on the primary, as if its machine had died.
func (c *patroni) killed(t *trial) error {
	old := c.Leader(t.Ctx)
	old.Kill()
	return c.takenOver(t, old, old.Start)
}

// hangs pauses the primary until it is replaced; its watchdog ends it before it can
// continue. Without a watchdog, Patroni 3.0 could make it primary again, and lose
// changes that the new primary has acknowledged in between.
func (c *patroni) hangs(t *trial) error {
	old := c.Leader(t.Ctx)
	old.Pause()
	return c.takenOver(t, old, func() error {
		old.Kill()
		return old.Start()
	})
}

// switched hands over the role of primary in good order.
func (c *patroni) switched(t *trial) error {
	old := c.Leader(t.Ctx)
	if old == nil {
		return errors.New("the cluster is not whole")
	}
	done := make(chan error, 1)
	go func() { done <- c.handOver(t, old) }()
	return c.takenOver(t, old, func() error { return <-done })
}

// handOver retries until Patroni has handed over the role: Patroni refuses while the new
// primary is not quite up to date.
func (c *patroni) handOver(t *trial, old *servertest.Server) error {
	for until := time.Now().Add(stage.TakeoverMax / 2); ; time.Sleep(200 * time.Millisecond) {
		err := errors.New("no standby is synchronous")
		if heir := c.Sync(t.Ctx); heir != nil {
			err = c.Switchover(t.Ctx, old, heir)
		}
		if err == nil || time.Now().After(until) {
			return err
		}
	}
}
