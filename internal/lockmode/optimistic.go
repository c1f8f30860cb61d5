package lockmode

import (
	"context"

	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// optimistic reads without a lock and writes only if the pool's version is still the
// one it read; otherwise it reads again and picks again from the whole urn. The version
// is the pool's and not the prize's: with a version for each prize, "conflict, so pick
// again" would favour the rare prizes. A batch that keeps losing locks the row for its
// last attempts.
type optimistic struct{ coalescer *coalescer }

func newOptimistic(o Options) mode {
	d := newDecider(o, Optimistic)
	//double:no-turns lockLast: true => lockLast: false
	d.policy = policy{attempts: o.OptimisticAttempts, budget: o.OptimisticBudget, lockLast: true}
	return &optimistic{newCoalescer(d, o.Sharer, stock.TxOptions{})}
}

func (m *optimistic) issue(ctx context.Context, b *group.Batch) error {
	return m.coalescer.decide(ctx, b)
}
