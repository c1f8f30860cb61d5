package experiments

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// laggingFaults are those of an instance whose address leads to a server that
// cannot be written and is behind: what that server lacks may be elsewhere.
func laggingFaults() []Experiment {
	replica := &replicated{}
	return []Experiment{
		standbyBehind(),
		{Name: "an instance led to a read-only replica that is behind, then promoted", Number: 17, places: at(behindInstances, "mysql"), base: replica.base, run: replica.behind},
	}
}

func standbyBehind() Experiment {
	standby := &pair{synchronous: true}
	return Experiment{
		Name: "an instance led to a standby that is behind, then promoted", Number: 17,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", behindInstances}, {"postgres", lockmode.Optimistic, "", behindInstances},
			{"postgres", lockmode.External, "table", behindInstances},
		},
		base: standby.misled, run: standby.behind,
	}
}

// Of three instances, the last is led to the server that is behind.
const (
	behindInstances = 3
	misled          = behindInstances - 1
)

// misled is the pair with one instance that knows the standby alone.
func (p *pair) misled(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	b := p.base(g, s, kind)
	migrateUp(s, b.URL)
	b.URLs = []string{b.URLs[0], b.URLs[1], strings.Replace(b.URL, p.primary.Addr(), p.standby.Addr(), 1)}
	b.AwaitTable(s, "lock_tokens")
	return b
}

// migrateUp makes the tables before any instance starts.
func migrateUp(s *harness.Site, url string) {
	_, err := stage.Command(context.Background(), stage.Released, "migrate", "up", "--database", url)
	s.Must(err)
}

// behind lets the standby stand still, changes pools on the primary, and
// promotes the standby in the end.
func (p *pair) behind(t *trial) error {
	begin := t.History.Now()
	pools := t.beforeBehind()
	t.awaitFollowed()
	heir := t.Nodes[heirNode]
	t.Must(stage.ExecAll(heir, `SELECT pg_wal_replay_pause()`))
	t.askBehind(begin, pools)
	p.primary.Kill()
	delete(t.Nodes, lostNode)
	if err := stage.ExecAll(heir, promote); err != nil { // ends the pause as well
		return err
	}
	return t.awaitWritable(t.Nodes, false)
}

// behindPools are pools that the server which is behind knows otherwise than
// they are.
type behindPools struct {
	sold, paused, absent string
	known                history.Op
}

// beforeBehind makes a pool that is sold out, and one that is paused.
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

// askBehind changes the pools, and asks the instance that is misled for what it
// cannot know: it answers 503, whatever it asks, from begin on.
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
