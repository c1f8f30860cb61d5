package draw

import (
	"time"

	"github.com/shopspring/decimal"
)

// CountMax is the most units that one draw may ask for.
const CountMax = 100

// Request is one request to win.
type Request struct {
	PoolID string
	UserID string
	// DrawID is the draw's name: within a pool it is drawn once, ever.
	DrawID string
	// Named says that the caller chose DrawID, so that it may be known
	// already. A name that the service made is new by construction and is
	// never looked up.
	Named bool
	// Count is the number of units wanted, 1 to CountMax, all or none.
	Count int
}

// Award is the durable record that a draw took one unit.
type Award struct {
	// Version is the pool's version that this award made, from 1.
	Version int64
	DrawID  string
	// Ordinal is the place of this unit in its draw, from 1.
	Ordinal int
	UserID  string
	PrizeID string
	// PrizeName and Value are the prize's, which never change.
	PrizeName string
	Value     decimal.Decimal
	// Unit counts the prize's issued units, from 1.
	Unit int64
	// At is the time of the decision, UTC, to the microsecond.
	At time.Time
}

// Draw is the answer to a Request: its awards in order of their ordinals.
type Draw struct {
	ID       string
	PoolID   string
	UserID   string
	Replayed bool
	Awards   []Award
}
