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
	// Returned lists, by prize, the units that awards have put back into stock, as far as
	// the audit has read. The places of their codes are empty.
	Returned map[string][]int64
}

// Judge is one part of an audit. Take checks each entry of the history, in order. The
// memory of an entry is valid only until the next entry. End compares the rows with the
// whole history. Take or End may be nil.
type Judge struct {
	Take func(draw.Entry) error
	End  func() error
}

// Found notes a violation of a rule.
type Found func(rule, format string, args ...any)
