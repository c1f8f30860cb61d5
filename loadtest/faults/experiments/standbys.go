package experiments

import (
	"errors"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// standbyFaults are those of a primary whose standby is promoted by hand when
// it is lost. What had not reached the standby is the question.
func standbyFaults() []Experiment {
	sync, async := &pair{synchronous: true}, &pair{}
	places := []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}}
	return []Experiment{
		{Name: "synchronous standby silent, then primary lost", Number: 9, places: places, base: sync.base, run: sync.lost},
		cancelledWaits(),
		{Name: "asynchronous standby behind, then primary lost", Number: 9, places: places, base: async.base, run: async.lost, loses: true},
	}
}

// cancelledWaits breaks off every wait for a standby: what the primary alone
// has must be answered as unknown, draws and moves of stock alike.
func cancelledWaits() Experiment {
	p := &pair{synchronous: true}
	return Experiment{
		Name: "waits for a silent synchronous standby broken off, then primary lost", Number: 9,
		places: []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}},
		base:   p.base, run: p.cancelled,
	}
}

// pair is a primary, its standby, and the way between them.
type pair struct {
	synchronous      bool
	primary, standby *servertest.Server
	link             *servertest.Proxy
}

func (p *pair) base(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	p.primary = servertest.Start(s, kind, servertest.Args(stage.ServerArgs(kind)...))
	p.link = servertest.StartProxy(s, p.primary.Addr())
	p.standby = servertest.StartStandby(s, p.primary, p.link.Addr(), "standby", servertest.Args(stage.ServerArgs(kind)...))
	b := g.OnHosts(s, kind, p.primary, []*servertest.Server{p.primary, p.standby})
	if p.synchronous {
		s.Must(stage.ExecAll(b.Admin, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`))
	}
	return b
}

const (
	// behind is how long the standby hears nothing: longer than the service
	// lets a statement take.
	behind = 7 * time.Second
	// cancelling is how long waits for the standby are broken off.
	cancelling = 4 * time.Second
	// lostNode and heirNode are the primary's and the standby's names.
	lostNode, heirNode = "node 1", "node 2"
	// promote does not wait: as long as it did, what it may see would keep the
	// standby from replaying the rest.
	promote = `SELECT pg_promote(false)`
)

// lost keeps the standby from hearing anything, lets callers retry what
// was not answered, and takes the primary away for good.
func (p *pair) lost(t *trial) error {
	p.link.Hold()
	for until := time.Now().Add(behind); time.Now().Before(until); t.Sleep(50, 150) {
		doubts := t.History.Doubtful(t.History.Now())
		t.AskAgain(doubts[:min(len(doubts), 16)], 0)
	}
	return p.handOver(t)
}

// cancelled is lost, while an operator cancels every wait for the standby: each
// commit is then seen by all, and no standby has it.
func (p *pair) cancelled(t *trial) error {
	p.link.Hold()
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

// handOver takes the primary away for good, and promotes the standby.
func (p *pair) handOver(t *trial) error {
	p.primary.Kill()
	p.link.Cut() // what was held is lost with it
	heir := t.Nodes[heirNode]
	delete(t.Nodes, lostNode)
	t.Must(stage.ExecAll(heir, promote))
	return t.awaitWritable(t.Nodes, false)
}
