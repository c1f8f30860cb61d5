package ledger

import (
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/proof"
	"drawsvc/internal/stock/engine"
)

// LockedPool is a pool whose row is locked. At is the time of its new entries, and Actor
// is their author. Head advances with each entry.
type LockedPool struct {
	Pool  draw.Pool // before the changes, without prizes
	Head  draw.Head
	At    time.Time
	Actor string
	// DueAt is the time of the earliest open item of the agenda, zero for none.
	DueAt time.Time
	// Committed is the version of the pool's commitment, 0 for none. Promise is the
	// commitment, if the guard has read it.
	Committed int64
	Promise   *proof.Commitment
	// Opened is the version of the change that opened the pool with a round. Round is the
	// round that was announced for its opening. Both are 0 for none.
	Opened, Round int64
}

// NewChange is a change to record, and the columns that it sets in the pool's row.
type NewChange struct {
	What draw.What
	Body any
	Set  map[string]any
}

// IsDue reports whether an item of the pool's agenda is due.
func (of *LockedPool) IsDue() bool { return !of.DueAt.IsZero() && !of.DueAt.After(of.At) }

// Unannounce withdraws the announced round, if there is one. Otherwise anyone who knows
// the round's random value and the seed could adapt the pool to the numbers.
func (of *LockedPool) Unannounce(set map[string]any) {
	if of.Round != 0 {
		of.Round, set["opening_round"], set["opening_at"] = 0, int64(0), nil
	}
}

// poolDue means that due items of the agenda must be carried out before a change.
type poolDue struct{ poolID string }

// Error implements error.
func (e *poolDue) Error() string { return "an item of the agenda is due" }

// Unwrap makes errors.As find engine.ErrDue and its class.
func (e *poolDue) Unwrap() error { return engine.ErrDue }
