package experiments

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

// galeraFaults are the faults of MariaDB with Galera: three nodes, and three instances
// that each begin with a different node.
func galeraFaults() []Experiment {
	list := append(edges(), []Experiment{
		{Name: "three nodes written at once", places: append(at(stage.GaleraNodes, "mysql"), nodeLocks()...), run: written},
		{Name: "one node written by all", base: stage.OneWriter, run: written},
		{Name: "node killed", run: nodeKilled},
		{Name: "node cut off", run: nodeCutOff},
		{Name: "read from another node at once", own: true, run: askedElsewhere},
		{Name: "pool paused and opened under load", run: poolPaused},
		{Name: "cluster created again from a lagging node", base: stage.OwnCluster, loses: true, run: fromBehind},
	}...)
	for i := range list {
		e := &list[i]
		if e.base == nil {
			e.base = stage.EveryWriter
		}
		if e.places == nil || e.Number != 0 { // faults with a number, and those without places, are run on databases of one node
			e.places = at(stage.GaleraNodes, "mysql")
		}
		e.Name, e.Number, e.soaks = "Galera: "+e.Name, 0, false // the soak has the databases of one node
	}
	return list
}

// nodeLocks returns locks that exclude only callers on the same node. Between callers
// on different nodes, the write must decide.
func nodeLocks() []place {
	var all []place
	for _, lock := range []string{"row", "session"} {
		all = append(all, place{"mysql", lockmode.External, lock, stage.GaleraNodes})
	}
	return all
}

// node opens a node as an operator does: its queries do not wait for the other nodes.
func (t *trial) node(n int) *sql.DB { return t.Opened(words.OpenMySQL(t.Cluster[n].URL(), "")) }

// written adds no fault to the load: writes on several nodes conflict by themselves. It
// counts the conflicts.
func written(t *trial) error {
	began, before := time.Now(), t.conflicts()
	drawn := t.History.Len()
	time.Sleep(5 * time.Second)
	seconds := time.Since(began).Seconds()
	t.Note("%.0f requests/s, %.0f conflicts/s between nodes", float64(t.History.Len()-drawn)/seconds, (t.conflicts()-before)/seconds)
	return nil
}

// conflicts counts the attempts that were repeated because of another node.
func (t *trial) conflicts() (sum float64) {
	for _, i := range t.Instances {
		for name, value := range t.Metrics(i) {
			if strings.HasPrefix(name, "drawsvc_retries_total{") && strings.Contains(name, `reason="deadlock"`) {
				sum += value
			}
		}
	}
	return sum
}

// nodeKilled kills a node. All instances must draw within the usual time while it is
// down, and after it has joined again.
func nodeKilled(t *trial) error {
	n := t.Rand.IntN(stage.GaleraNodes)
	other := t.node((n + 1) % stage.GaleraNodes)
	killed := time.Now()
	t.Cluster[n].Kill()
	t.awaitStatus(other, "wsrep_cluster_size", "2")
	t.Note("Galera knew after %.1f s", time.Since(killed).Seconds())
	t.Recover(time.Now())
	t.Note("without the node after %.0f ms more", report.Milliseconds(slices.Max(t.Recoveries)))
	t.Sleep(1000, 2000)
	began := time.Now()
	t.Must(t.Cluster[n].Start())
	t.Note("joined again after %.1f s", time.Since(began).Seconds())
	t.Sleep(500, 1000)
	t.Ended = time.Now()
	return nil
}

