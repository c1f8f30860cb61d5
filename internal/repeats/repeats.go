// Package repeats counts lines of a log that repeat, in place of a line for each.
package repeats

import "sync"

// Counter counts by kind, of which there must be few. Its zero value is ready. It is
// safe for concurrent use.
type Counter[K comparable, V any] struct {
	mu    sync.Mutex
	kinds map[K]*V
}

// Note reports whether this is the first of its kind, which is worth a line of its own.
// Else count takes it in, and Take returns what was counted.
func (c *Counter[K, V]) Note(kind K, count func(*V)) (isFirst bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	counted, repeats := c.kinds[kind]
	if repeats {
		count(counted)
		return false
	}
	if c.kinds == nil {
		c.kinds = map[K]*V{}
	}
	c.kinds[kind] = new(V)
	return true
}

// Take returns what was counted since the last time. A kind that repeated, as has says,
// goes on being counted; the next of any other is a first one again.
func (c *Counter[K, V]) Take(has func(*V) bool) map[K]*V {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.kinds
	c.kinds = map[K]*V{}
	for kind, counted := range taken {
		if has(counted) {
			c.kinds[kind] = new(V)
		} else {
			delete(taken, kind)
		}
	}
	return taken
}
