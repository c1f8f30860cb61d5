package ledger

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Audited is a pool while its rows are audited, in one snapshot.
type Audited struct {
	engine.Querier
	PoolID string
	// Prizes are in the order of their creation, with their places.
	Prizes []draw.Prize
	// Returned are the units that awards have put back into stock, by prize, of the
	// awards so far: the places of their codes are empty.
	Returned map[string][]int64
}

// Judge is one part of an audit. Take, unless it is nil, checks each entry of the
// history in order; the entry's memory is valid until the next entry. End, unless it is
// nil, compares the rows with the whole history.
type Judge struct {
	Take func(draw.Entry) error
	End  func() error
}

// Found notes a violation of a rule.
type Found func(rule, format string, args ...any)
