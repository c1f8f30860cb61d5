package engine

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"drawsvc/internal/draw"
)

// Class states what a database's error means for the current draws.
type Class int

// The classes, starting with the most harmless one.
const (
	// ClassOther is an unexpected error; the rows are unchanged.
	ClassOther Class = iota
	// ClassDue means that a due item of the pool's agenda comes first. Nothing was
	// written; run the item, and read again.
	ClassDue
	// ClassConflict means that another session was first. Nothing was written; read
	// again in a new transaction.
	ClassConflict
	// ClassKnownKey means that the log already holds one of the draws. Nothing was
	// written.
	ClassKnownKey
	// ClassStaleToken means that a later holder of the external lock has written.
	// Nothing was written.
	ClassStaleToken
	// ClassUnavailable means that the statement was not executed, because the database
	// is down, full, read-only, out of connections or silent.
	ClassUnavailable
	// ClassUnknown means that the transaction may have been committed.
	ClassUnknown
)

// Error is an error of the database with its class. Reason is a short word for metrics,
// such as "version", "deadlock" or "lock-wait".
type Error struct {
	Class  Class
	Reason string
	Err    error
	// undone means that the error's class holds at COMMIT too, because the database
	// answered that it rolled back, or the driver knows that nothing was sent.
	undone bool
}

// IsElsewhere reports whether another server is to be tried.
func (e *Error) IsElsewhere() bool { return e.Reason == ReasonReadOnly || e.Reason == ReasonNotReady }

