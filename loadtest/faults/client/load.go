package client

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"drawsvc/loadtest/faults/history"
)

const (
	// WorkersUsual is the number of clients that send requests at once.
	WorkersUsual = 12
	// think is the mean pause of a client between two requests.
	think = 8 * time.Millisecond
	// opsMax bounds the history of one trial.
	opsMax = 60_000
	// insistMax is how long a client keeps retrying one operation.
	insistMax = 10 * time.Second
	// recentMax is how many of its own requests a client may repeat.
	recentMax = 40
)

// Load is a bounded number of clients that draw, repeat requests, and move stock.
type Load struct {
	end context.CancelFunc
	all sync.WaitGroup
}

// Worker is one client. Its actions follow from the seed and its number.
type Worker struct {
	t      *Trial
	Number int
	Rand   *rand.Rand
	recent []history.Op
}

// StartLoad starts the given number of clients, which work until the load is stopped.
func (t *Trial) StartLoad(workers int) *Load {
	ctx, end := context.WithCancel(t.Ctx)
	l := &Load{end: end}
	for n := range workers {
		w := t.Worker(n)
		l.all.Go(func() { w.work(ctx) })
	}
	return l
}

// Worker returns the client with a number.
func (t *Trial) Worker(n int) *Worker {
	return &Worker{t: t, Number: n, Rand: rand.New(rand.NewPCG(t.Seed, uint64(n)+1))} //nolint:gosec // to be replayed
}

// Stop stops the clients, and waits for every request to end.
func (l *Load) Stop() {
	l.end()
	l.all.Wait()
}

func (w *Worker) work(ctx context.Context) {
	for ctx.Err() == nil && w.t.History.Len() < opsMax {
		w.one(ctx)
		wait := time.NewTimer(time.Duration(w.Rand.Int64N(int64(2 * think))))
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
		}
	}
}

// one makes one request, or two at once with one key. One client in four retries until
// its draw is settled. Requests are not cancelled when the load is stopped.
func (w *Worker) one(ctx context.Context) {
	o := w.next()
	o.Client = w.Number
	o.Instance = w.Rand.IntN(len(w.t.Instances))
	switch {
	case w.Rand.IntN(30) == 0:
		twin := o
		twin.Client, twin.Instance = w.Number+100, w.Rand.IntN(len(w.t.Instances))
		Parallel(2, func(n int) { w.t.Send(w.t.Ctx, []history.Op{o, twin}[n]) })
	case w.Number%4 == 3:
		ctx, end := context.WithTimeout(ctx, insistMax)
		w.t.Insist(ctx, o)
		end()
	default:
		w.t.Send(w.t.Ctx, o)
	}
	if len(w.recent) < recentMax {
		w.recent = append(w.recent, o)
	} else {
		w.recent[w.Rand.IntN(recentMax)] = o
	}
}

func (w *Worker) next() history.Op {
	dice := w.Rand.IntN(100)
	switch {
	case dice < 12 && len(w.recent) > 0:
		return w.recent[w.Rand.IntN(len(w.recent))]
	case dice < 26 && len(w.t.Small) > 0:
		p := w.t.Small[w.Rand.IntN(len(w.t.Small))]
		if p.left.Add(-1) >= 0 {
			return w.onSmall(p.Name)
		}
	case dice < 29:
		return w.Move(w.t.Pool(MainPool), int64(w.Rand.IntN(2001)-1000))
	}
	return w.draw(w.t.Pool(MainPool), 5)
}

func (w *Worker) onSmall(pool string) history.Op {
	if w.Rand.IntN(5) == 0 {
		return w.Move(pool, int64(w.Rand.IntN(9)-2))
	}
	return w.draw(pool, 3)
}

func (w *Worker) draw(pool string, countMax int) history.Op {
	o := history.Op{Kind: history.Draw, Pool: pool, Key: w.t.Key(), Count: 1}
	o.User = "user-" + o.Key
	if w.Rand.IntN(8) == 0 {
		o.Count = 1 + w.Rand.IntN(countMax)
	}
	return o
}

// Move returns a move of stock; its delta is never 0.
func (w *Worker) Move(pool string, delta int64) history.Op {
	prizes := w.t.Made[pool]
	if delta == 0 {
		delta = 1
	}
	return history.Op{Kind: history.Stock, Pool: pool, Key: w.t.Key(), Prize: prizes[w.Rand.IntN(len(prizes))].ID, Delta: delta}
}

// WatchLag measures how late this program itself is woken up, until stop is called. Its
// measurements of other programs may be wrong by as much.
func (t *Trial) WatchLag() (stop func()) {
	ctx, stop := context.WithCancel(t.Ctx)
	go func() {
		const nap = 10 * time.Millisecond
		for ctx.Err() == nil {
			began := time.Now()
			time.Sleep(nap)
			t.Lag.Store(max(t.Lag.Load(), int64(time.Since(began)-nap))) // this goroutine is the only writer
		}
	}()
	return stop
}
