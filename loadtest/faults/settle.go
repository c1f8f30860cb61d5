package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/harness"
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

// The rules that package history cannot know.
const (
	ruleRecovery = "not-recovered"
	ruleLeftover = "left-over"
	ruleAudit    = "audit-differs"
	ruleEnd      = "ended-badly"
	ruleFault    = "fault" // what an experiment itself has to say
)

// recover measures how long each instance takes to draw again since a fault
// ended: probes start all the time, whatever becomes of those before.
func (t *trial) recover(since time.Time) {
	var mu sync.Mutex
	parallel(len(t.instances), func(n int) {
		took, err := t.recoverOne(n, since)
		mu.Lock()
		defer mu.Unlock()
		t.recoveries = append(t.recoveries, took)
		if err != nil {
			t.verdict.Say(ruleRecovery, "%v", err)
		}
	})
}

func (t *trial) recoverOne(n int, since time.Time) (time.Duration, error) {
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
func (t *trial) settle() {
	t.settled = t.history.Now()
	doubts := t.history.Doubtful(t.settled)
	t.unknown = len(doubts)
	limit := settleMax
	if t.condemned != nil {
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

func (t *trial) askAgain(ops []history.Op, shift int) {
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

// check holds everything that was answered against the rows.
func (t *trial) check() error {
	ops := t.history.Ops()
	terms := history.Terms{
		Deadline: t.limit() + grace + time.Duration(t.lag.Load()), Internal: t.internal, Settled: t.settled,
		Plenty: map[string]bool{t.pool(mainPool): true},
		Excused: func(instance int, from, to time.Duration) bool {
			return t.instances[instance].halted(t.history.Time(from), t.history.Time(to))
		},
	}
	history.Answers(&t.verdict, ops, terms)
	for pool := range t.made {
		rows, err := t.rows(pool)
		if err != nil {
			return err
		}
		history.Match(&t.verdict, ops, rows, terms)
		history.Laws(&t.verdict, rows)
		t.checkNodes(rows)
		if t.program != textbook {
			t.checkAudit(rows)
		}
	}
	for _, p := range t.small {
		t.checkLinear(ops, p.name)
	}
	t.lose()
	return nil
}

// rows reads a pool's rows. A connection that died unseen is not the answer.
func (t *trial) rows(pool string) (rows history.Rows, err error) {
	for range 3 {
		if rows, err = history.Read(t.ctx, t.base.admin, pool, t.numbered(), t.program == textbook); err == nil {
			break
		}
	}
	return rows, err
}

func (t *trial) checkLinear(ops []history.Op, pool string) {
	most := linearMax
	if t.condemned != nil {
		most = 200 * time.Millisecond // it does not deserve more
	}
	version := int64(len(t.made[pool]))
	if t.program != textbook {
		version++ // the change that made it
	}
	switch history.Linear(ops, pool, t.made[pool], version, most) {
	case porcupine.Illegal:
		t.verdict.Say(history.NotLinear, "no order of events explains the answers of pool %s", pool)
	case porcupine.Unknown:
		t.note("the time did not suffice to check pool %s for linearizability", pool)
	case porcupine.Ok:
	}
}

// checkAudit compares what the service says of a pool with its rows.
func (t *trial) checkAudit(rows history.Rows) {
	var said struct {
		OK      bool  `json:"ok"`
		Version int64 `json:"version"`
		Prizes  []struct {
			Prize   string `json:"prize"`
			Stocked int64  `json:"stocked"`
			Issued  int64  `json:"issued"`
			Left    int64  `json:"remaining"`
		} `json:"prizes"`
		Violations []any `json:"violations"`
	}
	err := harness.FetchJSON(t.ctx, t.instances[0].url()+"/admin/pools/"+rows.Pool+"/audit", &said)
	if err != nil || !said.OK || said.Version != rows.Version || len(said.Prizes) != len(rows.Prizes) {
		t.verdict.Say(ruleAudit, "pool %s: %v %+v, the rows are at version %d", rows.Pool, err, said, rows.Version)
		return
	}
	counters := map[string]history.PrizeRow{}
	for _, p := range rows.Prizes {
		counters[p.ID] = p
	}
	for _, p := range said.Prizes {
		if r := counters[p.Prize]; p.Stocked != r.Stocked || p.Issued != r.Issued || p.Left != r.Stocked-r.Issued {
			t.verdict.Say(ruleAudit, "pool %s: %+v, the row is %+v", rows.Pool, p, r)
		}
	}
}

// metrics reads an instance's own figures; it has none when it does not answer.
func (w *world) metrics(i *instance) map[string]float64 {
	found := map[string]float64{}
	text, _ := harness.Fetch(w.ctx, i.url()+"/metrics")
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if figure, err := strconv.ParseFloat(value, 64); ok && err == nil {
			found[name] = figure
		}
	}
	return found
}

// within waits until nothing is left over, or says what is.
func within(ctx context.Context, limit time.Duration, left func() string) string {
	// MariaDB goes on showing the same transactions to who asks more often than
	// every 100 ms.
	for until := time.Now().Add(limit); ; time.Sleep(150 * time.Millisecond) {
		said := left()
		if said == "" || time.Now().After(until) || ctx.Err() != nil {
			return said
		}
	}
}
