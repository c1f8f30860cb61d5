package main

import (
	"slices"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/site"
)

// standbyFaults are those of a primary whose standby is promoted by hand when
// it is lost. What had not reached the standby is the question.
func standbyFaults() []experiment {
	sync, async := &pair{synchronous: true}, &pair{}
	places := []place{{"postgres", "for-update", "", 2}, {"postgres", "optimistic", "", 2}, {"postgres", "external", "table", 3}}
	return []experiment{
		{name: "synchronous standby silent, then primary lost", number: 9, places: places, base: sync.base, run: sync.lost},
		{name: "asynchronous standby behind, then primary lost", number: 9, places: places, base: async.base, run: async.lost, loses: true},
	}
}

// pair is a primary, its standby, and the way between them.
type pair struct {
	synchronous      bool
	primary, standby *servertest.Server
	link             *servertest.Proxy
}

func (p *pair) base(g *ground, s *site.Site, kind string) *base {
	p.primary = servertest.Start(s, kind, servertest.Args(serverArgs(kind)...))
	p.link = servertest.StartProxy(s, p.primary.Addr())
	p.standby = servertest.StartStandby(s, p.primary, p.link.Addr(), "standby", servertest.Args(serverArgs(kind)...))
	b := g.onHosts(s, kind, p.primary, []*servertest.Server{p.primary, p.standby})
	if p.synchronous {
		if err := execAll(b.admin, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`); err != nil {
			s.Fatal(err)
		}
	}
	return b
}

const (
	// behind is how long the standby hears nothing: longer than the service
	// lets a statement take.
	behind = 7 * time.Second
	// lostNode and heirNode are the primary's and the standby's names.
	lostNode, heirNode = "node 1", "node 2"
	// promote does not wait: as long as it did, what it may see would keep the
	// standby from replaying the rest.
	promote = `SELECT pg_promote(false)`
)

// lost keeps the standby from hearing anything, lets callers ask again for what
// they were not told, and takes the primary away for good.
func (p *pair) lost(t *trial) error {
	p.link.Hold()
	for until := time.Now().Add(behind); time.Now().Before(until); t.sleep(50, 150) {
		doubts := t.history.Doubtful(t.history.Now())
		t.askAgain(doubts[:min(len(doubts), 16)], 0)
	}
	p.primary.Kill()
	p.link.Cut() // what was held is lost with it
	heir := t.nodes[heirNode]
	delete(t.nodes, lostNode)
	if err := execAll(heir, promote); err != nil {
		return err
	}
	return t.awaitWritable(t.nodes, false)
}

// lossRules are broken where acknowledged changes are lost: the answer has no
// row, asking again gives another or is refused, and no order of events explains
// both.
func lossRules() []string {
	return []string{history.AcknowledgedLost, history.AnswersDiffer, history.KnownRefused, history.NotLinear}
}

// lose takes what an experiment has to lose off its verdict. One that loses
// nothing has shown nothing.
func (t *trial) lose() {
	if !t.loses {
		return
	}
	won := map[string]bool{}
	for _, o := range t.history.Ops() {
		if o.Won() && o.Call < t.settled {
			won[o.Pool+" "+o.Key] = true
		}
	}
	lost := t.verdict.Count(history.AcknowledgedLost)
	t.note("%d of %d acknowledged draws and stock moves are lost", lost, len(won))
	t.verdict.Violations = slices.DeleteFunc(t.verdict.Violations, func(v history.Violation) bool {
		return slices.Contains(lossRules(), v.Rule)
	})
	if lost == 0 {
		t.verdict.Say(ruleFault, "nothing was lost, so that nothing was shown")
	}
}
