// Package agenda plans what is to be done to pools at a time, and does it when it is
// due: before the next draw or change of the pool, by whichever instance comes first.
package agenda

import (
	"context"
	"database/sql"

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

// beforeChange is what the ledger knows of the planner.
type beforeChange struct{ planner *Planner }

// IsLeft implements ledger.Agenda.
func (b beforeChange) IsLeft(ctx context.Context, tx *sql.Tx, of *ledger.LockedPool) (bool, error) {
	first, err := b.planner.dueItems(ctx, tx, of.Pool.ID, of.At, 1)
	if err != nil || len(first) == 0 {
		return false, err
	}
	why, err := b.planner.whyLeft(ctx, tx, of, &first[0])
	return why != nil, err
}

// Run implements ledger.Agenda.
func (b beforeChange) Run(ctx context.Context, poolID string) error {
	if _, err := b.planner.runDue(ctx, poolID); err != nil && !ledger.IsUnreadable(err) {
		return err
	}
	return nil
}
