package stock

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// moneyCache caches the rarely changing data on which the money of pools depends. So
// pages that watch many pools do not read it each second.
type moneyCache struct {
	mu sync.Mutex
	of map[string]keptMoney
}

// keptMoney is the cached data of one pool.
type keptMoney struct {
	rules *draw.Rules
	// version and at are the version of the rules, and the time of the change that set
	// them. The version does not identify them: after a restore, or in another pool with
	// the same id, other rules may have it.
	version int64
	at      time.Time
	// spent is the pool's spending when since was searched. since is the time of the last
	// award that cost something, zero for none.
	spent draw.Spending
	since time.Time
}

// keptMoneyMax is the maximum number of cached pools.
const keptMoneyMax = 1000

func (c *moneyCache) get(poolID string) keptMoney {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of[poolID]
}

func (c *moneyCache) put(poolID string, k keptMoney) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil || len(c.of) >= keptMoneyMax {
		c.of = map[string]keptMoney{}
	}
	c.of[poolID] = k
}

// Money returns what can be won now, given the budget and the rules of a pool that was
// read with all its prizes. Errors: those of the store.
func (s *Store) Money(ctx context.Context, p *draw.Pool) (m draw.Money, err error) {
	if p.RulesVersion == 0 && p.State != draw.StateOpen {
		return m, nil
	}
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		ruling, err := s.ledger.Ruling(ctx, tx, p.ID, p.RulesVersion)
		if err != nil {
			return err
		}
		m, err = s.moneyOf(ctx, tx, p, s.money.get(p.ID).under(ruling), s.Now())
		return err
	})
	return m, err
}

// under returns the data if it belongs to the rules that were read, otherwise only these
// rules.
func (k keptMoney) under(r draw.Ruling) keptMoney {
	if k.isOf(r.Version, r.At) {
		return k
	}
	return keptMoney{rules: r.Rules, version: r.Version, at: r.At}
}

//double:versions-only && k.at.Equal(at) =>
func (k keptMoney) isOf(version int64, at time.Time) bool {
	return k.version == version && k.at.Equal(at)
}

// moneyOf reads the result of Money under the rules in force. If this instance cannot read
// the rules, it treats them as if they withheld nothing.
func (s *Store) moneyOf(ctx context.Context, q engine.Querier, p *draw.Pool, kept keptMoney, now time.Time) (m draw.Money, err error) {
	m.Budget = kept.rules.BudgetAt(p.Spent, now)
	if p.State == draw.StateOpen && len(p.Prizes) > 0 && kept.rules.Unreadable() == nil {
		m.Nothing = kept.rules.NothingToWin(p.Prizes, m.Budget)
		m.Low = kept.rules.LowOf(p.ID, p.Prizes)
	}
	switch {
	case m.Nothing == nil:
	case m.Nothing.Why == draw.WithheldStock:
		err = s.findPlannedStock(ctx, q, p, m.Nothing)
	case m.Nothing.Why == draw.WithheldBudget:
		if !kept.spent.Is(p.Spent) {
			kept.spent = p.Spent
			kept.since, err = s.lastPaid(ctx, q, p)
		}
		if m.Nothing.Since = kept.since; kept.since.Before(m.Budget.From) {
			m.Nothing.Since = time.Time{}
		}
	}
	s.money.put(p.ID, kept)
	return m, err
}

// findPlannedStock sets n.Why to WithheldDates if the pool's agenda plans stock.
func (s *Store) findPlannedStock(ctx context.Context, q engine.Querier, p *draw.Pool, n *draw.Nothing) error {
	if p.DueAt.IsZero() {
		return nil
	}
	found, err := ledger.SelectAll(ctx, q, s.ledger.SelectFrom("agenda", "item").
		Where(squirrel.Eq{"pool_id": p.ID, "done": 0, "what": []string{string(draw.ItemStock), string(draw.ItemMoment)}}).Limit(1), ledger.ScanInt)
	if err == nil && len(found) > 0 {
		n.Why = draw.WithheldDates
	}
	return err
}

// lastPaid returns the time of the last award that cost something. It is zero if the last
// searchMax versions have no such award. SQLite stores values as text, which it sorts
// above any number.
func (s *Store) lastPaid(ctx context.Context, q engine.Querier, p *draw.Pool) (time.Time, error) {
	found, err := ledger.SelectAll(ctx, q, s.ledger.SelectAwards(p.ID).Where(squirrel.Gt{"a.version": p.Version - searchMax}).
		Where("CAST(p.value AS DECIMAL(14, 2)) > 0").OrderBy("a.version DESC").Limit(1), s.ledger.ScanAward)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0].At, nil
}

// PoolBudget is the current state of a pool's budget.
type PoolBudget struct {
	PoolID string
	draw.BudgetStanding
}

// Budgets returns the current state of the budgets of the open pools, ordered by pool.
// Errors: those of the store.
func (s *Store) Budgets(ctx context.Context) (all []PoolBudget, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		all = nil
		rulings, err := s.rulesInForce(ctx, tx, draw.StateOpen)
		if err != nil || len(rulings) == 0 {
			return err
		}
		spent := map[string]draw.Spending{}
		query := s.ledger.SelectFrom("pools", "id", "spent", "spent_from").Where(squirrel.Eq{"state": string(draw.StateOpen)}).Where(squirrel.Gt{"rules": 0})
		_, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (_ struct{}, err error) {
			var id string
			var of draw.Spending
			err = row.Scan(&id, &of.Cents, engine.ScanTime(&of.From))
			spent[id] = of
			return struct{}{}, err
		})
		now := s.Now()
		for i := range rulings {
			if b := rulings[i].Rules.BudgetAt(spent[rulings[i].PoolID], now); b != nil {
				all = append(all, PoolBudget{rulings[i].PoolID, *b})
			}
		}
		return err
	})
	return all, err
}
