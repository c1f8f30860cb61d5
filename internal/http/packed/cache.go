package packed

import (
	"bytes"
	"context"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"drawsvc/internal/draw"
)

const (
	// KeptFor is the maximum age of a state of a pool that is shown from memory.
	KeptFor = time.Second
	// copiesMax and copiesBytesMax limit the copies that a Cache keeps.
	copiesMax      = 256
	copiesBytesMax = 32 << 20
)

// Cache keeps encoded answers that many callers share: a pool is read at most once a
// second, and slow readers share one copy.
type Cache struct {
	// encode reads a pool and encodes its answer.
	encode func(ctx context.Context, poolID string) ([]byte, error)

	mu    sync.Mutex // guards kept and the copies' answer, err and at
	kept  map[string]*poolCopy
	bytes int
}

// poolCopy is the answer of one pool.
type poolCopy struct {
	// turn allows one caller to read while the others wait for the result.
	turn *semaphore.Weighted
	// answer is nil before the first reading.
	answer *Copy
	// err is set if the pool has no such answer.
	err error
	// at is the beginning of the last reading, zero before the first.
	at time.Time
}

// NewCache returns a cache of the results of encode.
func NewCache(encode func(ctx context.Context, poolID string) ([]byte, error)) *Cache {
	return &Cache{encode: encode, kept: map[string]*poolCopy{}}
}

// Get returns a pool's answer, from a state that is not older than KeptFor. If the pool
// has not changed, a new reading returns the existing copy, which slow callers may still
// be reading. place takes a place among the calls that use the database, for a reading.
func (c *Cache) Get(ctx context.Context, poolID string, place func(context.Context) (done func(), err error)) (*Copy, error) {
	one := c.of(poolID)
	if answer, fresh, err := c.last(one); fresh {
		return answer, err
	}
	if err := one.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer one.turn.Release(1)
	answer, fresh, err := c.last(one)
	if fresh { // read while this caller waited
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
		answer = New(body)
	}
	c.keep(poolID, one, answer, err, began)
	return answer, err
}

func (c *Cache) of(poolID string) *poolCopy {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.kept[poolID]
	if one == nil {
		one = &poolCopy{turn: semaphore.NewWeighted(1)}
		c.kept[poolID] = one
		c.evict(one)
	}
	return one
}

// last returns the last reading, and whether it is fresh enough.
func (c *Cache) last(one *poolCopy) (answer *Copy, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return one.answer, !one.at.IsZero() && time.Since(one.at) < KeptFor, one.err
}

// keep stores a reading.
func (c *Cache) keep(poolID string, one *poolCopy, answer *Copy, err error, began time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept[poolID] == one {
		c.bytes += answer.size() - one.answer.size()
	}
	one.answer, one.err, one.at = answer, err, began
	c.evict(one)
}

// Drop drops the copy of a pool that this instance has changed, so that the next caller
// reads the pool again. A reading that is under way is not kept.
func (c *Cache) Drop(poolID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(poolID)
}

func (c *Cache) remove(poolID string) {
	if one := c.kept[poolID]; one != nil {
		c.bytes -= one.answer.size()
		delete(c.kept, poolID)
	}
}

// evict drops the copies that were read longest ago, except the copy save, until the
// rest fits. c.mu is held.
func (c *Cache) evict(save *poolCopy) {
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
