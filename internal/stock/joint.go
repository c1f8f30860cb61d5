package stock

import (
	"context"

	"drawsvc/internal/draw"
)

// Joining is a small batch that wants to share a transaction.
type Joining struct {
	// Urn is that of the batch's pool; it was read before.
	Urn *draw.Urn
	// Keys are the names that callers chose for the batch's draws.
	Keys []string
	// Cached has BeginJoint leave the urn as it is, without reading the pool:
	// the plan is made from the cached copy.
	Cached bool
}

// Joint is one transaction for small batches of several pools, so that they
// share the round trips and the commit. It ends with Apply or with Rollback.
type Joint interface {
	// Apply writes the plans and commits. Each is applied as Tx.Apply does, or
	// not at all: then its pool is no longer as it was planned from, somebody
	// else holds it, or its log knows a key of the batch, and applied is false
	// for it. With an error, nothing was applied, unless its
	// class is ClassUnknown.
	Apply(ctx context.Context, plans []*draw.Plan) (applied []bool, err error)
	// Rollback ends the transaction. After Apply it does nothing.
	Rollback()
}

// joints begins joint transactions in the way of its database.
type joints interface {
	beginJoint(ctx context.Context, all []Joining, o TxOptions) (Joint, []bool, error)
}

// Joins says whether batches of several pools can share a transaction.
func (s *Store) Joins() bool {
	_, ok := s.attempts.(joints)
	return ok
}

// BeginJoint is Begin for several pools at once; Joins must say so. It waits
// for no row: ready is false for a pool that somebody else holds, and for one
// that is not there any more. Those are for a try of their own. Errors: an *Error with its class.
func (s *Store) BeginJoint(ctx context.Context, all []Joining, o TxOptions) (joint Joint, ready []bool, err error) {
	joint, ready, err = s.attempts.(joints).beginJoint(ctx, all, o)
	if err == nil {
		return joint, ready, nil
	}
	urns := make([]*draw.Urn, len(all))
	for i, j := range all {
		urns[i] = j.Urn
	}
	return nil, nil, s.notRead(err, urns...)
}
