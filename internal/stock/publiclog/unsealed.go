package publiclog

import (
	"sync"

	"drawsvc/internal/proof"
)

// unsealedMax is the maximum number of commitments that a process keeps unsealed. If one
// was dropped to make room, it is unsealed again when needed, in less than a millisecond.
const unsealedMax = 256

// unsealed holds the unsealed parts of the commitment with the given note. Each part is
// nil until it is needed.
type unsealed struct {
	note    string
	numbers *proof.Numbers
	signing *signing
}

// signing signs receipts, and holds the salts of their tags.
type signing struct {
	*proof.Receipts
	salts proof.Salts
}

// unsealedCache keeps unsealed secrets, and records the pools whose secrets could not
// be unsealed. It is safe for concurrent use.
type unsealedCache struct {
	mu     sync.Mutex
	byPool map[string]unsealed
	// away holds pools whose secrets could not be unsealed, at most unsealedMax.
	away map[string]bool
}

// find returns the unsealed secrets of the commitment of a pool that has the given note.
// After a restore to an earlier time, a pool may be committed a second time, with another
// note.
func (c *unsealedCache) find(poolID, note string) unsealed {
	c.mu.Lock()
	defer c.mu.Unlock()
	if u := c.byPool[poolID]; u.note == note {
		return u
	}
	return unsealed{note: note}
}

// keep stores the unsealed secrets of a pool's commitment. They replace those of an
// earlier commitment of the pool.
func (c *unsealedCache) keep(poolID string, u unsealed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byPool == nil {
		c.byPool = map[string]unsealed{}
	}
	if _, known := c.byPool[poolID]; !known && len(c.byPool) >= unsealedMax {
		for other := range c.byPool { // drops any one
			delete(c.byPool, other)
			break
		}
	}
	c.byPool[poolID] = u
}

// drop drops all unsealed secrets.
func (c *unsealedCache) drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byPool)
	clear(c.away)
}

// noteAway records whether the pool's secrets could not be unsealed.
func (c *unsealedCache) noteAway(poolID string, isAway bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !isAway:
		delete(c.away, poolID)
	case c.away == nil:
		c.away = map[string]bool{poolID: true}
	case len(c.away) < unsealedMax: // a single one is enough for isAnyAway
		c.away[poolID] = true
	}
}

// isAnyAway reports whether the secrets of any pool could not be unsealed.
func (c *unsealedCache) isAnyAway() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.away) > 0
}
