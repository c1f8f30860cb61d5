package client

import (
	"bytes"
	"fmt"
	"net/http"
	"time"
)

// Code identifies a problem. GET /problems/CODE of the service explains it. A service
// may have codes that are not listed here.
type Code string

// The codes of draws that the service refused.
const (
	SoldOut     Code = "sold-out"
	PoolNotOpen Code = "pool-not-open"
	// LimitReached comes with [Error.Limit] and [Error.RetryAt].
	LimitReached         Code = "limit-reached"
	UserBlocked          Code = "user-blocked"
	SeedsSpent           Code = "seeds-spent"
	PoolNotFound         Code = "pool-not-found"
	DrawNotFound         Code = "draw-not-found"
	TicketRequired       Code = "ticket-required"
	TicketInvalid        Code = "ticket-invalid"
	TicketExpired        Code = "ticket-expired"
	KeyReused            Code = "idempotency-key-reused"
	Invalid              Code = "invalid-request"
	Unauthorized         Code = "unauthorized"
	Forbidden            Code = "forbidden"
	NotAcceptable        Code = "not-acceptable"
	BodyTooLarge         Code = "body-too-large"
	UnsupportedMediaType Code = "unsupported-media-type"
)

// The codes of draws that may be sent again, with the same key. Draw does so itself,
// and returns these codes within [Unsettled].
const (
	RequestTimeout Code = "request-timeout"
	TooManyGuesses Code = "too-many-guesses"
	Contended      Code = "contended"
	Overloaded     Code = "overloaded"
	// Paused means that the pool will open again; Notice is for the player.
	Paused           Code = "paused"
	RulesUnreadable  Code = "rules-unreadable"
	ClockLeapt       Code = "clock-leapt"
	StoreUnavailable Code = "store-unavailable"
	LockUnavailable  Code = "lock-unavailable"
	SeedUnavailable  Code = "seed-unavailable"
	SealKeyMissing   Code = "seal-key-missing"
	Draining         Code = "draining"
	Internal         Code = "internal"
	OutcomeUnknown   Code = "outcome-unknown"
)

// The codes of all other calls.
const (
	// UserNotCounted means that the rules of the pool count no users: see docs/clients.md.
	UserNotCounted    Code = "user-not-counted"
	AgendaDone        Code = "agenda-done"
	AlreadyIssued     Code = "already-issued"
	AwardEnded        Code = "award-ended"
	AwardNotFound     Code = "award-not-found"
	AwardNotFulfilled Code = "award-not-fulfilled"
	ChangedMeanwhile  Code = "changed-meanwhile"
	ClaimExpired      Code = "claim-expired"
	CodeNotOpen       Code = "code-not-open"
	CodeShown         Code = "code-shown"
	CodesMissing      Code = "codes-missing"
	HookNotFound      Code = "hook-not-found"
	JobNotFound       Code = "job-not-found"
	JobRunning        Code = "job-running"
	LogForked         Code = "log-forked"
	NotFound          Code = "not-found"
	NothingToClaim    Code = "nothing-to-claim"
	PoolClosed        Code = "pool-closed"
	PoolCommitted     Code = "pool-committed"
	PoolExists        Code = "pool-exists"
	PoolOpen          Code = "pool-open"
	PrizeExists       Code = "prize-exists"
	PrizeHasNoCodes   Code = "prize-has-no-codes"
	PrizeNotFound     Code = "prize-not-found"
	RoundNotAnnounced Code = "round-not-announced"
	RulesChanged      Code = "rules-changed"
	StockBelowIssued  Code = "stock-below-issued"
)

// FeedForked is the code of [Client.Feed] if a pool has lost versions that were in the
// feed.
const FeedForked Code = "feed-forked"

// Outcome is the outcome of a draw that is answered with a problem.
type Outcome string

// The outcomes. After OutcomeIsUnknown, a retry with the same key settles the draw.
const (
	OutcomeIsNone    Outcome = "none"
	OutcomeIsUnknown Outcome = "unknown"
)

// Limit is one limit of a pool's rules.
type Limit struct {
	// Of is "draws", "wins" or "prize"; Prize is "" unless Of is "prize".
	Of    string `json:"of"`
	Prize string `json:"prize"`
	Max   int64  `json:"max"`
	// Per is hour, day, week, month or a duration, "" for unlimited time.
	Per string `json:"per"`
}

// Error implements error, so that errors.Is compares an *Error by its code.
func (c Code) Error() string { return string(c) }

// Error is a response other than 2xx. Its request drew nothing, except for 500 and 504.
type Error struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is "" if a proxy responded instead of the service, and for a redirect.
	Code   Code   `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Notice is the message to players from the operator of a paused pool, "" for none.
	Notice string `json:"notice"`
	// Outcome is OutcomeIsNone if nothing has been drawn under the draw's key, and
	// OutcomeIsUnknown if an earlier request with the key may have drawn. It is "" for calls
	// other than draws.
	Outcome Outcome `json:"outcome"`
	// Limit is the limit that was reached, nil except for LimitReached. RetryAt is when the
	// limit will allow the same draw, the zero time for never.
	Limit   *Limit    `json:"limit"`
	RetryAt time.Time `json:"retry_at"`
	// RetryAfter is how long to wait before a retry, 0 if the response has none.
	RetryAfter time.Duration `json:"-"`
	// RequestID identifies the request in the service's log.
	RequestID string `json:"-"`

	cause error // the cause of a response that did not come from a service
}

// Error implements error.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("drawsvc: %d: %v", e.Status, e.cause)
	}
	return fmt.Sprintf("drawsvc: %d %s: %s (request %s)", e.Status, e.Code, e.Detail, e.RequestID)
}

// Unwrap returns the code, or the cause of a response without one.
func (e *Error) Unwrap() error {
	if e.cause != nil {
		return e.cause
	}
	return e.Code
}

// causeOf returns the cause of a response without a code, nil if it is not known. Go's
// servers and nginx respond with these texts to unencrypted requests.
func causeOf(status int, body []byte) error {
	if status/100 == 3 {
		return ErrRedirect
	}
	for _, text := range []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port"} {
		if status == http.StatusBadRequest && bytes.Contains(body, []byte(text)) {
			return ErrHTTPS
		}
	}
	return nil
}

// mayRetry reports whether the same request may get another response soon.
func (e *Error) mayRetry() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// isUnknown reports whether the call may have happened. A 503 of the service itself
// states whether an earlier request may have happened. A 503 of a proxy may come after
// the service has got the request.
func (e *Error) isUnknown() bool {
	return e.Status >= 500 && (e.Code == "" || e.Status != http.StatusServiceUnavailable || e.Outcome == OutcomeIsUnknown)
}

// decides reports whether the response also settles earlier requests with the key. It
// does if the service has searched for the key, or would never accept the request. The
// response to a wrong token and the response of a proxy settle nothing.
func (e *Error) decides() bool {
	return e.Code != "" && e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden
}

// Unsettled means that a call ended before the service had decided. Call again with the
// same key.
type Unsettled struct {
	Key string
	// MayHaveHappened is false if the service answered every request with 429, or with
	// 503 and the outcome none: nothing happened.
	MayHaveHappened bool
	// Err joins the context's error and that of the last request.
	Err error
}

// Error implements error.
func (u *Unsettled) Error() string {
	return fmt.Sprintf("drawsvc: the call is not settled, retry with the same key: %v", u.Err)
}

// Unwrap returns Err.
func (u *Unsettled) Unwrap() error { return u.Err }
