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

// Call is any call of the interface, for example an admin's.
type Call struct {
	Method string
	// Path begins with a slash; its parts are percent-encoded. It includes the query.
	Path string
	// Key is the Idempotency-Key, "" for none: a call that accepts a key may be sent
	// again with it after a lost response.
	Key string
	// IfMatch is the header of that name, "" for none.
	IfMatch string
	// ContentType is the media type of Body.
	ContentType string
	Body        []byte
	// Into, if not nil, receives the body of a response 2xx; the body is then not held in
	// memory. Such a call is repeated only if nothing happened.
	Into io.Writer
	// AttemptMax bounds one request; 0 is 10 s.
	AttemptMax time.Duration

	bodyMax int64 // maximum length of the response; 0 means the default
}

// doPatience is the time during which [Client.Do] starts retries.
const doPatience = 10 * time.Second

// Do makes a call and returns the body of a response 2xx, or writes it to [Call.Into]. A
// returned body has at most 64 MiB: ErrTooLong is the cause of an *Unsettled if the
// response is longer. Reads and calls with a key are retried for 10 s after lost
// connections, 429 and 5xx. A change without a key is retried only if the service states
// that nothing happened. If the service cannot be reached at the first attempt, Do does
// not wait for it. Errors: *Error, *Unsettled, ErrPlainHTTP, and the error of a Call that
// cannot be sent.
func (c *Client) Do(ctx context.Context, r Call) ([]byte, error) {
	if _, err := c.request(ctx, &r); err != nil {
		return nil, err // a retry does not help
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
				return nil, answer // the last response, which states that nothing happened
			}
			return nil, &Unsettled{r.Key, unknown, err}
		}
	}
}

// isUnsent reports whether a request failed before it was sent, because it got no
// connection or the connection was not trusted.
func isUnsent(err error) bool {
	dialled, isNetwork := errors.AsType[*net.OpError](err)
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	return isNetwork && dialled.Op == "dial" || isUntrusted || errors.Is(err, http.ErrSchemeMismatch)
}
