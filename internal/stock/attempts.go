package stock

import (
	"cmp"
	"context"
	"errors"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/stock/engine"
)

// The types of attempts: see package engine.
type (
	// TxOptions are the options for an attempt at a batch.
	TxOptions = engine.TxOptions
	// Fence is the fencing token of an external lock.
	Fence = engine.Fence
	// Tx is one attempt at deciding a batch.
	Tx = engine.Tx
	// SharedPool is a small batch that may share a transaction.
	SharedPool = engine.SharedPool
	// SharedTx is one transaction for small batches of several pools.
	SharedTx = engine.SharedTx
	// Error is an error of the database with its class.
	Error = engine.Error
	// Class states what a database's error means for the current draws.
	Class = engine.Class
)

// The classes, starting with the most harmless one.
const (
	ClassOther       = engine.ClassOther
	ClassDue         = engine.ClassDue
	ClassConflict    = engine.ClassConflict
	ClassKnownKey    = engine.ClassKnownKey
	ClassStaleToken  = engine.ClassStaleToken
	ClassUnavailable = engine.ClassUnavailable
	ClassUnknown     = engine.ClassUnknown
)

// ReasonLockWait is the reason of a conflict with a session that holds the requested
// row.
const ReasonLockWait = engine.ReasonLockWait

// ReasonTurn is the reason of a conflict over a user's turn that already exists.
const ReasonTurn = engine.ReasonTurn

// The errors with which the guarded write refuses a plan.
var (
	// ErrConflict means that the pool has left the head that the plan was made from.
	ErrConflict = engine.ErrConflict
	// ErrKnownUser means that a user has turns although the plan supposed none.
	ErrKnownUser = engine.ErrKnownUser
	// ErrDue means that a due item of the pool's agenda comes first.
	ErrDue = engine.ErrDue
	// ErrStaleToken means that the pool was written with a later token of the same
	// lock.
	ErrStaleToken = engine.ErrStaleToken
)

// ClassOf returns the class of err, ClassOther if it has none.
func ClassOf(err error) Class { return engine.ClassOf(err) }

// ErrorUnavailable converts err, with which the database refused a statement, to an error
// for callers. It states that nothing happened.
func ErrorUnavailable(err error) *draw.Error { return engine.ErrorUnavailable(err) }

// Read begins an attempt to decide a batch on the urn's pool. It reads the pool's row,
// and the prizes that have changed since the urn's version, into the urn. With o.Lock the
// row stays locked until the attempt ends. If the pool's state does not follow from the
// cached copy, Read reads the whole pool again. Errors: CodePoolNotFound,
// CodeStoreUnavailable if the schema does not admit this binary, or an *Error with its
// class.
func (s *Store) Read(ctx context.Context, urn *urn.Urn, o TxOptions) (Tx, error) {
	if err := cmp.Or(s.engine.Refusal(), s.Admits()); err != nil {
		return nil, err
	}
	s.AskAnew(urn)
	tx, err := s.engine.Attempts.Read(ctx, urn, o)
	if errors.Is(err, engine.ErrDropped) || errors.Is(err, engine.ErrTorn) { // not a conflict with another session, so it is not counted as an attempt
		tx, err = s.engine.Attempts.Read(ctx, urn, o)
	}
	for n := 0; err == nil && urn.LacksSecrets(); n++ { // needed once for each opening and instance, and nothing is locked meanwhile
		tx.Rollback()
		if n == suppliesMax {
			return nil, s.notRead(engine.ErrDropped)
		}
		if err = s.Supply(ctx, urn); err == nil {
			tx, err = s.engine.Attempts.Read(ctx, urn, o)
		}
	}
	if err == nil {
		return &watchedTx{Tx: tx, store: s}, nil
	}
	return nil, s.notRead(err, urn)
}

// suppliesMax bounds how often one read may find that the pool was opened again.
const suppliesMax = 3

