package client

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Code names a problem. GET /problems/CODE of the service explains it. A
// service may have codes that are not listed here.
type Code string

// The codes that callers who draw decide by.
const (
	SoldOut     Code = "sold-out"
	PoolNotOpen Code = "pool-not-open"
	// Paused: the pool opens again; Notice is for the player.
	Paused       Code = "paused"
	PoolNotFound Code = "pool-not-found"
	DrawNotFound Code = "draw-not-found"
	KeyReused    Code = "idempotency-key-reused"
	Invalid      Code = "invalid-request"
	Unauthorized Code = "unauthorized"
	Forbidden    Code = "forbidden"
)

// Error implements error, so that errors.Is compares an *Error by its code.
func (c Code) Error() string { return string(c) }

// Error is a response that is no success. The request that it answers drew nothing,
// but for 500 and 504.
type Error struct {
	// Status is the HTTP status.
	Status int `json:"-"`
	// Code is "" where a proxy answered and not the service.
	Code   Code   `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Notice is what the operator of a paused pool says to players, "" for nothing.
	Notice string `json:"notice"`
	// Outcome of a draw is "none" where nothing has happened under its key, and "unknown"
	// where an earlier request with the key may have drawn; "" of other calls.
	Outcome string `json:"outcome"`
	// RetryAfter is how long to wait before a retry, 0 where it was not said.
	RetryAfter time.Duration `json:"-"`
	// RequestID names the request in the service's log.
	RequestID string `json:"-"`

	cause error // of a response that no service gave
}

// ErrHTTPS says that the service speaks HTTPS, while the URL says http.
var ErrHTTPS = errors.New("the service speaks HTTPS: its URL must begin with https://")

// Error implements error.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("drawsvc: %d: %v", e.Status, e.cause)
	}
	return fmt.Sprintf("drawsvc: %d %s: %s (request %s)", e.Status, e.Code, e.Detail, e.RequestID)
}

// Unwrap returns the code, or what is known of a response without one.
func (e *Error) Unwrap() error {
	if e.cause != nil {
		return e.cause
	}
	return e.Code
}

// causeOf is what the text of a response without a code gives away. Go's servers and
// nginx answer so to what is not encrypted.
func causeOf(status int, body []byte) error {
	for _, text := range []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port"} {
		if status == http.StatusBadRequest && bytes.Contains(body, []byte(text)) {
			return ErrHTTPS
		}
	}
	return nil
}

// mayRetry says whether the same request may get another response soon.
func (e *Error) mayRetry() bool {
	return e.Status >= 500 || e.Status == http.StatusTooManyRequests || e.Status == http.StatusRequestTimeout
}

// isUnknown says whether the call may have happened. The service's own responses 503
// say whether an earlier request may have; a proxy's may hide one that was lost.
func (e *Error) isUnknown() bool {
	return e.Status >= 500 && (e.Code == "" || e.Status != http.StatusServiceUnavailable || e.Outcome == "unknown")
}

// decides says whether the response also settles earlier requests with the key:
// the service has searched for the key, or would never take the request. A
// wrong token and the response of a proxy settle nothing.
func (e *Error) decides() bool {
	return e.Code != "" && e.Status != http.StatusUnauthorized && e.Status != http.StatusForbidden
}

// Unsettled says that a call ended before the service had decided. Call again
// with the same key.
type Unsettled struct {
	Key string
	// MayHaveHappened is false where the service answered every request with 429, or with
	// 503 and the outcome none: nothing happened.
	MayHaveHappened bool
	// Err is the context's error, and that of the last request.
	Err error
}

// Error implements error.
func (u *Unsettled) Error() string {
	return fmt.Sprintf("drawsvc: the call is not settled, retry with the same key: %v", u.Err)
}

// Unwrap returns Err.
func (u *Unsettled) Unwrap() error { return u.Err }
