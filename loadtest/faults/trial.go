package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
)

// Trial is one stretch of load on a world, with pools and a history of its
// own, from the first draw to the verdict.
type Trial struct {
	*world
	seed    uint64
	rng     *rand.Rand
	label   string
	history *history.History
	verdict history.Verdict
	expected
	made  map[string][]history.Prize
	small []*smallPool
	// settled is when the last round of asking again began.
	settled time.Duration
	// unknown counts what was in doubt then.
	unknown int
	// ended is when the fault ended, where that is not when its function
	// returns.
	ended time.Time
	// recoveries are how long the instances took to draw again.
	recoveries []time.Duration
	lag        atomic.Int64
	keys       atomic.Int64
	notes      []string
}

// expected is what the experiment brings with it, so that it is not judged.
type expected struct {
	// internal allows responses 500: a panic was made to happen.
	internal bool
	// condemned says that the program is broken, and deserves little time.
	condemned bool
	// loses says that acknowledged changes must be lost, and no other rule broken.
	loses bool
}

// smallPool is a pool whose history is short enough to be checked for
// linearizability.
type smallPool struct {
	name string
	left atomic.Int64 // operations
}

const (
	// mainPool has units enough for every trial.
	mainPool = "main"
	// smallPools is how many small pools there are, smallMax the most
	// operations on each.
	smallPools = 6
	smallMax   = 300
)

// newTrial makes the trial's pools. The label tells its keys and pools from
// those of other trials on the world.
func newTrial(w *world, seed uint64, label string, e expected) (*Trial, error) {
	t := &Trial{
		world: w, seed: seed, rng: rand.New(rand.NewPCG(seed, 0)), label: label, //nolint:gosec // to be replayed
		history: history.New(), expected: e, made: map[string][]history.Prize{},
	}
	if err := t.makePool(t.pool(mainPool), 100_000, 300_000, 600_000); err != nil {
		return nil, err
	}
	return t, nil
}

// makeSmall makes the small pools.
func (t *Trial) makeSmall() error {
	for n := range smallPools {
		p := &smallPool{name: t.pool(fmt.Sprint("small-", n))}
		p.left.Store(smallMax)
		if err := t.makePool(p.name, 3, 9); err != nil {
			return err
		}
		t.small = append(t.small, p)
	}
	return nil
}

// pool is the name of one of the trial's pools.
func (t *Trial) pool(name string) string { return t.label + name }

// key is a new key.
func (t *Trial) key() string { return fmt.Sprintf("%skey-%d", t.label, t.keys.Add(1)) }

// prizeNames are those of all pools.
func prizeNames() []string { return []string{"gold", "silver", "tin"} }

// makePool makes a pool of prizes with the given stock.
func (t *Trial) makePool(name string, stock ...int64) error {
	type prize struct {
		ID    string `json:"id"`
		Name  string `json:"name"`
		Value string `json:"value"`
		Stock int64  `json:"stock"`
	}
	var prizes []prize
	for i, n := range stock {
		id := prizeNames()[i]
		prizes = append(prizes, prize{id, "A " + id + " one", "1.50", n})
		t.made[name] = append(t.made[name], history.Prize{ID: id, Stock: n})
	}
	return t.admin(http.MethodPost, "/admin/pools", map[string]any{"id": name, "name": name, "prizes": prizes}, http.StatusCreated)
}

// admin makes an operator's call on the first instance that takes it.
func (t *Trial) admin(method, path string, content any, want int) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	for _, i := range t.instances {
		if _, err = harness.Operate(t.ctx, method, i.url()+path, string(body), want); err == nil {
			return nil
		}
	}
	return err
}

// underLoad runs a fault under load, waits for the recovery,
// and lets the load end.
func (t *Trial) underLoad(fault func() error) error {
	if err := t.makeSmall(); err != nil {
		return err
	}
	l := t.startLoad(workersUsual)
	defer l.stop()
	t.sleep(300, 700)
	t.ended = time.Time{}
	err := fault()
	if t.ended.IsZero() {
		t.ended = time.Now()
	}
	if err != nil {
		return err
	}
	t.recover(t.ended)
	t.sleep(200, 400)
	return nil
}

// sleep waits for a random time, in milliseconds.
func (t *Trial) sleep(least, most int) {
	d := time.Duration(least+t.rng.IntN(most-least+1)) * time.Millisecond
	select {
	case <-time.After(d):
	case <-t.ctx.Done():
	}
}

// any is a random instance.
func (t *Trial) any() *instance { return t.instances[t.rng.IntN(len(t.instances))] }

// note adds a line to the result.
func (t *Trial) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

// parallel runs fn n times at once, and waits for all.
func parallel(n int, fn func(n int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { fn(k) })
	}
	all.Wait()
}
