package http

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	nethttp "net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/draw"
)

const (
	// copyFor is how old the state of a pool may be that is shown from memory.
	copyFor = time.Second
	// copiesMax and copiesBytesMax bound the copies that are kept.
	copiesMax      = 256
	copiesBytesMax = 64 << 20
	// loadsMax is how many pools are read for copies at once.
	loadsMax = 2
)

// copies are encoded answers that many callers share: a pool is read once a
// second at most, and slow readers hold one copy together.
type copies struct {
	// encode reads a pool and encodes its answer.
	encode func(ctx context.Context, poolID string) ([]byte, error)
	// loads bounds the readings of all pools.
	loads chan struct{}

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
	// err is that there is no such pool.
	err error
	// at is the beginning of the last reading, zero before the first.
	at time.Time
}

// copied is what callers share. It is never changed.
type copied struct {
	packed
	tag string
}

func newCopied(body []byte) *copied {
	sum := sha256.Sum256(body)
	return &copied{pack(body), strconv.Quote(hex.EncodeToString(sum[:12]))}
}

// size is what an answer keeps in memory, in bytes; that of none is 0.
func (a *copied) size() int {
	if a == nil {
		return 0
	}
	return a.packed.size()
}

func newCopies(encode func(ctx context.Context, poolID string) ([]byte, error)) *copies {
	return &copies{encode: encode, loads: make(chan struct{}, loadsMax), kept: map[string]*poolCopy{}}
}

// get returns a pool's answer. Its state is not older than copyFor. Callers that
// still read an equal answer and those to come share one copy of it.
func (c *copies) get(ctx context.Context, poolID string) (*copied, error) {
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
	if err := enter(ctx, c.loads); err != nil {
		return nil, err
	}
	defer leave(c.loads)
	began := time.Now()
	body, err := c.encode(ctx, poolID)
	if err != nil && draw.CodeOf(err) != draw.CodePoolNotFound {
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
