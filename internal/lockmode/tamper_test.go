package lockmode_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw/urn"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock"
)

// apply replaces the guarded write of an attempt.
type apply func(ctx context.Context, tx stock.Tx, p *urn.Plan) error

// tampered is a store whose plans are all written by another function.
type tampered struct {
	lockmode.Store
	apply apply
}

type tamperedTx struct {
	stock.Tx
	apply apply
}

func (s *tampered) Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Read(ctx, urn, o)
	if err != nil {
		return nil, err
	}
	return &tamperedTx{tx, s.apply}, nil
}

func (s *tampered) Resume(ctx context.Context, o stock.TxOptions) (stock.Tx, error) {
	tx, err := s.Store.Resume(ctx, o)
	if err != nil {
		return nil, err
	}
	return &tamperedTx{tx, s.apply}, nil
}

func (s *tampered) Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error {
	return s.apply(ctx, &cachedTx{store: s.Store, options: o}, p)
}

// cachedTx is the write of a plan that was made without a read.
type cachedTx struct {
	stock.Tx
	store   lockmode.Store
	options stock.TxOptions
}

func (tx *cachedTx) Write(ctx context.Context, p *urn.Plan) error {
	return tx.store.Write(ctx, p, tx.options)
}

func (tx *cachedTx) Rollback() {}

// Write leaves plans without awards as they are, because their draws are already made.
func (tx *tamperedTx) Write(ctx context.Context, p *urn.Plan) error {
	if len(p.Awards) == 0 {
		return tx.Tx.Write(ctx, p)
	}
	return tx.apply(ctx, tx.Tx, p)
}

// applying replaces the writes of a service's plans.
func applying(a apply) edit {
	return func(s *settings) { s.Store = &tampered{s.Store, a} }
}

func applied(ctx context.Context, tx stock.Tx, p *urn.Plan) error { return tx.Write(ctx, p) }

var errCut = errors.New("the link was cut")

// answerLost commits, but the answer does not arrive.
func answerLost(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
	if err := tx.Write(ctx, p); err != nil {
		return err
	}
	return &stock.Error{Class: stock.ClassUnknown, Reason: "commit", Err: errCut}
}

// commitLost commits nothing and reports no error.
func commitLost(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
	tx.Rollback()
	return &stock.Error{Class: stock.ClassUnknown, Reason: "commit", Err: errCut}
}

// outrun fails as if another writer had been first.
func outrun(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
	tx.Rollback()
	return stock.ErrConflict
}

// unreached fails as if the database could not be reached.
func unreached(_ context.Context, tx stock.Tx, _ *urn.Plan) error {
	tx.Rollback()
	return &stock.Error{Class: stock.ClassUnavailable, Reason: "connection", Err: errCut}
}

// inTurn uses the functions one after another, and then again from the first. Services
// share it.
func inTurn(ways ...apply) apply {
	var n atomic.Int64
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		return ways[int(n.Add(1)-1)%len(ways)](ctx, tx, p)
	}
}

// door stops the first plan between its picks and its write, until the test opens it.
type door struct {
	arrived chan *urn.Plan
	open    chan struct{}
	written chan error // the result of the write
	once    sync.Once
}

func newDoor() *door {
	return &door{arrived: make(chan *urn.Plan, 1), open: make(chan struct{}), written: make(chan error, 1)}
}

func (d *door) release() { d.once.Do(func() { close(d.open) }) }

// then returns a function that writes every plan with next, but stops before the first
// one.
func (d *door) then(next apply) apply {
	var used atomic.Bool
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		if used.Swap(true) {
			return next(ctx, tx, p)
		}
		d.arrived <- p
		<-d.open
		err := next(ctx, tx, p)
		d.written <- err
		return err
	}
}

// rendezvous holds plans after their picks until a group is complete. Then it releases
// the whole group to its writes, so that they compete.
type rendezvous struct {
	size     int
	patience time.Duration

	mu    sync.Mutex
	group chan struct{}
	here  int
}

func (r *rendezvous) meet() {
	r.mu.Lock()
	if r.group == nil {
		r.group = make(chan struct{})
	}
	group := r.group
	if r.here++; r.here >= r.size {
		r.goOn()
	}
	r.mu.Unlock()
	// The last of a pool's draws may be too few for a group.
	late := time.NewTimer(r.patience)
	defer late.Stop()
	select {
	case <-group:
	case <-late.C:
	}
}

// goOn releases the waiting plans. r.mu is held.
func (r *rendezvous) goOn() {
	if r.group != nil {
		close(r.group)
		r.group, r.here = nil, 0
	}
}

// open releases all plans from now on.
func (r *rendezvous) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.size = 1
	r.goOn()
}

func (r *rendezvous) then(next apply) apply {
	return func(ctx context.Context, tx stock.Tx, p *urn.Plan) error {
		r.meet()
		return next(ctx, tx, p)
	}
}
