package engine

import (
	"context"
	"math"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
)

// TxOptions are the options for an attempt at a batch.
type TxOptions struct {
	// Lock locks the pool's row, by FOR UPDATE, until the end of the attempt. The lock
	// begins with the read, or with the write of a plan that was made without a read.
	Lock bool
	// Fence, if it names a lock, is checked by read and write.
	Fence Fence
}

// Fence is the fencing token of an external lock.
type Fence struct {
	// Lock is the name of the lock, "" for none. Tokens of different locks are not
	// compared.
	Lock string
	// Token grows with every holder of the lock. A token is stale, and rejected, if it is
	// lower than the last token of the same lock that wrote to the pool.
	Token int64
	// Reset accepts a stale token, for a lock that has lost its count and starts again
	// from a lower number.
	Reset bool
}

// TokenMax returns the highest token that a write with this fence may replace.
func (f Fence) TokenMax() int64 {
	if f.Reset {
		return math.MaxInt64
	}
	return f.Token
}

// Past reads a pool's history for an attempt.
type Past interface {
	// Draws finds the draws with the given ids in the pool's log, which it reads later
	// than the pool. Error: an *Error with its class. On a server that cannot be written
	// to, its class is ClassUnavailable, because another server may have rows that this
	// one lacks.
	Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error)
	// Turns reads the users' data that the rules need, as it is at the urn's head.
	// Without an error, the pool is still at that head (law 8). Errors: ErrConflict if
	// the pool is at a later head, or if an item of its agenda is due that was not due
	// when the urn was read; and those of Draws.
	Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error)
}

// Tx is one attempt to decide a batch, on a pool that was read. It ends with Write or
// Rollback.
type Tx interface {
	Past
	// Write is the guarded write (law 1): it commits the plan if the pool is open and
	// still at the head that the plan was made from. It moves the pool's head, raises the
	// issued counts of the prizes, and inserts the rows of awards, turns and redirects,
	// all or nothing. A plan without awards writes nothing: Write then only waits until
	// the draws that Draws has found are as safe as an acknowledged commit. Before the
	// call, the caller must look up the draws that the plan refuses and that were not
	// looked up yet (law 4). Errors: ErrConflict, ErrStaleToken, or an *Error with its
	// class.
	Write(ctx context.Context, p *urn.Plan) error
	// Rollback ends the attempt and gives the lock back. After Write it does
	// nothing.
	Rollback()
}

// SharedPool is a small batch that may share a transaction.
type SharedPool struct {
	// Urn is the urn of the batch's pool, which was read before.
	Urn *urn.Urn
	// Keys are the names that callers chose for the batch's draws.
	Keys []string
	// Cached means that the plan is made from the cached copy: ReadShared does not read
	// the pool, and leaves the urn unchanged.
	Cached bool
}

// SharedTx is one transaction for small batches of several pools, so that they share
// the round trips and the commit. It ends with Write or with Rollback.
type SharedTx interface {
	// Write writes the plans and commits. Each plan is written as by Tx.Write, or not at
	// all. written is false for a plan that was not written. Then its pool is at a later
	// version, another session holds its row, or its log holds a key of the batch. If
	// there is an error, nothing was written, unless its class is ClassUnknown.
	Write(ctx context.Context, plans []*urn.Plan) (written []bool, err error)
	// Rollback ends the transaction. After Write it does nothing.
	Rollback()
}

// Sharers begins shared transactions, in the form that suits the database.
type Sharers interface {
	// ReadShared implements stock.Store.ReadShared.
	ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (SharedTx, []bool, error)
}
