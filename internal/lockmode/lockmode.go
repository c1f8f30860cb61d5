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
	"drawsvc/internal/group"
	"drawsvc/internal/stock"
)

// Locker is a lock outside the prize rows, one of package locker.
type Locker interface {
	// WithLock waits for the lock on key, within its own limit and ctx, and
	// runs fn while it is held. fn's context ends when the lock may be lost;
	// token grows with every holder of key and never repeats. fn's error is
	// returned as it is; draw.CodeContended says that the wait was spent,
	// draw.CodeLockUnavailable that the lock service did not answer, and in
	// both cases fn did not run.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
}

// Observer is notified of attempts, for metrics.
type Observer interface {
	// Attempted is called after each attempt: the mode, how long the transaction
	// took, and the reason for another one, "" when it was the last.
	Attempted(mode, reason string, took time.Duration)
	// StaleToken is called when the write rejected the holder of a lock because
	// a later holder had written.
	StaleToken()
}

// Store reads pools, and writes plans that were made from them or from cached
// copies of them.
type Store interface {
	Read(ctx context.Context, urn *draw.Urn, o stock.TxOptions) (stock.Tx, error)
	Resume(ctx context.Context, o stock.TxOptions) (stock.Tx, error)
	Write(ctx context.Context, p *draw.Plan, o stock.TxOptions) error
}

// Agendas does what was planned for pools.
type Agendas interface {
	// RunDue does the items of a pool's agenda that are due. Errors: a
	// *draw.Error, or a *stock.Error with its class.
	RunDue(ctx context.Context, poolID string) error
}

// Sharer begins transactions that batches of several pools share.
type Sharer interface {
	// CanShare says whether ReadShared may be called.
	CanShare() bool
	ReadShared(ctx context.Context, all []stock.SharedPool, o stock.TxOptions) (stock.SharedTx, []bool, error)
}

// Options of the modes.
type Options struct {
	Store Store
	// Agendas does what comes before the draws.
	Agendas Agendas
	// Sharer, when set, lets small batches of several pools share transactions.
	Sharer   Sharer
	Observer Observer
	Log      *slog.Logger
	// Now is the time that awards get; nil means this machine's clock.
	Now func() time.Time
	// ClockLeapt returns why draws that go by time cannot be decided now, nil where they
	// can; nil means that they always can.
	ClockLeapt func() error
	// CodesAway returns why codes of a pool cannot be handed out, nil where they can; nil
	// means that they always can.
	CodesAway func(poolID string) error
	// Mode is the service's own, for pools that name none.
	Mode string
	// Budget is the time after which a batch that met others is not attempted
	// again, in any mode.
	Budget time.Duration
	// Settle is the longest that a batch takes: it bounds the attempt under way
	// when Budget ends, and the time to find out what became of a commit whose
	// answer was lost. It is longer than Budget.
	Settle time.Duration
	// OptimisticAttempts and OptimisticBudget bound the optimistic mode,
	// whichever ends first.
	OptimisticAttempts int
	OptimisticBudget   time.Duration
	// Locker is external mode's lock. LockName, at most 64 characters of ASCII,
	// tells it from other locks: tokens are compared only with those of the
	// same lock.
	Locker   Locker
	LockName string

	// resolve is Switch.name, which New passes on to the modes.
	resolve func(ofPool string) string
	// givenUp logs what no mode could decide.
	givenUp *givenUp
}

// mode is one way of keeping two draws on one pool apart. issue returns
// errOtherMode when the pool names another.
type mode interface {
	issue(ctx context.Context, b *group.Batch) error
}

// modes is the registry: a further mode is one file and one line.
func modes(o Options) map[string]mode {
	return map[string]mode{
		ForUpdate:  newForUpdate(o),
		Optimistic: newOptimistic(o),
		External:   newExternal(o),
	}
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

// New returns a Switch. Error: CodeInvalidRequest for a mode that is not one.
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

// errOtherMode: the pool's row, just read, names another mode than the one
// that is at work.
var errOtherMode = errors.New("lockmode: the pool names another mode")

// switchesMax bounds how often a batch follows a pool whose mode is changed
// under it.
const switchesMax = 5

// Issue decides b in the mode that its pool names. The mode is known from the
// last read of the pool; when the row says otherwise, nothing has been written
// yet and the batch goes over to the other mode.
func (s *Switch) Issue(ctx context.Context, b *group.Batch) error {
	defer func() {
		if v := recover(); v != nil {
			s.log.ErrorContext(b.Context(), "a batch panicked", "mode", b.Mode(), "pool", b.Urn.PoolID, "draws", b.Draws(), "requests", b.RequestIDs(namesMax),
				"error", fmt.Errorf("panic: %v", v), "stack", string(debug.Stack()))
			panic(v) // the group answers its draws
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
				s.givenUp.settled()
				return nil
			}
			return s.giveUp(ctx, b, err)
		}
	}
	return s.giveUp(ctx, b, draw.Errorf(draw.CodeContended, "the pool's mode is being changed; this request drew nothing"))
}

// giveUp is the end of a batch that no mode decided. Its draws that the log holds are
// answered all the same.
func (s *Switch) giveUp(ctx context.Context, b *group.Batch, err error) error {
	if b.IsInDoubt() && draw.CodeOf(err) != draw.CodeInternal && draw.CodeOf(err) != draw.CodeOutcomeUnknown {
		err = errInDoubt(err) // an earlier attempt may have been committed
	}
	if waits(b, err) {
		b.WaitedInVain()
	}
	if s.replays.between(ctx, b, err) {
		return nil
	}
	return err
}

// name is the mode to use for a pool that names the given one. A name that
// this version does not know, written by a newer one, is the service's own:
// all modes are safe side by side.
func (s *Switch) name(ofPool string) string {
	if s.modes[ofPool] != nil {
		return ofPool
	}
	return s.own
}
