package stock

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/odds"
	"drawsvc/internal/stock/engine"
)

// Present returns the data that a simulation of a pool needs, from one snapshot. The
// simulation begins at the time at. The data is for a draft of rules, or for the rules in
// force if draft is nil. It contains at most itemsMax open items of the agenda. Errors:
// CodePoolNotFound, and those of the store.
func (s *Store) Present(ctx context.Context, poolID string, at time.Time, draft *draw.Rules, itemsMax int) (p odds.Present, err error) {
	err = s.ledger.OfPool(ctx, poolID, func(tx *sql.Tx, _ int64) error {
		p = odds.Present{}
		if p.Pool, err = s.poolIn(ctx, tx, poolID); err != nil {
			return err
		}
		inForce, err := s.ledger.Ruling(ctx, tx, poolID, p.Pool.RulesVersion)
		if err != nil {
			return err
		}
		if p.Rules = draft; draft == nil {
			p.Rules = inForce.Rules
		}
		if itemsMax > 0 {
			if p.Items, err = s.AgendaIn(ctx, tx, poolID, 0, itemsMax, true); err != nil {
				return err
			}
		}
		return s.readSpent(ctx, tx, &p, inForce.Rules, at)
	})
	return p, err
}

// readSpent sets the amounts that were spent in the windows of all budgets of a
// simulation. For the window of the rules in force, the pool's row has the amount.
func (s *Store) readSpent(ctx context.Context, q engine.Querier, p *odds.Present, inForce *draw.Rules, at time.Time) (err error) {
	all := []*draw.Rules{p.Rules}
	for i := range p.Items {
		all = append(all, p.Items[i].Rules)
	}
	for _, r := range all {
		if r == nil || r.Budget == nil {
			continue
		}
		spent := draw.Spending{From: r.Budget.Per.Start(at, r.Zone)}
		if slices.ContainsFunc(p.SpentBefore, func(other draw.Spending) bool { return other.From.Equal(spent.From) }) {
			continue
		}
		switch now := s.Now(); {
		case r.SameWindow(inForce):
			spent = p.Pool.Spent.Before(r.Budget, at, now, r.Zone)
		case !r.Budget.HasEnded(at, now, r.Zone):
			if spent.Cents, err = s.ledger.SpentSince(ctx, q, p.Pool.ID, spent.From); err != nil {
				return err
			}
		}
		p.SpentBefore = append(p.SpentBefore, spent)
	}
	return nil
}
