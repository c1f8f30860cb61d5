package stock

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/schema"
	"drawsvc/internal/stock/sqlitefile"
)

// The types that callers send to a database and receive from it: see package engine.
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
	// Committing is a request to commit a pool to its numbers.
	Committing = publiclog.Committing
	// PublicHead is the state of a committed pool.
	PublicHead = publiclog.PublicHead
	// SignedHead states how much of the log of a committed pool is signed.
	SignedHead = publiclog.SignedHead
	// Publishing reads and signs the public log of one committed pool.
	Publishing = publiclog.Publishing
	// Schema describes a database's schema by its version, together with the versions
	// that this binary knows.
	Schema = schema.Schema
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

// ErrForked means that the root of a pool's rows differs from a signed root.
var ErrForked = publiclog.ErrForked

// ErrInUse means that another process has the file of an embedded database.
var ErrInUse = sqlitefile.ErrInUse

// The kinds with which Options.Due is called for items that were not carried out.
const (
	// ItemFailed counts items that could not be carried out.
	ItemFailed = agenda.ItemFailed
	// ItemLapsed counts items whose pool was closed before they were due.
	ItemLapsed = agenda.ItemLapsed
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

// Tables returns the names of all tables that the migrations create.
func Tables() []string { return schema.Tables() }

// ClassOf returns the class of err, ClassOther if it has none.
func ClassOf(err error) Class { return engine.ClassOf(err) }

// ErrorUnavailable converts err, with which the database refused a statement, to an error
// for callers. It states that nothing happened.
func ErrorUnavailable(err error) *draw.Error { return engine.ErrorUnavailable(err) }

// WriteRefusals lists the possible results of [Store.WriteRefusal].
func WriteRefusals() []string { return engine.WriteRefusals() }
