package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/http/contract"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// Trial is one period of load on a world, with its own pools and history, from the
// first draw to the verdict.
type Trial struct {
	*stage.World
	// Client makes the requests; Through creates it.
	Client *http.Client
	// kinds checks every exchange; it may be nil.
	kinds   *contract.Kinds
	Seed    uint64
	Rand    *rand.Rand
	label   string
	History *history.History
	Verdict history.Verdict
	Expected
	Made  map[string][]history.Prize
	Small []*SmallPool
	// settled is when the last round of retries began.
	settled time.Duration
	// Unknown counts the requests that were in doubt at that time.
	Unknown int
	// Ended is when the fault ended, if that is earlier or later than the return of its
	// function.
	Ended time.Time
	// Recoveries are how long the instances took to draw again.
	Recoveries []time.Duration
	Lag        atomic.Int64
	keys       atomic.Int64
	Notes      []string
	// Floods are the figures of floods, nil if there were none.
	Floods *Floods
	// Front is the URL of a balancer that requests go to, "" for the instances
	// themselves.
	Front string
	// Ticket signs a ticket for a draw, "" for none; it is nil if no pool needs
	// tickets.
	Ticket func(o *history.Op) string
	// Judges are called after the usual rules, once all doubts are settled.
	Judges []func() error
	// presents is the token that draws are sent with, nil for the usual one.
	presents atomic.Pointer[string]
}

// Expected are the effects that an experiment causes on purpose, so that they are no
// violations.
type Expected struct {
	// Internal allows responses 500, because the experiment causes a panic.
	Internal bool
	// Codes are further codes of responses 503.
	Codes []string
	// Condemned means that the program is broken, and gets little time.
	Condemned bool
	// Loses means that acknowledged changes must be lost, and no other rule broken.
	Loses bool
}

// SmallPool is a pool whose history is short enough to be checked for
// linearizability.
type SmallPool struct {
	Name string
	left atomic.Int64 // number of operations that are left
}

const (
	// MainPool has enough units for every trial.
	MainPool = "main"
	// smallPools is the number of small pools, smallMax the maximum number of
	// operations on each.
	smallPools = 6
	smallMax   = 300
)

// NewTrial creates the trial's pools. The label distinguishes its keys and pools from
// those of other trials on the world.
func NewTrial(w *stage.World, seed uint64, label string, e Expected) (*Trial, error) {
	t := &Trial{
		World: w, kinds: w.Ground.Kinds, Seed: seed, Rand: rand.New(rand.NewPCG(seed, 0)), label: label, //nolint:gosec // to be replayed
		History: history.New(), Expected: e, Made: map[string][]history.Prize{},
	}
	t.Client = t.Through(&net.Dialer{})
	w.Cleanup(t.Client.CloseIdleConnections)
	w.Ctx = harness.Through(w.Ctx, t.judged(http.DefaultTransport))
	if err := t.MakePool(t.Pool(MainPool), 100_000, 300_000, 600_000); err != nil {
		return nil, err
	}
	return t, nil
}

// MakeSmall creates the small pools.
func (t *Trial) MakeSmall() error {
	for n := range smallPools {
		p := &SmallPool{Name: t.Pool(fmt.Sprint("small-", n))}
		p.left.Store(smallMax)
		if err := t.MakePool(p.Name, 3, 9); err != nil {
			return err
		}
		t.Small = append(t.Small, p)
	}
	return nil
}

// Pool returns the full name of one of the trial's pools.
func (t *Trial) Pool(name string) string { return t.label + name }

// Key returns a new key.
func (t *Trial) Key() string { return fmt.Sprintf("%skey-%d", t.label, t.keys.Add(1)) }

// MakePool creates a pool of prizes with the given stock.
func (t *Trial) MakePool(name string, stock ...int64) error {
	p := harness.Pool{ID: name, Name: name}
	for i, n := range stock {
		id := stage.PrizeNames()[i]
		p.Prizes = append(p.Prizes, harness.Prize{ID: id, Name: "A " + id + " one", Value: "1.50", Stock: n})
		t.Made[name] = append(t.Made[name], history.Prize{ID: id, Stock: n})
	}
	return t.Operate(http.MethodPost, "/admin/pools", p, http.StatusCreated)
}

// Admin makes an operator's call on the first instance that takes it.
func (t *Trial) Admin(method, path string, content any, want int) error {
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	for _, i := range t.Instances {
		if _, err = harness.Operate(t.Ctx, method, i.URL()+path, string(body), want); err == nil {
			return nil
		}
	}
	return err
}

// Operate repeats an operator's call until it is settled: a paused machine delays
// answers, and late answers are 503 or 504. If the object already exists, an earlier
// call whose answer was lost has created it.
func (t *Trial) Operate(method, path string, content any, want int) error {
	lost := false
	var last error
	err := stage.Within(t.Ctx, t.settleMax(), func() error {
		last = t.Admin(method, path, content, want)
		answer, answered := errors.AsType[harness.Unwanted](last)
		switch {
		case last == nil, lost && answered && strings.Contains(answer.Error(), `-exists"`):
			last = nil
			return nil
		case answered && answer.Status < http.StatusInternalServerError:
			return nil // it is settled
		}
		lost = true
		return last
	})
	return cmp.Or(err, last)
}

