package stock

import (
	"context"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// CanShare says whether batches of several pools can share a transaction. While
// the schema does not admit this binary they cannot: each is refused by itself.
func (s *Store) CanShare() bool {
	_, ok := s.engine.Attempts.(engine.Sharers)
	return ok && s.Admits() == nil
}

// ReadShared is Read for several pools at once; CanShare must say so. It waits
// for no row: ready is false for a pool whose row another session holds, and
// for one that is not there any more. Those are for an attempt of their own.
// Errors: CodeStoreUnavailable when the schema does not admit this binary, or an
// *Error with its class.
func (s *Store) ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (shared SharedTx, ready []bool, err error) {
	if err := s.Admits(); err != nil {
		return nil, nil, err
	}
	shared, ready, err = s.engine.Attempts.(engine.Sharers).ReadShared(ctx, all, o)
	if err == nil {
		for i := range all {
			ready[i] = ready[i] && !all[i].Urn.LacksSecrets() // those are read by themselves
		}
		return shared, ready, nil
	}
	urns := make([]*draw.Urn, len(all))
	for i, j := range all {
		urns[i] = j.Urn
	}
	return nil, nil, s.notRead(err, urns...)
}
