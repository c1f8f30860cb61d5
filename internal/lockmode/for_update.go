package lockmode

import (
	"context"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
)

// forUpdate holds the pool's row from the read to the commit, so that whoever
// comes second waits: SELECT … FOR UPDATE on PostgreSQL (where FOR NO KEY
// UPDATE is enough) and MySQL, BEGIN IMMEDIATE on SQLite, which locks the whole
// file. Of a pool that is remembered the row is locked at the write.
type forUpdate struct{ joiner *joiner }

func newForUpdate(o Options) mode {
	return &forUpdate{newJoiner(newTrier(o, ForUpdate), stock.TxOptions{Lock: true})}
}

func (m *forUpdate) issue(ctx context.Context, b *draw.Batch) error { return m.joiner.decide(ctx, b) }
