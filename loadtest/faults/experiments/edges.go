package experiments

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// edgeTimeout is the service's default timeout of a request. Other cells use a shorter
// one, but here hundreds of clients send a request at the same moment.
const edgeTimeout = 5 * time.Second

func edges() []Experiment {
	return []Experiment{
		sellOut(),
		{Name: "500 clients, one unit", Number: 2, places: everywhere(3), own: true, timeout: edgeTimeout, run: oneUnit},
		{Name: "one key 200 times at once, then another user", Number: 3, places: everywhere(3), own: true, timeout: edgeTimeout, run: oneKey},
		stockMoved(),
		hedged(),
	}
}

// sellOut draws twice the stock at once.
func sellOut() Experiment {
	return Experiment{Name: "twice the stock at once", Number: 1, places: everywhere(3), own: true, timeout: edgeTimeout, run: func(t *trial) error {
		pool := t.edge(1, 9, 190)
		return t.mustAnswer(t.crowd(pool, 400), map[string]int{"won": 200, "sold-out": 200})
	}}
}

func (t *trial) edge(stock ...int64) string { return t.edgeNamed("edge", stock...) }

func (t *trial) edgeNamed(name string, stock ...int64) string {
	name = t.Pool(name)
	t.Small = append(t.Small, &client.SmallPool{Name: name})
	t.Must(t.MakePool(name, stock...))
	return name
}

// crowd draws n times at once, each with its own key.
func (t *trial) crowd(pool string, n int) []history.Op {
	return t.atOnce(t.asking(pool, n))
}

func (t *trial) asking(pool string, n int) []history.Op {
	ops := make([]history.Op, n)
	for k := range ops {
		key := t.Key()
		ops[k] = history.Op{Kind: history.Draw, Pool: pool, Key: key, User: "user-" + key, Count: 1, Client: k, Instance: k % len(t.Instances)}
	}
	return ops
}

// atOnce sends requests at the same moment, and returns the answered requests. It
// retries requests that are not settled, after the time that the response states.
func (t *trial) atOnce(ops []history.Op) []history.Op {
	answered, came := make([]history.Op, len(ops)), make([]bool, len(ops))
	known := map[string]bool{} // the keys that were answered before
	for _, o := range t.History.Ops() {
		known[o.Key] = known[o.Key] || o.Won()
	}
	var again atomic.Int64
	ctx, end := context.WithTimeout(t.Ctx, client.SettleMax)
	defer end()
	ready := make(chan struct{})
	go func() {
		time.Sleep(50 * time.Millisecond) // by then all clients wait
		close(ready)
	}()
	client.Parallel(len(ops), func(n int) {
		<-ready
		var requests int
		answered[n], requests = t.Insist(ctx, ops[n])
		again.Add(int64(requests - 1))
		came[n] = requests > 1
	})
	ownReplays(answered, came, known)
	if n := again.Load(); n > 0 {
		t.Note("%d came again because they were not settled", n)
	}
	return answered
}

// ownReplays corrects the count of wins. A key may have only replays although no client
// had its answer before: the winner's first answer came too late. Then one replay counts
// as the win.
func ownReplays(answered []history.Op, came []bool, known map[string]bool) {
	won := maps.Clone(known)
	for i := range answered {
		won[answered[i].Key] = won[answered[i].Key] || answered[i].Won() && !answered[i].Replayed
	}
	for i := range answered {
		if o := &answered[i]; came[i] && o.Replayed && !won[o.Key] {
			o.Replayed, won[o.Key] = false, true
		}
	}
}

// mustAnswer demands exactly the wanted answers.
func (t *trial) mustAnswer(ops []history.Op, want map[string]int) error {
	got := map[string]int{}
	for i := range ops {
		got[ops[i].Answer()]++
	}
	if !maps.Equal(got, want) {
		t.Verdict.Say(history.Fault, "answers are %v and must be %v", got, want)
	}
	return nil
}

func oneUnit(t *trial) error {
	pool := t.edge(1)
	return t.mustAnswer(t.crowd(pool, 500), map[string]int{"won": 1, "sold-out": 499})
}

func oneKey(t *trial) error {
	pool := t.edge(3, 30)
	ops := make([]history.Op, 200)
	for k := range ops {
		ops[k] = history.Op{Kind: history.Draw, Pool: pool, Key: t.Pool("one"), User: "first", Count: 2, Client: k, Instance: k % len(t.Instances)}
	}
	t.Must(t.mustAnswer(t.atOnce(ops), map[string]int{"won": 1, "replayed": 199}))
	other := make([]history.Op, 20)
	for k := range other {
		other[k] = ops[k]
		other[k].User = "second"
	}
	t.Must(t.mustAnswer(t.atOnce(other), map[string]int{"idempotency-key-reused": 20}))
	return t.mustAnswer(t.atOnce(ops[:20]), map[string]int{"replayed": 20})
}

func stockMoved() Experiment {
	return Experiment{Name: "stock moved under load", Number: 18, places: everywhere(2), soaks: true, run: func(t *trial) error {
		until := time.Now().Add(1500 * time.Millisecond)
		const movers = 6
		rngs := make([]*client.Worker, movers)
		for n := range rngs {
			rngs[n] = t.Worker(n + 500)
		}
		client.Parallel(movers, func(n int) {
			for time.Now().Before(until) {
				o := rngs[n].Move(t.Pool(client.MainPool), int64(rngs[n].Rand.IntN(2001)-1000))
				o.Client, o.Instance = rngs[n].Number, rngs[n].Rand.IntN(len(t.Instances))
				t.Send(t.Ctx, o)
			}
		})
		return nil
	}}
}

// kills returns a fault that ends an instance by fn and starts it again.
func kills(fn func(t *trial, i *stage.Instance) error) func(*trial) error {
	return func(t *trial) error {
		i := t.Any()
		i.Expect()
		t.Must(fn(t, i))
		if err := i.Process.AwaitEnd(); err == nil {
			return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
		}
		t.Sleep(100, 400)
		t.Ended = time.Now()
		return i.Again(t.Ctx)
	}
}

const (
	// hedgedPools is the number of pools that are sold out, in sequence. Each has fewer
	// units than the first batch of an instance needs.
	hedgedPools = 24
	hedgedUnits = 16
	hedgedKeys  = 60
)

// hedged sends each key to two of the instances at once, as a retrying proxy does,
// while a pool is sold out. Both answers to a key must be the same: 200 with its unit,
// or sold out.
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

// twice returns each request twice: on its own instance, and on the next.
func (t *trial) twice(ops []history.Op) []history.Op {
	for _, o := range ops {
		o.Client += len(ops)
		o.Instance = (o.Instance + 1) % len(t.Instances)
		ops = append(ops, o)
	}
	return ops
}

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

// replaysAreNotBusy demands that a key that was answered 200 is never refused because the
// pool is busy: a replay does not wait.
func (t *trial) replaysAreNotBusy() {
	for _, o := range history.Again(t.History.Ops()) {
		if o.Code == "contended" {
			t.Verdict.Say(history.Fault, "a known key was answered that the pool is busy: %s", &o)
		}
	}
}