// Error returns reason and cause, but not the cause of a known key: MySQL's contains
// the key.
func (e *Error) Error() string {
	if e.Err == nil || e.Class == ClassKnownKey {
		return e.Reason
	}
	return fmt.Sprintf("%s: %v", e.Reason, e.Err)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ReasonLockWait is the reason of a conflict with a session that holds the requested
// row.
const ReasonLockWait = "lock-wait"

// ReasonTurn is the reason of a conflict over a user's turn that already exists. The
// pool's row is locked first, so two plans that have read the turns cannot conflict
// there: something else has written turns.
const ReasonTurn = "turn"

// The reasons why a database accepts no writes although it may answer reads. After
// ReasonReadOnly and ReasonNotReady, another server is tried as well.
const (
	ReasonFull     = "full"
	ReasonIO       = "io"
	ReasonReadOnly = "read-only"
	ReasonNotReady = "not-ready"
)

// WriteRefusals lists the reasons for which [Error.RefusesWrites] is true.
func WriteRefusals() []string {
	return []string{ReasonFull, ReasonIO, ReasonReadOnly, ReasonNotReady}
}

// RefusesWrites reports whether the database accepts no writes, from anybody.
func (e *Error) RefusesWrites() bool { return slices.Contains(WriteRefusals(), e.Reason) }

// Sentence returns, for callers, why a statement was not executed. It contains no text of
// the database.
func (e *Error) Sentence() string {
	switch e.Reason {
	case ReasonFull:
		return "the database takes no writes: its disk is full"
	case ReasonIO:
		return "the database takes no writes: its disk fails"
	case ReasonReadOnly, ReasonNotReady:
		return "the database takes no writes: it is read-only, or a standby"
	}
	return "the database does not answer"
}

// ErrorUnavailable converts err, with which the database refused a statement, to an error
// for callers. It states that nothing happened.
func ErrorUnavailable(err error) *draw.Error {
	sentence := "the database does not answer"
	if e, ok := errors.AsType[*Error](err); ok {
		sentence = e.Sentence()
	}
	return draw.Wrap(draw.CodeStoreUnavailable, err, "%s; nothing happened", sentence)
}

// The errors with which the guarded write refuses a plan.
var (
	// ErrConflict means that the pool has left the head that the plan was made from.
	ErrConflict = &Error{Class: ClassConflict, Reason: "version"}
	// ErrKnownUser means that a user has turns although the plan supposed none.
	ErrKnownUser = Conflict("known-user", nil)
	// ErrDue means that an item of the pool's agenda is due.
	ErrDue = &Error{Class: ClassDue, Reason: "due", undone: true}
	// ErrStaleToken means that the pool was written with a later token of the same
	// lock.
	ErrStaleToken = &Error{Class: ClassStaleToken, Reason: "stale-token"}
)

// Classify gives an error its class: by its code, which byCode reads, or else as an error
// of the connection. Errors that have a class, or are for callers, are returned
// unchanged.
func Classify(err error, byCode func(error) *Error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*draw.Error](err); ok {
		return err
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	if e := byCode(err); e != nil {
		return e
	}
	if IsConnection(err) {
		return Unavailable("connection", err, errors.Is(err, driver.ErrBadConn)) // driver.ErrBadConn means that nothing was sent
	}
	return &Error{Class: ClassOther, Reason: "unexpected", Err: err}
}

// IsConnection reports whether an error means a failed connection, or an ended context.
func IsConnection(err error) bool {
	for _, known := range []error{
		context.DeadlineExceeded, context.Canceled, driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	_, ok := errors.AsType[net.Error](err)
	return ok
}

// AtCommit is Classify for an error that occurred when the commit may have been sent.
// Unless the error proves that nothing was committed, the result is unknown.
func AtCommit(err error, byCode func(error) *Error) error {
	if e, ok := errors.AsType[*Error](Classify(err, byCode)); ok && e.undone {
		return e
	}
	return &Error{Class: ClassUnknown, Reason: "commit", Err: err}
}

// BeforeCommit is Classify for an error of the last statement before a commit. The commit
// was not sent, so nothing was committed.
func BeforeCommit(err error, byCode func(error) *Error) error {
	e, ok := errors.AsType[*Error](Classify(err, byCode))
	if !ok {
		return err
	}
	own := *e
	own.undone = true
	return &own
}

// Conflict returns the error of a write that came after the write of another session.
func Conflict(reason string, err error) *Error {
	return &Error{Class: ClassConflict, Reason: reason, Err: err, undone: true}
}

// KnownKey returns the error of a key that a table already holds.
func KnownKey(err error) *Error {
	return &Error{Class: ClassKnownKey, Reason: "known-key", Err: err, undone: true}
}

// Unavailable returns the error of a statement that was not executed. undone means that
// this holds at COMMIT too.
func Unavailable(reason string, err error, undone bool) *Error {
	return &Error{Class: ClassUnavailable, Reason: reason, Err: err, undone: undone}
}

// Other returns an unexpected error. undone has the same meaning as for Unavailable.
func Other(reason string, err error, undone bool) *Error {
	return &Error{Class: ClassOther, Reason: reason, Err: err, undone: undone}
}

// ClassOf returns the class of err, ClassOther if it has none.
func ClassOf(err error) Class {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return ClassOther
}

// Public converts an error of the database to one for callers.
func Public(err error) error {
	if err == nil {
		return nil
	}
	switch ClassOf(err) {
	case ClassConflict, ClassDue:
		return draw.Wrap(draw.CodeContended, err, "the pool is busy; nothing happened")
	case ClassUnavailable:
		return ErrorUnavailable(err)
	case ClassUnknown:
		return draw.Wrap(draw.CodeOutcomeUnknown, err, "the response of the database was lost; it may or may not have happened")
	default:
		if e, ok := errors.AsType[*draw.Error](err); ok {
			return e // the transaction ran, and was refused
		}
		return draw.WrapInternal(err, "the database refused")
	}
}

// PublicRead is Public for a read. A read cannot conflict, so an error that would make it
// wait means that the database does not answer.
func PublicRead(err error) error {
	if class := ClassOf(err); class == ClassConflict || class == ClassDue {
		return draw.Wrap(draw.CodeStoreUnavailable, err, "the database keeps readers waiting; nothing happened")
	}
	return Public(err)
}

// PoolNotFound returns the error of a pool that does not exist.
func PoolNotFound(poolID string) error {
	return draw.Errorf(draw.CodePoolNotFound, "there is no pool %q", poolID)
}
