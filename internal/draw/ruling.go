package draw

import "time"

// AnyRules stands among versions for that of any rules; a pool without rules has
// none.
const AnyRules int64 = -1

// Ruling is the record that rules came into force in a pool.
type Ruling struct {
	PoolID string
	// Version is the one of the change, 0 for a pool that never had rules.
	Version int64
	// Rules are nil where the change removed those before.
	Rules *Rules
	Actor string
	At    time.Time
}
