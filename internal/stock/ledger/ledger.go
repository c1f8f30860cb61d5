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
	// Agenda and Guard are consulted before a change.
	Agenda Agenda
	Guard  Guard

	awards  engine.Log[draw.Award]
	moves   engine.Log[draw.Move]
	changes engine.Log[draw.Change]
	// refusal is why the database accepts no writes; nil while it accepts them, and
	// before the first write.
	refusal atomic.Pointer[engine.Error]
}

// Options of a Ledger.
type Options struct {
	// ReadOnly is set if the database is opened read-only.
	ReadOnly bool
	// Changed is called with every pool that was changed other than by a draw.
	Changed func(poolID string)
	// LeapMax is the maximum leap of the database's clock that is followed at once, 0
	// for any.
	LeapMax time.Duration
	// Machine, if set, is this machine's clock, which an SQLite database uses.
	Machine func() time.Time
	// Admits returns why nothing may be written now, nil if it may.
	Admits func() error
	// Log gets the events that no caller receives as an error.
	Log *slog.Logger
}

// Agenda comes before a pool's changes.
type Agenda interface {
	// IsLeft reports whether the first due item of a pool, whose row is locked, is left
	// to other instances.
	IsLeft(ctx context.Context, tx *sql.Tx, of *LockedPool) (bool, error)
	// Run carries out the due items of a pool, except those that are left to other
	// instances.
	Run(ctx context.Context, poolID string) error
	// HasOpenMoments reports whether a pool, whose row is locked, has moments that are
	// not done.
	HasOpenMoments(ctx context.Context, tx *sql.Tx, poolID string) (bool, error)
}

// Guard knows the pools' commitments.
type Guard interface {
	// MayChange returns the reason why a guarded part of a pool, whose row is locked,
	// may not be changed now, and reports whether the change withdraws an announced
	// round.
	MayChange(ctx context.Context, tx *sql.Tx, of *LockedPool, what Guarded) (withdraws bool, err error)
	// CanRead returns why this instance cannot read the commitment of a pool, whose row
	// is locked. Error: CodeRulesUnreadable.
	CanRead(ctx context.Context, tx *sql.Tx, of *LockedPool) error
}

// Guarded names the part of a pool that would be changed, for use in a sentence.
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
