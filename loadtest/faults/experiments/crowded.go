package experiments

import (
	"sync/atomic"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
)

const (
	// crowdedCallers ask at once, each for one unit after another, until
	// crowdedDraws have been asked for.
	crowdedCallers = 64
	crowdedDraws   = 8000
	// crowdedKnown keys are asked for again, in place of every 20th draw.
	crowdedKnown = 25
	crowdedAgain = 20
	// crowdedMax is the most draws in 1,000 that may be answered that the pool is
	// busy.
	crowdedMax = 1
)

// crowdedPool has optimistic instances meet on one pool all the time. Nearly
// every draw wins, and a known key is answered always.
func crowdedPool() Experiment {
	places := []place{{"postgres", lockmode.Optimistic, "", 3}, {"mysql", lockmode.Optimistic, "", 3}}
	return Experiment{Name: "64 clients on one pool of optimistic instances", places: places, own: true, timeout: edgeTimeout, run: crowded}
}

func crowded(t *trial) error {
	pool := t.Pool(client.MainPool)
	known := t.asking(pool, crowdedKnown)
	for n := range known {
		t.Must(t.insist(known[n]))
	}
	from := t.History.Now()
	fresh := t.asking(pool, crowdedDraws)
	var next atomic.Int64
	client.Parallel(crowdedCallers, func(client int) {
		for n := int(next.Add(1)) - 1; n < len(fresh); n = int(next.Add(1)) - 1 {
			o := fresh[n]
			if n%crowdedAgain == 0 {
				o = known[n/crowdedAgain%len(known)]
			}
			o.Client, o.Instance = client, client%len(t.Instances)
			t.Send(t.Ctx, o)
		}
	})
	t.judgeCrowd(from, t.History.Now())
	return nil
}

// judgeCrowd counts the answers of that time.
func (t *trial) judgeCrowd(from, to time.Duration) {
	answers := map[string]int{}
	for _, o := range t.History.Ops() {
		if o.Call >= from && o.Return <= to && o.Kind == history.Draw {
			answers[o.Answer()]++
		}
	}
	busy := answers["contended"]
	t.Note("%d of %d draws were answered that the pool is busy", busy, crowdedDraws)
	if busy*1000 > crowdedDraws*crowdedMax {
		t.Verdict.Say(history.Fault, "answered that the pool is busy: %d of %d draws, at most %d of 1,000 may be", busy, crowdedDraws, crowdedMax)
	}
	delete(answers, "contended")
	if answers["won"]+answers["replayed"]+busy != crowdedDraws || answers["replayed"] != crowdedDraws/crowdedAgain {
		t.Verdict.Say(history.Fault, "answers are %v; %d must be replayed, and all others won", answers, crowdedDraws/crowdedAgain)
	}
	t.replaysAreNotBusy()
}
