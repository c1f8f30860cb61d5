package http

import (
	"bytes"
	"context"
	nethttp "net/http"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/draw"
)

const (
	// copyFor is how old the state of a pool may be that is shown from memory.
	copyFor = time.Second
	// copiesMax and copiesBytesMax bound the copies of one kind that are kept.
	copiesMax      = 256
	copiesBytesMax = 32 << 20
)

// copies are encoded answers that many callers share: a pool is read once a
// second at most, and slow readers hold one copy together.
type copies struct {
	// encode reads a pool and encodes its answer.
	encode func(ctx context.Context, poolID string) ([]byte, error)

	mu    sync.Mutex // guards kept and the copies' answer, err and at
	kept  map[string]*poolCopy
	bytes int
}

// poolCopy is the answer of one pool.
type poolCopy struct {
	// turn lets one caller read while the others wait for what it reads.
	turn chan struct{}
	// answer is nil before the first reading.
	answer *copied
	// err is that the pool has no such answer.
	err error
	// at is the beginning of the last reading, zero before the first.
	at time.Time
}

func newCopies(encode func(ctx context.Context, poolID string) ([]byte, error)) *copies {
	return &copies{encode: encode, kept: map[string]*poolCopy{}}
}

// get returns a pool's answer. Its state is not older than copyFor. Callers that
// still read an equal answer and those to come share one copy of it. place takes a
// place of the database for a reading.
func (c *copies) get(ctx context.Context, poolID string, place func(context.Context) (done func(), err error)) (*copied, error) {
	one := c.of(poolID)
	if answer, fresh, err := c.last(one); fresh {
		return answer, err
	}
	if err := enter(ctx, one.turn); err != nil {
		return nil, err
	}
	defer leave(one.turn)
	answer, fresh, err := c.last(one)
	if fresh { // read while this waited
		return answer, err
	}
	done, err := place(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	began := time.Now()
	body, err := c.encode(ctx, poolID)
	if code := draw.CodeOf(err); err != nil && code != draw.CodePoolNotFound && code != draw.CodeNotFound {
		return nil, err
	}
	if answer == nil || !bytes.Equal(body, answer.plain) {
		answer = newCopied(body)
	}
	c.keep(poolID, one, answer, err, began)
	return answer, err
}

func (c *copies) of(poolID string) *poolCopy {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.kept[poolID]
	if one == nil {
		one = &poolCopy{turn: make(chan struct{}, 1)}
		c.kept[poolID] = one
		c.evict(one)
	}
	return one
}

// last is what was read last, and whether that will do.
func (c *copies) last(one *poolCopy) (answer *copied, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return one.answer, !one.at.IsZero() && time.Since(one.at) < copyFor, one.err
}

// keep notes what was read.
func (c *copies) keep(poolID string, one *poolCopy, answer *copied, err error, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[poolID] == one {
		c.bytes += answer.size() - one.answer.size()
	}
	one.answer, one.err, one.at = answer, err, began
	c.evict(one)
}

// drop has the next caller read the pool: this instance has changed it. What
// is being read now is not kept.
func (c *copies) drop(poolID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(poolID)
}

// dropCopies drops those of a pool.
func (s *Server) dropCopies(poolID string) {
	s.copies.drop(poolID)
	s.odds.drop(poolID)
}

func (c *copies) remove(poolID string) {
	if one := c.kept[poolID]; one != nil {
		c.bytes -= one.answer.size()
		delete(c.kept, poolID)
	}
}

// evict drops the copies that were read longest ago, save the one at hand,
// until the others fit. c.mu is held.
func (c *copies) evict(save *poolCopy) {
	for len(c.kept) > 1 && (len(c.kept) > copiesMax || c.bytes > copiesBytesMax) {
		oldest := ""
		for id, one := range c.kept {
			if one != save && (oldest == "" || one.at.Before(c.kept[oldest].at)) {
				oldest = id
			}
		}
		if oldest == "" {
			return
		}
		c.remove(oldest)
	}
}

// enter takes a place, or returns an error when ctx ends before there is one.
func enter(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func leave(places chan struct{}) { <-places }

// matches says whether If-None-Match names a tag, so that the caller has the
// answer already.
func matches(h nethttp.Header, tag string) bool {
	for wanted := range strings.SplitSeq(strings.Join(h["If-None-Match"], ","), ",") {
		wanted = strings.TrimSpace(wanted)
		if wanted == "*" || plainTag(strings.TrimPrefix(wanted, "W/")) == tag {
			return true
		}
	}
	return false
}
