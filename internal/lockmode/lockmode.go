package lockmode

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/urn"
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// Locker is a lock outside the prize rows; package locker provides them.
type Locker interface {
	// WithLock waits for the lock on key, within its own limit and ctx, and runs fn while
	// the lock is held. fn's context ends when the lock may be lost. token grows with
	// every holder of key, and never repeats. fn's error is returned unchanged.
	// draw.CodeContended means that the wait timed out, and draw.CodeLockUnavailable
	// means that the lock service did not answer; in both cases fn did not run.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
}

// Observer is notified of attempts, for metrics.
type Observer interface {
	// Attempted is called after each attempt with the mode, the duration of the
	// transaction, and the reason for another attempt, "" if none follows.
	Attempted(mode, reason string, took time.Duration)
	// DatabaseFailed is called after each attempt that failed because the database failed
	// or was not available. The reason is one of a few words. Conflicts do not count.
	DatabaseFailed(reason string)
	// StaleToken is called when the write rejected the token of a lock's holder because
	// a later holder had written.
	StaleToken()
}

// Store reads pools. It writes plans, which were made after a read or from cached copies.
type Store interface {
	Read(ctx context.Context, urn *urn.Urn, o stock.TxOptions) (stock.Tx, error)
	Resume(ctx context.Context, o stock.TxOptions) (stock.Tx, error)
	Write(ctx context.Context, p *urn.Plan, o stock.TxOptions) error
}

// Agendas carries out the agendas of pools.
type Agendas interface {
	// RunDue carries out the due items of a pool's agenda. Errors: a *draw.Error, or a
	// *stock.Error with its class.
	RunDue(ctx context.Context, poolID string) error
}

// Sharer begins transactions that batches of several pools share.
type Sharer interface {
	// CanShare reports whether ReadShared may be called.
	CanShare() bool
	ReadShared(ctx context.Context, all []stock.SharedPool, o stock.TxOptions) (stock.SharedTx, []bool, error)
}

// Options of the modes.
type Options struct {
	Store Store
	// Agendas carries out due items before the draws.
	Agendas Agendas
	// Sharer, when set, lets small batches of several pools share transactions.
	Sharer   Sharer
	Observer Observer
	Log      *slog.Logger
	// Now returns the time for awards; nil means this machine's clock.
	Now func() time.Time
	// ClockLeapt returns why draws that depend on time cannot be decided now, nil if
	// they can; a nil function means that they always can.
	ClockLeapt func() error
	// CodesAway returns why codes of a pool cannot be handed out, nil if they can; a nil
	// function means that they always can.
	CodesAway func(poolID string) error
	// Mode is the service's own mode, for pools that name none.
	Mode string
	// Budget is the time after which a batch that met conflicts is not attempted again,
	// in any mode.
	Budget time.Duration
	// Settle is the maximum time that a batch takes. It bounds the attempt that is under
	// way when Budget ends. It also bounds the search for the result of a commit whose
	// response was lost. It is longer than Budget.
	Settle time.Duration
	// OptimisticAttempts and OptimisticBudget bound the optimistic mode; whichever ends
	// first applies.
	OptimisticAttempts int
	OptimisticBudget   time.Duration
	// Locker is the lock of external mode. LockName identifies it, with at most 64 ASCII
	// characters: only tokens of the same lock are compared.
	Locker   Locker
	LockName string

	// resolve is Switch.name, which New passes to the modes.
	resolve func(ofPool string) string
	// givenUp logs batches that no mode could decide.
	givenUp *givenUp
}

// mode is one kind of concurrency control. issue returns errOtherMode if the pool names
// another mode.
type mode interface {
	issue(ctx context.Context, b *group.Batch) error
}

// modes is the registry. To add a mode, add its type and a line here.
func modes(o Options) map[string]mode {
	return map[string]mode{
		ForUpdate:  newForUpdate(o),
		Optimistic: newOptimistic(o),
		External:   newExternal(o),
	}
}

// rowMode is a mode without a lock outside the database.
type rowMode struct{ coalescer *coalescer }

// newForUpdate returns the mode that holds the pool's row from the read to the commit, so
// that a second session waits. It uses SELECT … FOR UPDATE on PostgreSQL (where FOR NO KEY
// UPDATE is enough) and MySQL. On SQLite it uses BEGIN IMMEDIATE, which locks the whole
// file. A plan from the cached copy of the pool locks the row at the write.
func newForUpdate(o Options) mode {
	return rowMode{newCoalescer(newDecider(o, ForUpdate), o.Sharer, stock.TxOptions{Lock: true})}
}

