package ledger

import (
	"context"
	"database/sql"
	"log/slog"
	"sync/atomic"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock/engine"
)

// Ledger is an open database with its pools and their logs. It is safe for concurrent
// use once Agenda and Guard are set.
type Ledger struct {
	Engine *engine.Engine
	Options
	*Clock
	// Agenda and Guard are called before a change.
	Agenda Agenda
	Guard  Guard

	awards  engine.Log[draw.Award]
	moves   engine.Log[draw.Move]
	changes engine.Log[draw.Change]
	// refusal is the reason why the database accepts no writes. It is nil while the
	// database accepts them, and before the first write.
	refusal atomic.Pointer[engine.Error]
}

// Options of a Ledger.
type Options struct {
	// ReadOnly is set if the database is opened read-only.
	ReadOnly bool
	// Changed is called with the name of a pool after each change that is not a draw.
	Changed func(poolID string)
	// LeapMax is the largest leap of the database's clock that is followed at once, 0 for
	// any.
	LeapMax time.Duration
	// Machine, if set, is this machine's clock, which an SQLite database uses.
	Machine func() time.Time
	// Admits returns the reason why nothing may be written now, nil if it may.
	Admits func() error
	// Log gets the events that no caller receives as an error.
	Log *slog.Logger
}

// Agenda carries out the items of a pool's agenda that must come before a change.
type Agenda interface {
	// IsLeft reports whether other instances must carry out the first due item of a pool,
	// whose row is locked.
	IsLeft(ctx context.Context, tx *sql.Tx, of *LockedPool) (bool, error)
	// Run carries out the due items of a pool, except those that other instances must
	// carry out.
	Run(ctx context.Context, poolID string) error
	// HasOpenMoments reports whether a pool, whose row is locked, has moments that are
	// not done.
	HasOpenMoments(ctx context.Context, tx *sql.Tx, poolID string) (bool, error)
}

// Guard protects the pools' commitments.
type Guard interface {
	// MayChange returns the reason why a guarded part of a pool, whose row is locked, may
	// not be changed now. If it may, withdraws reports whether the change withdraws an
	// announced round.
	MayChange(ctx context.Context, tx *sql.Tx, of *LockedPool, what Guarded) (withdraws bool, err error)
	// CanRead returns the reason why this instance cannot read the commitment of a pool,
	// whose row is locked. Error: CodeRulesUnreadable.
	CanRead(ctx context.Context, tx *sql.Tx, of *LockedPool) error
}

// Guarded names a part of a pool that is to be changed, for use in a sentence.
type Guarded string

// The parts of a pool that a commitment may protect from changes.
const (
	MovesStock    Guarded = "its stock is moved"
	CorrectsValue Guarded = "a value is corrected"
	ChangesRules  Guarded = "its rules are changed"
	OpensByItem   Guarded = "an item of the agenda opens it"
	PlansMoment   Guarded = "a moment is planned"
)

// New returns the ledger of an open database.
func New(ctx context.Context, e *engine.Engine, o Options) *Ledger {
	return &Ledger{
		Engine: e, Options: o, Clock: newClock(ctx, e, o.LeapMax, o.Machine, o.Log),
		awards: engine.Awards(), moves: engine.Moves(), changes: engine.Changes(),
	}
}