// UnderLoad runs a fault under load, waits for the recovery, and ends the load.
func (t *Trial) UnderLoad(fault func() error) error { return t.UnderLoadOf(WorkersUsual, fault) }

// UnderLoadOf is UnderLoad with a given number of clients.
func (t *Trial) UnderLoadOf(workers int, fault func() error) error {
	if err := t.MakeSmall(); err != nil {
		return err
	}
	l := t.StartLoad(workers)
	defer l.Stop()
	t.Sleep(300, 700)
	t.Ended = time.Time{}
	err := fault()
	if t.Ended.IsZero() {
		t.Ended = time.Now()
	}
	if err != nil {
		return err
	}
	t.Recover(t.Ended)
	t.Sleep(200, 400)
	return nil
}

// Sleep waits for a random time, in milliseconds.
func (t *Trial) Sleep(least, most int) {
	t.Wait(time.Duration(least+t.Rand.IntN(most-least+1)) * time.Millisecond)
}

// Wait waits for d, but not longer than the trial lasts.
func (t *Trial) Wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Ctx.Done():
	}
}

// Any returns a random instance.
func (t *Trial) Any() *stage.Instance { return t.Instances[t.Rand.IntN(len(t.Instances))] }

// Note adds a line to the result.
func (t *Trial) Note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

// Parallel runs fn n times at once, and waits for all.
func Parallel(n int, fn func(n int)) {
	var all sync.WaitGroup
	for k := range n {
		all.Go(func() { fn(k) })
	}
	all.Wait()
}

const (
	// RecoverMax is the maximum time that an instance may take to draw again after a
	// fault has ended.
	RecoverMax = 5 * time.Second
	// SettleMax is the maximum time that retries may take to settle all doubts. It is
	// generous, because their speed is not promised and a busy machine is slow.
	SettleMax = time.Minute
	// linearMax bounds the search for an order of events that explains a pool.
	linearMax = 20 * time.Second
)

// Recover measures how long after the end of a fault each instance draws again. New
// probes start at short intervals, even if earlier ones have not returned.
func (t *Trial) Recover(since time.Time) {
	var mu sync.Mutex
	Parallel(len(t.Instances), func(n int) {
		took, err := t.recoverOne(n, since)
		mu.Lock()
		defer mu.Unlock()
		t.Recoveries = append(t.Recoveries, took)
		if err != nil {
			t.Verdict.Say(history.NotRecovered, "%v", err)
		}
	})
}

func (t *Trial) recoverOne(n int, since time.Time) (time.Duration, error) {
	served := make(chan time.Duration, 1)
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(RecoverMax + time.Duration(t.Lag.Load()))
	defer limit.Stop()
	var last sync.Map
	for {
		all.Go(func() {
			key := t.Key()
			o := t.Send(t.Ctx, history.Op{Kind: history.Draw, Pool: t.Pool(MainPool), Key: key, User: "probe", Count: 1, Client: 1000 + n, Instance: n})
			if !o.Won() {
				last.Store(0, o.String())
				return
			}
			select {
			case served <- time.Since(since):
			default:
			}
		})
		select {
		case took := <-served:
			return took, nil
		case <-limit.C:
			said, _ := last.Load(0)
			return RecoverMax, fmt.Errorf("instance %d does not draw %v after the fault's end: %v", n, RecoverMax, said)
		case <-tick.C:
		}
	}
}

// settleMax returns SettleMax, or less for a broken program.
func (t *Trial) settleMax() time.Duration {
	if t.Condemned {
		return time.Second
	}
	return SettleMax
}

// settle retries every request that is in doubt until it is settled. Then it repeats
// the request on another instance, which must give the same answer.
func (t *Trial) settle() {
	t.settled = t.History.Now()
	doubts := t.History.Doubtful(t.settled)
	t.Unknown = len(doubts)
	ctx, end := context.WithTimeout(t.Ctx, t.settleMax())
	defer end()
	t.each(doubts, 0, func(o history.Op) { t.Insist(ctx, o) })
	for _, o := range t.History.Doubtful(t.settled) {
		t.Verdict.Say(history.Unsettled, "%s", &o)
	}
	var once []history.Op
	for _, o := range t.History.Ops() {
		if o.Call >= t.settled && o.Won() {
			once = append(once, o)
		}
	}
	t.AskAgain(once, 1)
}

// AskAgain repeats each request once, on the instance whose number is higher by shift.
func (t *Trial) AskAgain(ops []history.Op, shift int) {
	t.each(ops, shift, func(o history.Op) { t.Send(t.Ctx, o) })
}

// each repeats the request of each of ops, on the instance whose number is higher by
// shift.
func (t *Trial) each(ops []history.Op, shift int, ask func(o history.Op)) {
	const atOnce = 16
	Parallel(atOnce, func(n int) {
		for k := n; k < len(ops); k += atOnce {
			o := ops[k]
			ask(history.Op{
				Kind: o.Kind, Pool: o.Pool, Key: o.Key, User: o.User, Count: o.Count, Prize: o.Prize, Delta: o.Delta,
				Client: 2000 + n, Instance: (o.Instance + shift) % len(t.Instances),
			})
		}
	})
}
