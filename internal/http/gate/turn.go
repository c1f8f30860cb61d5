package gate

import (
	"context"
	"sync"
)

// Turn is a place that one call holds at a time, for work that takes a processor. A
// call of a higher rank ends the work of the call that holds the place, so that a lower
// rank cannot block a higher one. The zero Turn is free.
type Turn struct {
	mu     sync.Mutex
	holder *holder // nil while the place is free
}

// holder is a call that holds a turn; left is closed when it gives the place back.
type holder struct {
	rank Rank
	end  context.CancelCauseFunc
	left chan struct{}
}

// Take takes the place until done is called, which must happen once. It waits only for
// a holder of a lower rank to leave, and only until ctx ends. It reports whether it got
// the place. The work must end when the context held ends; its cause is outranked if a
// call of a higher rank wants the place.
func (t *Turn) Take(ctx context.Context, of Rank, outranked error) (held context.Context, done func(), ok bool) {
	held, end := context.WithCancelCause(ctx)
	self := &holder{of, end, make(chan struct{})}
	for {
		holding := t.try(self)
		if holding == self {
			return held, func() { t.leave(self) }, true
		}
		if holding.rank >= of {
			end(nil)
			return nil, nil, false
		}
		holding.end(outranked)
		select {
		case <-holding.left:
		case <-ctx.Done():
			end(nil)
			return nil, nil, false
		}
	}
}

// try gives the place to a call if it is free. It returns the holder of the place.
func (t *Turn) try(self *holder) *holder {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holder == nil {
		t.holder = self
	}
	return t.holder
}

func (t *Turn) leave(self *holder) {
	t.mu.Lock()
	t.holder = nil
	t.mu.Unlock()
	self.end(nil)
	close(self.left)
}