// nodeCutOff isolates a node from the others. Until they notice, no commit can end;
// from then on the instances must draw.
func nodeCutOff(t *trial) error {
	n := t.Rand.IntN(stage.GaleraNodes)
	node := t.node(n)
	began := time.Now()
	t.Must(stage.ExecAll(node, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'`))
	t.awaitStatus(node, "wsrep_ready", "OFF")
	other := t.node((n + 1) % stage.GaleraNodes)
	t.awaitStatus(other, "wsrep_cluster_status", "Primary")
	t.Note("Galera knew after %.1f s", time.Since(began).Seconds())
	t.Recover(time.Now())
	t.Note("without the node after %.0f ms more", report.Milliseconds(slices.Max(t.Recoveries)))
	t.Sleep(1000, 2000)
	began = time.Now()
	t.Must(stage.ExecAll(node, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'`))
	t.awaitStatus(node, "wsrep_ready", "ON")
	t.Note("joined again after %.1f s", time.Since(began).Seconds())
	return nil
}

// awaitStatus waits until a node reports the wanted status.
func (t *trial) awaitStatus(node *sql.DB, name, want string) {
	t.Must(stage.Within(t.Ctx, 30*time.Second, func() error {
		var value string
		err := node.QueryRowContext(t.Ctx, `SHOW GLOBAL STATUS LIKE '`+name+`'`).Scan(new(string), &value)
		if err == nil && value != want {
			err = fmt.Errorf("the node's %s is %s", name, value)
		}
		return err
	}))
}

// askedElsewhere repeats on every other instance a request that one instance has just
// answered: each of them must replay the draw.
func askedElsewhere(t *trial) error {
	pool, name := t.Pool(client.MainPool), t.Pool("scarce")
	t.Must(t.MakePool(name, 1))
	asked, answers := 0, map[string]int{}
	for until := time.Now().Add(6 * time.Second); time.Now().Before(until); asked++ {
		first := t.Any().Number
		for _, draw := range t.asking(pool, 1) {
			draw.Instance = first
			if o := t.Send(t.Ctx, draw); !o.Won() {
				continue // writes on several nodes conflict, so a draw may fail
			}
			for n := range t.Instances {
				draw.Instance = n
				o := t.Send(t.Ctx, draw)
				answers[o.Answer()]++
				if !o.Won() || !o.Replayed {
					t.Verdict.Say(history.Fault, "asked elsewhere: %s", &o)
				}
				if err := t.knows(n, pool, draw.Key); err != nil {
					t.Verdict.Say(history.Fault, "%v", err)
				}
			}
		}
		t.restockedElsewhere(name, first)
	}
	t.Note("%d draws asked for on each node, %v", asked, answers)
	return nil
}

func (t *trial) knows(n int, pool, draw string) error {
	_, err := harness.Fetch(t.Ctx, t.Instances[n].URL()+"/pools/"+pool+"/draws/"+draw)
	return err
}

// restockedElsewhere sells a pool out on one instance, stocks it there, and draws on
// another, which must not answer that it is sold out.
func (t *trial) restockedElsewhere(pool string, first int) {
	move := history.Op{Kind: history.Stock, Pool: pool, Key: t.Key(), Prize: stage.PrizeNames()[0], Delta: 1, Instance: first}
	if o := t.Send(t.Ctx, move); !o.Won() {
		return
	}
	for n := 1; n < len(t.Instances); n++ {
		for _, draw := range t.asking(pool, 1) {
			draw.Instance = (first + n) % len(t.Instances)
			o := t.Send(t.Ctx, draw)
			if n == 1 && o.Answer() == "sold-out" {
				t.Verdict.Say(history.Fault, "stocked elsewhere before: %s", &o)
			}
		}
	}
}

// fromBehind bootstraps the cluster from a node that had left before the other nodes
// continued, as an operator may do by mistake. The other nodes then copy its outdated
// state.
func fromBehind(t *trial) error {
	p := t.part()
	behind, others := t.Cluster[stage.GaleraNodes-1], t.Cluster[:stage.GaleraNodes-1]
	behind.Stop()
	t.Must(p.lose())
	for _, node := range others {
		node.Kill()
	}
	t.Must(forceBootstrap(behind.Dir()))
	began := time.Now()
	t.Must(behind.Start())
	t.Note("the node that was behind serves after %.1f s", time.Since(began).Seconds())
	t.Ended = time.Now()
	t.Must(p.goOn())
	t.Recover(t.Ended)
	for _, node := range others {
		// A node cannot join if it has state that the others lack.
		t.Must(os.Remove(filepath.Join(node.Dir(), "data", "grastate.dat")))
		t.Must(node.Start())
	}
	t.Note("the others had its state after %.1f s", time.Since(began).Seconds())
	t.Ended = time.Now()
	return p.judge()
}

// forceBootstrap allows a node to begin a cluster although it was not the last one to
// leave.
func forceBootstrap(folder string) error {
	file := filepath.Join(folder, "data", "grastate.dat")
	state, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.Replace(string(state), "safe_to_bootstrap: 0", "safe_to_bootstrap: 1", 1)), 0o600)
}
