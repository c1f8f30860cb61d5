package stock

import (
	"drawsvc/internal/draw"
	"drawsvc/internal/stock/agenda"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/publiclog"
	"drawsvc/internal/stock/schema"
	"drawsvc/internal/stock/sqlitefile"
)

// What callers say to a database and hear from it: see package engine.
type (
	// TxOptions say how an attempt at a batch is kept apart from others.
	TxOptions = engine.TxOptions
	// Fence is the fencing token of an external lock.
	Fence = engine.Fence
	// Tx is one attempt at deciding a batch.
	Tx = engine.Tx
	// SharedPool is a small batch that wants to share a transaction.
	SharedPool = engine.SharedPool
	// SharedTx is one transaction for small batches of several pools.
	SharedTx = engine.SharedTx
	// Committing is a wanted commitment of a pool to its numbers.
	Committing = publiclog.Committing
	// PublicHead is how far a committed pool has come.
	PublicHead = publiclog.PublicHead
	// Publishing reads and signs the public log of one committed pool.
	Publishing = publiclog.Publishing
	// Schema says where a database's schema stands, and what this binary knows.
	Schema = schema.Schema
	// Error is an error of the database with its meaning.
	Error = engine.Error
	// Class says what an error of a database means for the draws at hand.
	Class = engine.Class
)

// The classes, from the most harmless.
const (
	ClassOther       = engine.ClassOther
	ClassDue         = engine.ClassDue
	ClassConflict    = engine.ClassConflict
	ClassKnownKey    = engine.ClassKnownKey
	ClassStaleToken  = engine.ClassStaleToken
	ClassUnavailable = engine.ClassUnavailable
	ClassUnknown     = engine.ClassUnknown
)

// ErrForked says that the rows of a pool have another root than one that was signed.
var ErrForked = publiclog.ErrForked

// ErrInUse says that another process has the file of an embedded database.
var ErrInUse = sqlitefile.ErrInUse

// ItemFailed is what Options.Due is called with for items that cannot be done.
const ItemFailed = agenda.ItemFailed

// ReasonLockWait is the reason of a conflict with a session that holds a row
// that was waited for.
const ReasonLockWait = engine.ReasonLockWait

// The refusals of the guarded write itself.
var (
	// ErrConflict says that the pool is no longer at the head that was planned from.
	ErrConflict = engine.ErrConflict
	// ErrDue says that an item of the pool's agenda comes first.
	ErrDue = engine.ErrDue
	// ErrStaleToken says that the pool was written with a later token of the same
	// lock.
	ErrStaleToken = engine.ErrStaleToken
)

// Tables are the names of all tables that the migrations make.
func Tables() []string { return schema.Tables() }

// ClassOf returns the class of err, ClassOther when it has none.
func ClassOf(err error) Class { return engine.ClassOf(err) }

// ErrorUnavailable is the error for callers where the database refused err: nothing
// happened.
func ErrorUnavailable(err error) *draw.Error { return engine.ErrorUnavailable(err) }

// WriteRefusals lists what [Store.WriteRefusal] may return.
func WriteRefusals() []string { return engine.WriteRefusals() }
