package draw

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Code names the error, as in the table of HTTP errors. Errors are distinguished only
// by code, never by their text.
type Code string

// The codes. Each is one row of the table in package http.
const (
	CodeInvalidRequest Code = "invalid-request"
	CodePoolNotFound   Code = "pool-not-found"
	CodePrizeNotFound  Code = "prize-not-found"
	CodeDrawNotFound   Code = "draw-not-found"
	CodeJobNotFound    Code = "job-not-found"
	CodeHookNotFound   Code = "hook-not-found"
	CodeNotFound       Code = "not-found"
	CodeSoldOut        Code = "sold-out"
	CodePoolNotOpen    Code = "pool-not-open"
	// CodePaused: the pool is paused, and a retry is worthwhile.
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
	// CodeLogForked: the rows of a committed pool differ from the signed ones.
	CodeLogForked Code = "log-forked"
	// CodeFeedForked: a pool has lost versions that were in the feed over all pools.
	CodeFeedForked Code = "feed-forked"
	// CodeRoundNotAnnounced: a pool with a beacon can be opened only with a round that
	// was announced before the beacon published it.
	CodeRoundNotAnnounced Code = "round-not-announced"
	// CodeRulesUnreadable: this binary cannot read stored data of a pool, such as rules
	// or a planned item. No request has caused that.
	CodeRulesUnreadable Code = "rules-unreadable"
	CodeJobRunning      Code = "job-running"
	// CodeClockLeapt: the database's clock has leapt, so that decisions that depend on
	// time cannot be made.
	CodeClockLeapt Code = "clock-leapt"
	CodeInternal   Code = "internal"

	// CodeCodesMissing: a prize with codes has too few of them.
	CodeCodesMissing    Code = "codes-missing"
	CodePrizeHasNoCodes Code = "prize-has-no-codes"
	CodeSealKeyMissing  Code = "seal-key-missing"

	// CodeCodeShown: the unit of a code that somebody may have seen cannot return to
	// stock. CodeCodeNotOpen: the award is not claimed yet, so its code is not shown.
	CodeCodeShown   Code = "code-shown"
	CodeCodeNotOpen Code = "code-not-open"

	CodeAwardNotFound     Code = "award-not-found"
	CodeClaimExpired      Code = "claim-expired"
	CodeNothingToClaim    Code = "nothing-to-claim"
	CodeAwardEnded        Code = "award-ended"
	CodeAwardNotFulfilled Code = "award-not-fulfilled"
)

// Error is the refusal of a request, or a failure. Detail is one sentence for the caller
// and contains nothing confidential; Err, if set, is the cause for the log.
type Error struct {
	Code   Code
	Detail string
	Err    error
	// Reached is set with CodeLimitReached.
	Reached *Reached
	// Ended is set with CodeAwardEnded and CodeClaimExpired.
	Ended *Ended
	// Line is the refused line of a file with the number of steps that were written
	// before it, nil for other errors.
	Line *RefusedLine
	// RetryAfter is how long to wait before a retry, 0 for the code's usual time.
	RetryAfter time.Duration
	// Notice is the operator's message to players, "" for none.
	Notice string
	// Member is the member of a rules document that was refused, such as limits[0].max; ""
	// for other errors.
	Member string
	// Fork is set with CodeFeedForked.
	Fork *Fork
	// KeyUnasked means that a draw with a key was refused before the key was looked up in
	// the log. An earlier request with the key may have drawn.
	KeyUnasked bool
}

// Reached is a limit that refuses a draw.
type Reached struct {
	Limit Limit
	// RetryAt is the first instant at which the limit allows the same draw, the zero
	// time for never.
	RetryAt time.Time
}

// Ended is how the life of an award has ended.
type Ended struct {
	State AwardState
	Since time.Time
}

// RefusedLine is the refused line of a file of steps, and the number of steps that were
// written before it.
type RefusedLine struct{ Line, Written int }

// Error returns code and detail, and the cause where there is one.
func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Detail, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Detail)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// quotedMax is the maximum length of a caller's name in a detail, in bytes.
const quotedMax = 100

// Quote quotes the beginning of a name that the caller chose, for a detail.
func Quote(name string) string {
	if len(name) > quotedMax {
		name = strings.ToValidUTF8(name[:quotedMax], "") + "…"
	}
	return strconv.Quote(name)
}

// Errorf returns an Error without a cause.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Wrap returns an Error around a cause. A cause that already is an *Error is returned
// unchanged, so that errors are wrapped once. For stored data that cannot be read, and
// for failures inside the service, use [WrapInternal].
func Wrap(code Code, err error, format string, args ...any) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...), Err: err}
}

// WrapInternal returns the error of stored data that cannot be read, or of any other
// failure that no request has caused. Its code is CodeInternal, whatever the code of the
// cause: a parser reports a fault of its caller, which here is the service itself.
func WrapInternal(err error, format string, args ...any) *Error {
	return &Error{Code: CodeInternal, Detail: fmt.Sprintf(format, args...), Err: err}
}

// DetailOf returns the sentence of err without its code, and the text of any other
// error.
func DetailOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Detail
	}
	return err.Error()
}

// CodeOf returns the code of err: "" for nil, CodeInternal for an error without a code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// ErrorSoldOut returns the refusal of a draw that needs more units than the pool has.
func ErrorSoldOut(poolID string) error {
	return Errorf(CodeSoldOut, "pool %q holds fewer units than asked for", poolID)
}
