package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"drawsvc/loadtest/faults/history"
)

const (
	// workersUsual is the number of clients that ask at once.
	workersUsual = 12
	// think is the mean wait of a client between two requests.
	think = 8 * time.Millisecond
	// opsMax bounds the history of one trial.
	opsMax = 60_000
	// recentMax is how many of its own requests a client may repeat.
	recentMax = 40
)

// load is a bounded number of clients that draw, ask again, and move stock.
type load struct {
	end context.CancelFunc
	all sync.WaitGroup
}

// worker is one client. What it does follows from the seed and its number.
type worker struct {
	t      *Trial
	number int
	rng    *rand.Rand
	recent []history.Op
}

func (t *Trial) startLoad(workers int) *load {
	ctx, end := context.WithCancel(t.ctx)
	l := &load{end: end}
	for n := range workers {
		w := t.worker(n)
		l.all.Go(func() { w.work(ctx) })
	}
	return l
}

func (t *Trial) worker(n int) *worker {
	return &worker{t: t, number: n, rng: rand.New(rand.NewPCG(t.seed, uint64(n)+1))} //nolint:gosec // to be replayed
}

// stop lets every request end.
func (l *load) stop() {
	l.end()
	l.all.Wait()
}

func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil && w.t.history.Len() < opsMax {
		w.one()
		wait := time.NewTimer(time.Duration(w.rng.Int64N(int64(2 * think))))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// one makes one request, or two at once with one key. Requests end by
// themselves, not with the load.
func (w *worker) one() {
	o := w.next()
	o.Client = w.number
	o.Instance = w.rng.IntN(len(w.t.instances))
	if w.rng.IntN(30) == 0 {
		twin := o
		twin.Client, twin.Instance = w.number+100, w.rng.IntN(len(w.t.instances))
		parallel(2, func(n int) { w.t.send(w.t.ctx, []history.Op{o, twin}[n]) })
	} else {
		w.t.send(w.t.ctx, o)
	}
	if len(w.recent) < recentMax {
		w.recent = append(w.recent, o)
	} else {
		w.recent[w.rng.IntN(recentMax)] = o
	}
}

// next chooses what to ask for.
func (w *worker) next() history.Op {
	dice := w.rng.IntN(100)
	switch {
	case dice < 12 && len(w.recent) > 0:
		return w.recent[w.rng.IntN(len(w.recent))]
	case dice < 26 && len(w.t.small) > 0:
		p := w.t.small[w.rng.IntN(len(w.t.small))]
		if p.left.Add(-1) >= 0 {
			return w.onSmall(p.name)
		}
	case dice < 29:
		return w.move(w.t.pool(mainPool), int64(w.rng.IntN(2001)-1000))
	}
	return w.draw(w.t.pool(mainPool), 5)
}

// onSmall keeps a small pool on the edge of being sold out.
func (w *worker) onSmall(pool string) history.Op {
	if w.rng.IntN(5) == 0 {
		return w.move(pool, int64(w.rng.IntN(9)-2))
	}
	return w.draw(pool, 3)
}

func (w *worker) draw(pool string, countMax int) history.Op {
	o := history.Op{Kind: history.Draw, Pool: pool, Key: w.t.key(), Count: 1}
	o.User = "user-" + o.Key
	if w.rng.IntN(8) == 0 {
		o.Count = 1 + w.rng.IntN(countMax)
	}
	return o
}

func (w *worker) move(pool string, delta int64) history.Op {
	prizes := w.t.made[pool]
	if delta == 0 {
		delta = 1
	}
	return history.Op{Kind: history.Stock, Pool: pool, Key: w.t.key(), Prize: prizes[w.rng.IntN(len(prizes))].ID, Delta: delta}
}

// watchLag measures how late this program itself is, until stop is called: as
// late may be what it measures of others.
func (t *Trial) watchLag() (stop func()) {
	ctx, stop := context.WithCancel(t.ctx)
	go func() {
		const nap = 10 * time.Millisecond
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(nap)
			t.lag.Store(max(t.lag.Load(), int64(time.Since(began)-nap))) // nobody else writes it
		}
	}()
	return stop
}
