package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// Call is any call of the interface, such as those of an admin.
type Call struct {
	Method string
	// Path begins with a slash; its parts are percent-encoded. The query is a
	// part of it.
	Path string
	// Key is the Idempotency-Key, "" for none: with one, a call that takes it may
	// be sent again after a lost answer.
	Key string
	// IfMatch is the header of that name, "" for none.
	IfMatch string
	// ContentType is that of Body.
	ContentType string
	Body        []byte
	// Into, where not nil, takes the body of a response 2xx, in place of memory. A
	// call with it is sent again only where nothing happened.
	Into io.Writer
	// AttemptMax bounds one request; 0 is 10 s.
	AttemptMax time.Duration

	bodyMax int64 // of the response; 0 is the usual one
}

// doPatience is how long [Client.Do] begins retries.
const doPatience = 10 * time.Second

// Do makes a call and returns the body of a response 2xx, unless [Call.Into] takes
// it. It holds at most 64 MiB: ErrTooLong is the cause of an *Unsettled where the
// response is longer. Reads and calls with a key are retried for 10 s after lost
// connections, 429 and 5xx. A call that changes something without a key is retried
// only where the service says that nothing happened. A service that cannot be reached
// at first is not waited for. Errors: *Error, *Unsettled, ErrPlainHTTP, and that of a
// Call that cannot be sent.
func (c *Client) Do(ctx context.Context, r Call) ([]byte, error) {
	if _, err := c.request(ctx, &r); err != nil {
		return nil, err // no retry makes it right
	}
	until, cancel := context.WithTimeout(ctx, doPatience)
	defer cancel()
	isRead := r.Method == http.MethodGet || r.Method == http.MethodHead
	unknown := false // one of the requests may have happened
	for attempt := 0; ; attempt++ {
		body, err := c.attempt(ctx, &r)
		if err == nil {
			return body, nil
		}
		answer, _ := errors.AsType[*Error](err)
		nothing := isUnsent(err) || answer != nil && !answer.isUnknown()
		unknown = unknown || !isRead && !nothing
		isFinal := answer != nil && !answer.mayRetry()
		switch {
		case isFinal && (!unknown || answer.decides()):
			return nil, answer
		case isFinal, errors.Is(err, ErrTooLong), isUnsent(err) && attempt == 0, unknown && r.Key == "", r.Into != nil && !nothing:
			return nil, &Unsettled{r.Key, unknown, err}
		}
		if pause(until, attempt, answer) != nil {
			if answer != nil && !unknown {
				return nil, answer // the last of those that say that nothing happened
			}
			return nil, &Unsettled{r.Key, unknown, err}
		}
	}
}

// isUnsent says whether a request has failed before it was sent: no connection,
// or none that is trusted.
func isUnsent(err error) bool {
	dialled, isNetwork := errors.AsType[*net.OpError](err)
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return isNetwork && dialled.Op == "dial" || isUntrusted || errors.Is(err, http.ErrSchemeMismatch)
}