// newOptimistic returns the mode that reads without a lock and writes only if the pool's
// version is still the one it read; otherwise it reads again and picks again from the whole
// urn. There is one version for the pool, not one for each prize. With a version for each
// prize, a pick after a conflict would favour the rare prizes. A batch that loses
// repeatedly locks the row for its last attempts.
func newOptimistic(o Options) mode {
	d := newDecider(o, Optimistic)
	//double:no-turns lockLast: true => lockLast: false
	d.policy = policy{attempts: o.OptimisticAttempts, budget: o.OptimisticBudget, lockLast: true}
	return rowMode{newCoalescer(d, o.Sharer, stock.TxOptions{})}
}

// issue decides b. If other small batches are waiting, it first attempts b together with
// them.
func (m rowMode) issue(ctx context.Context, b *group.Batch) error {
	c := m.coalescer
	leave, wasShared := c.join(b)
	defer leave()
	if b.IsSettled() {
		return nil
	}
	return c.decider.decide(ctx, b, c.options, !wasShared)
}

// The names of the modes.
const (
	ForUpdate  = "for-update"
	Optimistic = "optimistic"
	External   = "external"
)

// Names returns the names of all modes, in alphabetical order.
func Names() []string {
	var names []string
	for name := range modes(Options{}) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Switch decides each batch in the mode of its pool. It implements
// group.Issuer.
type Switch struct {
	own     string
	modes   map[string]mode
	replays replayer
	log     *slog.Logger
	givenUp *givenUp
}

// New returns a Switch. Error: CodeInvalidRequest for an unknown mode.
func New(o Options) (*Switch, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ClockLeapt == nil {
		o.ClockLeapt = func() error { return nil }
	}
	if o.CodesAway == nil {
		o.CodesAway = func(string) error { return nil }
	}
	s := &Switch{own: o.Mode, replays: newReplayer(o), log: o.Log, givenUp: newGivenUp(o.Log)}
	o.resolve, o.givenUp = s.name, s.givenUp
	s.modes = modes(o)
	if s.modes[o.Mode] == nil {
		return nil, draw.Errorf(draw.CodeInvalidRequest, "mode must be one of %v", Names())
	}
	return s, nil
}

// errOtherMode means that the pool's row, just read, names another mode than the
// current one.
var errOtherMode = errors.New("lockmode: the pool names another mode")

// switchesMax bounds how often a batch follows changes of its pool's mode.
const switchesMax = 5

// Issue decides b in the mode that its pool names. The mode is known from the last read
// of the pool. If the pool's row names another mode, nothing has been written yet, and
// the batch is decided in that mode.
func (s *Switch) Issue(ctx context.Context, b *group.Batch) error {
	defer func() {
		if v := recover(); v != nil {
			s.log.ErrorContext(b.Context(), "a batch panicked", "mode", b.Mode(), "pool", b.Urn.PoolID, "draws", b.Draws(), "requests", b.RequestIDs(namesMax),
				"error", fmt.Errorf("panic: %v", v), "stack", string(debug.Stack()))
			panic(v) // the group answers the batch's draws
		}
	}()
	b.SetMode(s.name(b.Urn.Mode))
	if s.replays.between(ctx, b, nil) {
		return nil
	}
	for range switchesMax {
		name := s.name(b.Urn.Mode)
		b.SetMode(name)
		if err := s.modes[name].issue(ctx, b); !errors.Is(err, errOtherMode) {
			if err == nil {
				s.givenUp.noteDecided()
				return nil
			}
			return s.giveUp(ctx, b, err)
		}
	}
	return s.giveUp(ctx, b, draw.Errorf(draw.CodeContended, "the pool's mode is being changed; this request drew nothing"))
}

// giveUp ends a batch that no mode decided. Draws that the log holds are still
// answered.
func (s *Switch) giveUp(ctx context.Context, b *group.Batch, err error) error {
	if b.IsInDoubt() && draw.CodeOf(err) != draw.CodeInternal && draw.CodeOf(err) != draw.CodeOutcomeUnknown {
		err = errInDoubt(err) // an earlier attempt may have been committed
	}
	if mustWait(b, err) {
		b.WaitedInVain()
	}
	if s.replays.between(ctx, b, err) {
		return nil
	}
	return err
}

// name returns the mode to use for a pool that names the given one. For an unknown
// name, which a newer version wrote, it returns the service's own mode: modes may be
// mixed safely.
func (s *Switch) name(ofPool string) string {
	if s.modes[ofPool] != nil {
		return ofPool
	}
	return s.own
}
