// Package repeats counts repeated log lines instead of writing each.
package repeats

import "sync"

// Counter counts by kind; there must be few kinds. Its zero value is ready to use. It
// is safe for concurrent use.
type Counter[K comparable, V any] struct {
	mu    sync.Mutex
	kinds map[K]*V
}

// Note reports whether this is the first of its kind, which deserves a line of its own.
// Otherwise count adds it, and Take returns what was counted.
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

// Take returns what was counted since the last call. A kind for which has reports
// repeats continues to be counted; the next of any other kind is a first one again.
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
