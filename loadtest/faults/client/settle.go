package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"drawsvc/loadtest/faults/history"
)

const (
	// RecoverMax is the longest that an instance may take to draw again after
	// a fault has ended.
	RecoverMax = 5 * time.Second
	// SettleMax is the longest that retries may take to end all doubts: how fast they
	// come is no promise, and a busy machine is slow.
	SettleMax = time.Minute
	// linearMax bounds the search for an order of events that explains a pool.
	linearMax = 20 * time.Second
)

// Recover measures how long each instance takes to draw again since a fault
// ended: probes start all the time, whatever becomes of those before.
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

// settleMax is SettleMax, and less for a program that does not deserve so much.
func (t *Trial) settleMax() time.Duration {
	if t.Condemned {
		return time.Second
	}
	return SettleMax
}

// settle retries everything that is in doubt until it is settled; then
// once more on another instance, which must answer the same.
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

// AskAgain repeats requests, each once, on an instance so many numbers further.
func (t *Trial) AskAgain(ops []history.Op, shift int) {
	t.each(ops, shift, func(o history.Op) { t.Send(t.Ctx, o) })
}

// each asks for the same as each of the requests did, on an instance so many numbers
// further.
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
