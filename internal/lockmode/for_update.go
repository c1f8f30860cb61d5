package lockmode

import (
	"context"

	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// forUpdate holds the pool's row from the read to the commit, so that a second session
// waits: SELECT … FOR UPDATE on PostgreSQL (where FOR NO KEY UPDATE is enough) and
// MySQL, BEGIN IMMEDIATE on SQLite, which locks the whole file. A plan from the cached
// copy of the pool locks the row at the write.
type forUpdate struct{ coalescer *coalescer }

func newForUpdate(o Options) mode {
	return &forUpdate{newCoalescer(newDecider(o, ForUpdate), o.Sharer, stock.TxOptions{Lock: true})}
}

func (m *forUpdate) issue(ctx context.Context, b *group.Batch) error {
	return m.coalescer.decide(ctx, b)
}
