package locker

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queueMax is the maximum number of callers that wait for one key in this process.
const queueMax = 4096

// queue allows only one caller per key to use the lock service, in order of arrival.
// Without it, the callers of one process would overload the service. Moreover, callers
// that share a connection or a session would be mistaken for one owner.
type queue struct {
	mu sync.Mutex
	// lines has an entry for each key that a caller holds or requests. The entry contains
	// one channel for each waiting caller.
	lines map[string][]chan struct{}
}

func newQueue() *queue { return &queue{lines: make(map[string][]chan struct{})} }

// enter waits for the caller's turn on key. It fails with errBusy if until has passed or
// too many callers wait, and with ctx's error. After nil the caller must call leave.
func (q *queue) enter(ctx context.Context, key string, until time.Time) error {
	turn := q.join(key)
	if turn == nil {
		return errBusy
	}
	select {
	case <-turn:
		return nil
	default:
	}
	limit := time.NewTimer(time.Until(until))
	defer limit.Stop()
	var err error
	select {
	case <-turn:
		return nil
	case <-limit.C:
		err = errBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	q.quit(key, turn)
	return err
}

// join takes a place in the line. The channel is closed when the caller's turn has come.
// nil means that the line is full.
func (q *queue) join(key string) chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	turn := make(chan struct{})
	line, taken := q.lines[key]
	switch {
	case !taken:
		q.lines[key] = nil
		close(turn)
	case len(line) >= queueMax:
		return nil
	default:
		q.lines[key] = append(line, turn)
	}
	return turn
}

// quit gives up a place. If the turn has just come, quit passes it on.
func (q *queue) quit(key string, turn chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if i := slices.Index(q.lines[key], turn); i >= 0 {
		q.lines[key] = slices.Delete(q.lines[key], i, i+1)
		return
	}
	q.next(key)
}

// leave ends the caller's turn and wakes the next caller directly.
func (q *queue) leave(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.next(key)
}

func (q *queue) next(key string) {
	line := q.lines[key]
	if len(line) == 0 {
		delete(q.lines, key)
		return
	}
	close(line[0])
	q.lines[key] = slices.Delete(line, 0, 1)
}
