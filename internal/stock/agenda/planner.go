// Package agenda plans what is to be done to pools at a time, and does it when it is
// due: before the next draw or change of the pool, by whichever instance comes first.
package agenda

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// Planner keeps the agendas of a ledger's pools. It is safe for concurrent use.
type Planner struct {
	ledger *ledger.Ledger
	due    func(kind draw.ItemKind, n int)
}

// New returns the planner of a ledger, whose changes come after what is due from then
// on. due is called with the number of items that were done of a kind, or of ItemFailed.
func New(l *ledger.Ledger, due func(kind draw.ItemKind, n int)) *Planner {
	p := &Planner{l, due}
	l.Agenda = beforeChange{p}
	return p
}
