package stock

import (
	"context"

	"drawsvc/internal/draw"
)

// SharedPool is a small batch that wants to share a transaction.
type SharedPool struct {
	// Urn is that of the batch's pool; it was read before.
	Urn *draw.Urn
	// Keys are the names that callers chose for the batch's draws.
	Keys []string
	// Cached has ReadShared leave the urn as it is, without reading the pool:
	// the plan is made from the cached copy.
	Cached bool
}

// SharedTx is one transaction for small batches of several pools, so that they
// share the round trips and the commit. It ends with Write or with Rollback.
type SharedTx interface {
	// Write writes the plans and commits. Each is written as Tx.Write does, or
	// not at all: then its pool has moved on, another session holds its row, or
	// its log knows a key of the batch, and written is false for it. With an
	// error nothing was written, unless its class is ClassUnknown.
	Write(ctx context.Context, plans []*draw.Plan) (written []bool, err error)
	// Rollback ends the transaction. After Write it does nothing.
	Rollback()
}

// Sharers begins shared transactions in the way of its database.
type Sharers interface {
	// ReadShared implements Store.ReadShared.
	ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (SharedTx, []bool, error)
}

// CanShare says whether batches of several pools can share a transaction. While
// the schema does not admit this binary they cannot: each is refused by itself.
func (s *Store) CanShare() bool {
	_, ok := s.engine.Attempts.(Sharers)
	return ok && s.admission.admitted() == nil
}

// ReadShared is Read for several pools at once; CanShare must say so. It waits
// for no row: ready is false for a pool whose row another session holds, and
// for one that is not there any more. Those are for an attempt of their own.
// Errors: CodeStoreUnavailable when the schema does not admit this binary, or an
// *Error with its class.
func (s *Store) ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (shared SharedTx, ready []bool, err error) {
	if err := s.admission.admitted(); err != nil {
		return nil, nil, err
	}
	shared, ready, err = s.engine.Attempts.(Sharers).ReadShared(ctx, all, o)
	if err == nil {
		return shared, ready, nil
	}
	urns := make([]*draw.Urn, len(all))
	for i, j := range all {
		urns[i] = j.Urn
	}
	return nil, nil, s.notRead(err, urns...)
}
