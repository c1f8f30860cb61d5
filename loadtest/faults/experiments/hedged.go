package experiments

import (
	"fmt"

	"drawsvc/loadtest/faults/history"
)

const (
	// hedgedPools is how many pools are sold out, one after another. Each has so
	// few units that the first batch of an instance asks for more.
	hedgedPools = 24
	hedgedUnits = 16
	hedgedKeys  = 60
)

// hedged sends each key to two of the instances at once, as a proxy does that
// retries, while a pool is sold out. Of each key both answers are the same: 200
// with its unit, or sold out.
func hedged() Experiment {
	return Experiment{Name: "each key to two instances at once, at the edge of a sell-out", Number: 3, places: everywhere(3), own: true, timeout: edgeTimeout, run: func(t *trial) error {
		contradicted := 0
		for n := range hedgedPools {
			pool := t.edgeNamed(fmt.Sprint("edge-", n), 4, 12)
			answered := t.atOnce(t.twice(t.asking(pool, hedgedKeys)))
			contradicted += contradictions(answered)
			t.Must(t.mustAnswer(answered, map[string]int{"won": hedgedUnits, "replayed": hedgedUnits, "sold-out": 2 * (hedgedKeys - hedgedUnits)}))
		}
		t.Note("%d of %d keys that won were refused by the other instance", contradicted, hedgedPools*hedgedUnits)
		t.replaysAreNotBusy()
		return nil
	}}
}

// twice is each request on its instance and on the next.
func (t *trial) twice(ops []history.Op) []history.Op {
	for _, o := range ops {
		o.Client += len(ops)
		o.Instance = (o.Instance + 1) % len(t.Instances)
		ops = append(ops, o)
	}
	return ops
}

// contradictions counts the keys that won and were refused.
func contradictions(ops []history.Op) (n int) {
	won, refused := map[string]bool{}, map[string]bool{}
	for i := range ops {
		o := &ops[i]
		won[o.Key] = won[o.Key] || o.Won()
		refused[o.Key] = refused[o.Key] || o.Refused()
	}
	for key := range won {
		if won[key] && refused[key] {
			n++
		}
	}
	return n
}

// replaysAreNotBusy wants no key that was answered 200 to be answered that the pool
// is busy: a replay waits for nobody.
func (t *trial) replaysAreNotBusy() {
	for _, o := range history.Again(t.History.Ops()) {
		if o.Code == "contended" {
			t.Verdict.Say(history.Fault, "a known key was answered that the pool is busy: %s", &o)
		}
	}
}