// Resume begins an attempt on a pool that was read before, without reading it again. It
// is for plans that call Turns first: Turns detects whether the pool has changed. With
// o.Lock, Turns waits for the pool's row as Read would. Errors: those of Read, except
// CodePoolNotFound.
func (s *Store) Resume(ctx context.Context, o TxOptions) (Tx, error) {
	if err := cmp.Or(s.engine.Refusal(), s.Admits()); err != nil {
		return nil, err
	}
	tx, err := s.engine.Attempts.Resume(ctx, o)
	if err != nil {
		return nil, s.notRead(err)
	}
	return &watchedTx{Tx: tx, store: s}, nil
}

// notRead returns the error of a read. Unless it is a conflict, the cached copies of the
// pools are not trusted any more.
func (s *Store) notRead(err error, urns ...*urn.Urn) error {
	err = engine.Classify(err, s.engine.ByCode)
	if class := ClassOf(err); class != ClassConflict && class != ClassStaleToken && class != ClassDue {
		for _, urn := range urns {
			urn.Invalidate()
		}
	}
	s.ledger.Observe(err)
	return err
}

// Write makes the guarded write (see [Tx]) of a plan that was made from a cached copy,
// without reading the pool first. With o.Lock it waits for the pool's row as Read would.
// Errors: those of the guarded write, and CodeStoreUnavailable if the schema does not
// admit this binary.
func (s *Store) Write(ctx context.Context, p *urn.Plan, o TxOptions) error {
	if err := s.Admits(); err != nil {
		return err
	}
	err := s.engine.Attempts.Write(ctx, p, o)
	s.ledger.Observe(err)
	return err
}

// watchedTx reports to the ledger if the server can no longer be written to.
type watchedTx struct {
	Tx
	store  *Store
	failed error
}

// Draws implements Tx.
func (tx *watchedTx) Draws(ctx context.Context, poolID string, ids []string) (map[string]draw.Draw, error) {
	found, err := tx.Tx.Draws(ctx, poolID, ids)
	tx.failed = err
	return found, err
}

// Turns implements Tx.
func (tx *watchedTx) Turns(ctx context.Context, urn *urn.Urn, needs []urn.Need) (*urn.Facts, error) {
	facts, err := tx.Tx.Turns(ctx, urn, needs)
	tx.failed = err
	return facts, err
}

// Write implements Tx. Before the write, for every engine, it looks up the draws that the
// plan refuses and that were not looked up yet (law 4). If the log holds one of them, the
// plan replays it.
func (tx *watchedTx) Write(ctx context.Context, p *urn.Plan) error {
	if names := p.Unasked(); len(names) > 0 {
		known, err := tx.Draws(ctx, p.PoolID, names)
		if err != nil {
			return err
		}
		p.Learn(known)
	}
	tx.failed = tx.Tx.Write(ctx, p)
	return tx.failed
}

// Rollback implements Tx.
func (tx *watchedTx) Rollback() {
	tx.Tx.Rollback()
	tx.store.ledger.Observe(tx.failed) // after the connection was returned
	tx.failed = nil
}

// CanShare reports whether batches of several pools can share a transaction. While the
// schema does not admit this binary they cannot, so that each batch is refused
// separately.
func (s *Store) CanShare() bool {
	_, ok := s.engine.Attempts.(engine.Sharers)
	return ok && s.Admits() == nil
}

// ReadShared is Read for several pools at once. Call it only if CanShare returns true. It
// does not wait for rows: ready is false for a pool whose row another session holds, and
// for a pool that no longer exists. Such pools need a separate attempt. Errors:
// CodeStoreUnavailable if the schema does not admit this binary, or an *Error with its
// class.
func (s *Store) ReadShared(ctx context.Context, all []SharedPool, o TxOptions) (shared SharedTx, ready []bool, err error) {
	if err := s.Admits(); err != nil {
		return nil, nil, err
	}
	shared, ready, err = s.engine.Attempts.(engine.Sharers).ReadShared(ctx, all, o)
	if err == nil {
		for i := range all {
			ready[i] = ready[i] && !all[i].Urn.LacksSecrets() // a pool that lacks its secrets needs a separate attempt
		}
		return shared, ready, nil
	}
	urns := make([]*urn.Urn, len(all))
	for i, j := range all {
		urns[i] = j.Urn
	}
	return nil, nil, s.notRead(err, urns...)
}
