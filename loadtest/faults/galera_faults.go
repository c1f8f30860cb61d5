package main

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

// node is a node as an operator sees it: asked without waiting for the others.
func (t *trial) node(n int) (*sql.DB, error) { return openMySQL(t.cluster[n].URL(), "") }

// written is no fault but that of conflicts, which it counts.
func written(t *trial) error {
	began, before := time.Now(), t.conflicts()
	drawn := t.history.Len()
	time.Sleep(5 * time.Second)
	seconds := time.Since(began).Seconds()
	t.note("%.0f requests/s, %.0f conflicts/s between nodes", float64(t.history.Len()-drawn)/seconds, (t.conflicts()-before)/seconds)
	return nil
}

// conflicts counts the tries that were repeated because of another node.
func (t *trial) conflicts() (sum float64) {
	for _, i := range t.instances {
		for name, value := range t.metrics(i) {
			if strings.HasPrefix(name, "drawsvc_retries_total{") && strings.Contains(name, `reason="deadlock"`) {
				sum += value
			}
		}
	}
	return sum
}

// nodeKilled kills a node. All instances have to draw within the usual time
// while it is away, and after it has joined again.
func nodeKilled(t *trial) error {
	n := t.rng.IntN(galeraNodes)
	other, err := t.node((n + 1) % galeraNodes)
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	killed := time.Now()
	t.cluster[n].Kill()
	if err := t.awaitStatus(other, "wsrep_cluster_size", "2"); err != nil {
		return err
	}
	t.note("Galera knew after %.1f s", time.Since(killed).Seconds())
	t.recover(time.Now())
	t.note("without the node after %.0f ms more", milliseconds(slices.Max(t.recoveries)))
	t.sleep(1000, 2000)
	began := time.Now()
	if err := t.cluster[n].Start(); err != nil {
		return err
	}
	t.note("joined again after %.1f s", time.Since(began).Seconds())
	t.sleep(500, 1000)
	t.ended = time.Now()
	return nil
}

// nodeCutOff isolates a node from the others. Until they know, nobody's commit
// can end; from then on the instances have to draw.
func nodeCutOff(t *trial) error {
	n := t.rng.IntN(galeraNodes)
	node, err := t.node(n)
	if err != nil {
		return err
	}
	defer func() { _ = node.Close() }()
	began := time.Now()
	if err := execAll(node, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'`); err != nil {
		return err
	}
	if err := t.awaitStatus(node, "wsrep_ready", "OFF"); err != nil {
		return err
	}
	other, err := t.node((n + 1) % galeraNodes)
	if err != nil {
		return err
	}
	defer func() { _ = other.Close() }()
	if err := t.awaitStatus(other, "wsrep_cluster_status", "Primary"); err != nil {
		return err
	}
	t.note("Galera knew after %.1f s", time.Since(began).Seconds())
	t.recover(time.Now())
	t.note("without the node after %.0f ms more", milliseconds(slices.Max(t.recoveries)))
	t.sleep(1000, 2000)
	began = time.Now()
	if err := execAll(node, `SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'`); err != nil {
		return err
	}
	if err := t.awaitStatus(node, "wsrep_ready", "ON"); err != nil {
		return err
	}
	t.note("joined again after %.1f s", time.Since(began).Seconds())
	return nil
}

// awaitStatus waits until a node says of itself what is wanted.
func (t *trial) awaitStatus(node *sql.DB, name, want string) error {
	said := within(t.ctx, 30*time.Second, func() string {
		var value string
		err := node.QueryRowContext(t.ctx, `SHOW GLOBAL STATUS LIKE '`+name+`'`).Scan(new(string), &value)
		switch {
		case err != nil:
			return err.Error()
		case value != want:
			return name + " is " + value
		}
		return ""
	})
	if said != "" {
		return fmt.Errorf("the node: %s", said)
	}
	return nil
}

// askedElsewhere asks every other instance for what one has just answered: it
// must know.
func askedElsewhere(t *trial) error {
	pool, name := t.pool(mainPool), t.pool("scarce")
	if err := t.makePool(name, 1); err != nil {
		return err
	}
	asked, answers := 0, map[string]int{}
	for until := time.Now().Add(6 * time.Second); time.Now().Before(until); asked++ {
		first := t.any().number
		for _, draw := range t.asking(pool, 1) {
			draw.Instance = first
			if o := t.send(t.ctx, draw); !o.Won() {
				continue // there are conflicts
			}
			for n := range t.instances {
				draw.Instance = n
				o := t.send(t.ctx, draw)
				answers[o.Answer()]++
				if !o.Won() || !o.Replayed {
					t.verdict.Say(history.Fault, "asked elsewhere: %s", &o)
				}
				if err := t.knows(n, pool, draw.Key); err != nil {
					t.verdict.Say(history.Fault, "%v", err)
				}
			}
		}
		t.restockedElsewhere(name, first)
	}
	t.note("%d draws asked for on each node, %v", asked, answers)
	return nil
}

// knows asks an instance for a draw that was answered.
func (t *trial) knows(n int, pool, draw string) error {
	_, err := harness.Fetch(t.ctx, t.instances[n].url()+"/pools/"+pool+"/draws/"+draw)
	return err
}

// restockedElsewhere sells a pool out on one instance, stocks it there, and
// draws on another, which must not be sold out.
func (t *trial) restockedElsewhere(pool string, first int) {
	move := history.Op{Kind: history.Stock, Pool: pool, Key: t.key(), Prize: prizeNames()[0], Delta: 1, Instance: first}
	if o := t.send(t.ctx, move); !o.Won() {
		return
	}
	for n := 1; n < len(t.instances); n++ {
		for _, draw := range t.asking(pool, 1) {
			draw.Instance = (first + n) % len(t.instances)
			o := t.send(t.ctx, draw)
			if n == 1 && o.Answer() == "sold-out" {
				t.verdict.Say(history.Fault, "stocked elsewhere before: %s", &o)
			}
		}
	}
}
