package steps

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// claimsMax is how many claims one transaction writes.
const claimsMax = 32

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

// queue holds the claims that wait. While there are any, a goroutine writes them, pool
// after pool. One transaction writes the claims of a pool that arrived during the one
// before, with one lock and one commit.
type queue struct {
	log *slog.Logger
	mu  sync.Mutex
	// waiting holds the claims by pool. pools lists the pools that have claims, in the
	// order of their turns.
	waiting   map[string][]*claim
	pools     []string
	isWriting bool
}

func newQueue(log *slog.Logger) *queue { return &queue{log: log, waiting: map[string][]*claim{}} }

// wait waits for the answer to a claim, at most until its caller leaves. write sets the
// answers of claims of one pool.
func (q *queue) wait(c *claim, write func(poolID string, all []*claim)) (draw.Draw, error) {
	if q.add(c) {
		go func() {
			for poolID, all := q.take(); len(all) > 0; poolID, all = q.take() {
				q.writeAll(poolID, all, write)
			}
		}()
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

// add adds a claim. isFirst means that the caller has to start the goroutine.
func (q *queue) add(c *claim) (isFirst bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	poolID := c.d.PoolID
	if len(q.waiting[poolID]) == 0 {
		q.pools = append(q.pools, poolID)
	}
	q.waiting[poolID] = append(q.waiting[poolID], c)
	isFirst = !q.isWriting
	q.isWriting = true
	return isFirst
}

// leave removes a claim, and reports whether it still waited.
func (q *queue) leave(c *claim) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	poolID := c.d.PoolID
	at := slices.Index(q.waiting[poolID], c)
	if at < 0 {
		return false
	}
	if q.waiting[poolID] = slices.Delete(q.waiting[poolID], at, at+1); len(q.waiting[poolID]) == 0 {
		delete(q.waiting, poolID)
		q.pools = slices.DeleteFunc(q.pools, func(id string) bool { return id == poolID })
	}
	return true
}

// take takes the first claims of the pool whose turn it is, at most one for each draw. If
// no pool has claims, the goroutine ends.
func (q *queue) take() (poolID string, taken []*claim) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pools) == 0 {
		q.isWriting = false
		return "", nil
	}
	poolID, q.pools = q.pools[0], q.pools[1:]
	draws := map[string]bool{}
	left := slices.DeleteFunc(q.waiting[poolID], func(c *claim) bool {
		if len(taken) == claimsMax || draws[c.d.ID] {
			return false
		}
		draws[c.d.ID] = true
		taken = append(taken, c)
		return true
	})
	if q.waiting[poolID] = left; len(left) > 0 {
		q.pools = append(q.pools, poolID)
	} else {
		delete(q.waiting, poolID)
	}
	return poolID, taken
}

// writeAll writes claims of one pool. A panic is the error of each.
func (q *queue) writeAll(poolID string, all []*claim, write func(string, []*claim)) {
	defer func() {
		if p := recover(); p != nil {
			q.log.Error("claims panicked", "pool", poolID, "error", fmt.Sprint(p), "stack", string(debug.Stack()))
			for _, c := range all {
				c.err = draw.WrapInternal(fmt.Errorf("panic: %v", p), "a claim failed")
			}
		}
		for _, c := range all {
			close(c.done)
		}
	}()
	write(poolID, all)
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
