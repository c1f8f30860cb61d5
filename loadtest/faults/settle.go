package main

import (
	"fmt"
	"sync"
	"time"

	"drawsvc/loadtest/faults/history"
)

const (
	// recoverMax is the longest that an instance may take to draw again after
	// a fault has ended.
	recoverMax = 5 * time.Second
	// settleMax is the longest that asking again may take to end all doubts.
	settleMax = 15 * time.Second
	// linearMax bounds the search for an order of events that explains a pool.
	linearMax = 20 * time.Second
	// leftoverMax is the longest that something may be left over, above the
	// term of a lock whose holder died.
	leftoverMax = 5 * time.Second
)

// recover measures how long each instance takes to draw again since a fault
// ended: probes start all the time, whatever becomes of those before.
func (t *Trial) recover(since time.Time) {
	var mu sync.Mutex
	parallel(len(t.instances), func(n int) {
		took, err := t.recoverOne(n, since)
		mu.Lock()
		defer mu.Unlock()
		t.recoveries = append(t.recoveries, took)
		if err != nil {
			t.verdict.Say(history.NotRecovered, "%v", err)
		}
	})
}

func (t *Trial) recoverOne(n int, since time.Time) (time.Duration, error) {
	served := make(chan time.Duration, 1)
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(recoverMax + time.Duration(t.lag.Load()))
	defer limit.Stop()
	var last sync.Map
	for {
		all.Go(func() {
			key := t.key()
			o := t.send(t.ctx, history.Op{Kind: history.Draw, Pool: t.pool(mainPool), Key: key, User: "probe", Count: 1, Client: 1000 + n, Instance: n})
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
			return recoverMax, fmt.Errorf("instance %d does not draw %v after the fault's end: %v", n, recoverMax, said)
		case <-tick.C:
		}
	}
}

// settle asks again for everything that is in doubt, until nothing is; then
// once more on another instance, which must answer the same.
func (t *Trial) settle() {
	t.settled = t.history.Now()
	doubts := t.history.Doubtful(t.settled)
	t.unknown = len(doubts)
	limit := settleMax
	if t.condemned {
		limit = time.Second // it does not deserve more
	}
	for until := time.Now().Add(limit); len(doubts) > 0; doubts = t.history.Doubtful(t.settled) {
		if time.Now().After(until) {
			for _, o := range doubts {
				t.verdict.Say(history.Unsettled, "%s", &o)
			}
			return
		}
		t.askAgain(doubts, 0)
		time.Sleep(20 * time.Millisecond)
	}
	again := t.history.Ops()
	var once []history.Op
	for _, o := range again {
		if o.Call >= t.settled && o.Won() {
			once = append(once, o)
		}
	}
	t.askAgain(once, 1)
}

func (t *Trial) askAgain(ops []history.Op, shift int) {
	const atOnce = 16
	parallel(atOnce, func(n int) {
		for k := n; k < len(ops); k += atOnce {
			o := ops[k]
			t.send(t.ctx, history.Op{
				Kind: o.Kind, Pool: o.Pool, Key: o.Key, User: o.User, Count: o.Count, Prize: o.Prize, Delta: o.Delta,
				Client: 2000 + n, Instance: (o.Instance + shift) % len(t.instances),
			})
		}
	})
}
