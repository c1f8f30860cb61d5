// Package agenda plans changes and moves of pools for a given time. A due item is carried
// out before the next draw or change of its pool, by the instance that makes that draw or
// change.
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

// New returns the planner of a ledger. From then on, the ledger carries out due items
// before its changes. The planner calls due with a kind of items (or ItemFailed or
// ItemLapsed) and the number of items that were carried out.
func New(l *ledger.Ledger, due func(kind draw.ItemKind, n int)) *Planner {
	p := &Planner{l, due}
	l.Agenda = beforeChange{p}
	return p
}
