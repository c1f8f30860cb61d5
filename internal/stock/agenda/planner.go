// Package agenda plans what is to be done to pools at a time, and carries it out when
// it is due: before the next draw or change of the pool, on the instance that comes
// first.
package agenda

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/ledger"
)

// Planner holds the agendas of a ledger's pools. It is safe for concurrent use.
type Planner struct {
	ledger *ledger.Ledger
	due    func(kind draw.ItemKind, n int)
}

// New returns the planner of a ledger; from then on, the ledger's changes come after
// due items. due is called with the number of items of a kind, or of ItemFailed or
// ItemLapsed, that were carried out.
func New(l *ledger.Ledger, due func(kind draw.ItemKind, n int)) *Planner {
	p := &Planner{l, due}
	l.Agenda = beforeChange{p}
	return p
}
