package draw

import (
	"errors"
	"fmt"
	"time"
)

// Code names what went wrong, in the words of the HTTP error table. Errors
// are distinguished by code alone, never by their text.
type Code string

// The codes. Each is one row of the table in package http.
const (
	CodeInvalidRequest Code = "invalid-request"
	CodePoolNotFound   Code = "pool-not-found"
	CodePrizeNotFound  Code = "prize-not-found"
	CodeDrawNotFound   Code = "draw-not-found"
	CodeJobNotFound    Code = "job-not-found"
	CodeNotFound       Code = "not-found"
	CodeSoldOut        Code = "sold-out"
	CodePoolNotOpen    Code = "pool-not-open"
	// CodePaused: the pool is paused, and a retry is worth while.
	CodePaused           Code = "paused"
	CodePoolClosed       Code = "pool-closed"
	CodePoolOpen         Code = "pool-open"
	CodePoolExists       Code = "pool-exists"
	CodePrizeExists      Code = "prize-exists"
	CodeStockBelowIssued Code = "stock-below-issued"
	CodeAlreadyIssued    Code = "already-issued"
	CodeChangedMeanwhile Code = "changed-meanwhile"
	CodeKeyReused        Code = "idempotency-key-reused"
	CodeRulesChanged     Code = "rules-changed"
	CodeAgendaDone       Code = "agenda-done"
	CodeUserNotCounted   Code = "user-not-counted"
	CodeForbidden        Code = "forbidden"
	CodeContended        Code = "contended"
	CodeOverloaded       Code = "overloaded"
	CodeStoreUnavailable Code = "store-unavailable"
	CodeLockUnavailable  Code = "lock-unavailable"
	CodeDraining         Code = "draining"
	CodeOutcomeUnknown   Code = "outcome-unknown"
	CodeTicketRequired   Code = "ticket-required"
	CodeTicketExpired    Code = "ticket-expired"
	CodeTicketInvalid    Code = "ticket-invalid"
	CodeLimitReached     Code = "limit-reached"
	CodeUserBlocked      Code = "user-blocked"
	CodePoolCommitted    Code = "pool-committed"
	CodeSeedsSpent       Code = "seeds-spent"
	CodeSeedUnavailable  Code = "seed-unavailable"
	// CodeLogForked: the rows of a committed pool are not those that were signed.
	CodeLogForked Code = "log-forked"
	// CodeRoundNotAnnounced: a pool with a beacon is opened with the round that
	// was announced before it was there, and with no other.
	CodeRoundNotAnnounced Code = "round-not-announced"
	// CodeRulesUnreadable: something is stored of a pool that this binary cannot read,
	// such as rules or a planned item. Nobody's request is wrong for it.
	CodeRulesUnreadable Code = "rules-unreadable"
	CodeJobRunning      Code = "job-running"
	// CodeClockLeapt: the database's clock has leapt, so that what goes by time cannot
	// be decided.
	CodeClockLeapt Code = "clock-leapt"
	CodeInternal   Code = "internal"

	// CodeCodesMissing: a prize with codes has too few of them.
	CodeCodesMissing    Code = "codes-missing"
	CodePrizeHasNoCodes Code = "prize-has-no-codes"
	CodeSealKeyMissing  Code = "seal-key-missing"
)

// Error is an answer that is not a prize. Detail is one sentence for the
// caller and carries nothing that an outsider may not read; Err, when set, is
// the cause for the log.
type Error struct {
	Code   Code
	Detail string
	Err    error
	// Reached is set with CodeLimitReached.
	Reached *Reached
	// RetryAfter is how long to wait before a retry, 0 for what the code says.
	RetryAfter time.Duration
	// Notice is what the operator says to players, "" for nothing.
	Notice string
	// KeyUnasked says of a draw with a key that it was refused before the log was asked
	// for the key: an earlier request may have drawn.
	KeyUnasked bool
}

// Reached is a limit that refuses a draw.
type Reached struct {
	Limit Limit
	// RetryAt is the first instant at which the limit lets the same draw pass,
	// the zero time for never.
	RetryAt time.Time
}

// Error returns code and detail, and the cause where there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error without a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap makes an Error around a cause. A cause that is an *Error already is
// returned as it is, so that errors are wrapped once. What is stored, and what fails
// inside the service, is wrapped by [WrapInternal].
func Wrap(code Code, err error, format string, args ...any) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...), Err: err}
}

// WrapInternal is the error of something stored that cannot be read, and of any other
// failure that no request has caused. Its code is CodeInternal, whatever the code of
// the cause: a parser blames its caller, and here the caller is the service.
func WrapInternal(err error, format string, args ...any) *Error {
	return &Error{Code: CodeInternal, Detail: fmt.Sprintf(format, args...), Err: err}
}

// DetailOf is the sentence of err without its code, and what any other error
// says.
func DetailOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Detail
	}
	return err.Error()
}

// CodeOf returns the code of err: "" for nil, CodeInternal for an error that
// nobody named.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrorSoldOut is the refusal of a draw that the pool does not cover.
func ErrorSoldOut(poolID string) error {
	return Errorf(CodeSoldOut, "pool %q holds fewer units than asked for", poolID)
}
