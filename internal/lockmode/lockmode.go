package lockmode

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"drawsvc/internal/draw"
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

// Observer is told of the tries, for metrics.
type Observer interface {
	// Tried is called after each try: the mode, how long the transaction
	// took, and the reason for trying again, "" when it was the last.
	Tried(mode, reason string, took time.Duration)
	// StaleLock is called when the write refused the holder of a lock that a
	// later holder had outrun.
	StaleLock()
}

// Store begins the transactions in which batches are decided.
type Store interface {
	Begin(ctx context.Context, urn *draw.Urn, o stock.TxOptions) (stock.Tx, error)
	// Joins says whether BeginJoint may be called.
	Joins() bool
	// BeginJoint begins a transaction for batches of several pools.
	BeginJoint(ctx context.Context, all []stock.Joining, o stock.TxOptions) (stock.Joint, []bool, error)
}

// Options of the modes.
type Options struct {
	Store    Store
	Observer Observer
	Log      *slog.Logger
	// Mode is the service's own, for pools that name none.
	Mode string
	// Budget is the time after which a batch that met others is not tried
	// again, in any mode.
	Budget time.Duration
	// Settle is the longest that a batch takes: it bounds the try under way
	// when Budget ends, and the time to find out what became of a commit whose
	// answer was lost. It is longer than Budget.
	Settle time.Duration
	// OptimisticTries and OptimisticBudget bound the optimistic mode,
	// whichever ends first.
	OptimisticTries  int
	OptimisticBudget time.Duration
	// Locker is external mode's lock. LockName, at most 64 characters of ASCII,
	// tells it from other locks: tokens are compared only with those of the
	// same lock.
	Locker   Locker
	LockName string

	// resolve is Switch.name, which New passes on to the modes.
	resolve func(ofPool string) string
}

// mode is one way of keeping two draws on one pool apart. issue returns
// errOtherMode when the pool names another.
type mode interface {
	issue(ctx context.Context, b *draw.Batch) error
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
// draw.Issuer.
type Switch struct {
	own   string
	modes map[string]mode
}

// New returns a Switch. Error: CodeInvalidRequest for a mode that is not one.
func New(o Options) (*Switch, error) {
	s := &Switch{own: o.Mode}
	o.resolve = s.name
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
func (s *Switch) Issue(ctx context.Context, b *draw.Batch) error {
	for range switchesMax {
		name := s.name(b.Urn.Mode)
		b.SetMode(name)
		if err := s.modes[name].issue(ctx, b); !errors.Is(err, errOtherMode) {
			return inDoubt(b, err)
		}
	}
	return inDoubt(b, draw.Errorf(draw.CodeContended, "the pool's mode is being changed; nothing happened"))
}

// inDoubt keeps errors that say that nothing happened from callers whose draws
// may have been committed by an earlier try.
func inDoubt(b *draw.Batch, err error) error {
	nothingHappened := []draw.Code{draw.CodeContended, draw.CodeStoreUnavailable, draw.CodeLockUnavailable}
	if b.IsUnsure() && slices.Contains(nothingHappened, draw.CodeOf(err)) {
		return errUnsure(err)
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
