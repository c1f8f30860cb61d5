package steps

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

const (
	// claimsMax is how many claims one transaction writes.
	claimsMax = 100
	// writersMax is how many transactions write claims at once, each of another pool.
	writersMax = 2
)

// claim is a claim that waits for its transaction.
type claim struct {
	ctx       context.Context //nolint:containedctx // of the caller that waits
	ordinal   int
	actor     string
	codesAway error
	wanted    []draw.WantedStep
	// d and err are the answer, once done is closed.
	d    draw.Draw
	err  error
	done chan struct{}
}

// queue holds the claims that wait, by pool. A goroutine writes those of a pool while there
// are any: one lock of the pool's head and one commit for all that arrive meanwhile.
type queue struct {
	mu      sync.Mutex
	waiting map[string][]*claim
	writers *semaphore.Weighted
}

func newQueue() *queue {
	return &queue{waiting: map[string][]*claim{}, writers: semaphore.NewWeighted(writersMax)}
}

// wait waits for the answer to a claim, at most until its caller leaves. write sets the
// answers of claims of its pool.
func (q *queue) wait(c *claim, write func([]*claim)) (draw.Draw, error) {
	q.mu.Lock()
	waiting, isWriting := q.waiting[c.d.PoolID]
	q.waiting[c.d.PoolID] = append(waiting, c)
	q.mu.Unlock()
	if !isWriting {
		go q.writeAll(c.d.PoolID, write)
	}
	select {
	case <-c.done:
		if c.err != nil {
			return draw.Draw{}, c.err
		}
		return c.d, nil
	case <-c.ctx.Done():
		class := engine.ClassUnknown
		if q.leave(c) {
			class = engine.ClassConflict
		}
		return draw.Draw{}, engine.Public(&engine.Error{Class: class, Err: c.ctx.Err()})
	}
}

// leave removes a claim, and reports whether it still waited.
func (q *queue) leave(c *claim) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := q.waiting[c.d.PoolID]
	at := slices.Index(all, c)
	if at < 0 {
		return false
	}
	q.waiting[c.d.PoolID] = slices.Delete(all, at, at+1)
	return true
}

func (q *queue) writeAll(poolID string, write func([]*claim)) {
	for q.writeOnce(poolID, write) {
	}
}

// writeOnce writes the claims of a pool that wait, and reports whether there were any.
func (q *queue) writeOnce(poolID string, write func([]*claim)) bool {
	_ = q.writers.Acquire(context.Background(), 1) // a writer ends within the time of its callers
	defer q.writers.Release(1)
	all := q.take(poolID)
	if len(all) == 0 {
		return false
	}
	surely(all, write)
	for _, c := range all {
		close(c.done)
	}
	return true
}

// surely writes claims. A panic is the error of each.
func surely(all []*claim, write func([]*claim)) {
	defer func() {
		if p := recover(); p != nil {
			for _, c := range all {
				c.err = draw.WrapInternal(fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "a claim failed")
			}
		}
	}()
	write(all)
}

// take takes the claims that come first, one of each draw. If none wait, the pool's
// goroutine ends.
func (q *queue) take(poolID string) (taken []*claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	draws := map[string]bool{}
	q.waiting[poolID] = slices.DeleteFunc(q.waiting[poolID], func(c *claim) bool {
		if len(taken) == claimsMax || draws[c.d.ID] {
			return false
		}
		draws[c.d.ID] = true
		taken = append(taken, c)
		return true
	})
	if len(taken) == 0 {
		delete(q.waiting, poolID)
	}
	return taken
}

// latest returns a context that ends with the last deadline of the claims' callers.
func latest(all []*claim) (context.Context, context.CancelFunc) {
	ctx := context.WithoutCancel(all[0].ctx)
	var last time.Time
	for _, c := range all {
		deadline, isBound := c.ctx.Deadline()
		if !isBound {
			return ctx, func() {}
		}
		if deadline.After(last) {
			last = deadline
		}
	}
	return context.WithDeadline(ctx, last)
}
