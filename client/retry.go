package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// patience bounds a call whose context has no deadline.
	patience = time.Minute
	// attemptMax bounds one request: it is longer than the service's --request-timeout.
	attemptMax = 10 * time.Second
	// waitMin and waitMax bound the jittered wait before a retry.
	waitMin, waitMax = 100 * time.Millisecond, 5 * time.Second
	// bodyMax is the maximum length of a response that is held in memory, in bytes. shortMax
	// is the maximum length of a draw and of a problem: a draw of 100 units takes a tenth of
	// it.
	bodyMax, shortMax = 64 << 20, 1 << 20
	// itemsMax is the maximum number of items in the lists of a response: a pool has at most
	// 100,000 prizes. The limit is needed because an item of two bytes takes fifty times as
	// much memory.
	itemsMax = 500_000
)

// call is a request that may be sent any number of times.
type call struct {
	method, path, key string
	body              []byte
	bodyMax           int64 // maximum length of the response; 0 means the default
}

// settle sends a call until a response decides it, and decodes a response 200 into a
// value. ours reports whether the decoded response belongs to this call.
func (c *Client) settle(ctx context.Context, r call, into any, ours func() bool) error {
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	sent := Call{Method: r.method, Path: r.path, Key: r.key, Body: r.body, bodyMax: r.bodyMax}
	if r.body != nil {
		sent.ContentType = "application/json"
	}
	if _, err := c.request(ctx, &sent); err != nil {
		return err // a retry does not help
	}
	unknown := false // one of the requests may have happened
	for attempt := 0; ; attempt++ {
		body, err := c.attempt(ctx, &sent)
		if err == nil {
			err = decode(body, into)
		}
		if err == nil && ours() {
			return nil
		}
		answer, _ := errors.AsType[*Error](err)
		isFinal := answer != nil && !answer.mayRetry()
		if isFinal && (!unknown || answer.decides()) {
			return answer
		}
		unknown = unknown || answer == nil || answer.isUnknown()
		if isFinal || errors.Is(err, ErrTooLong) {
			return &Unsettled{r.key, unknown, err}
		}
		if ended := pause(ctx, attempt, answer); ended != nil {
			return &Unsettled{r.key, unknown, errors.Join(ended, err)}
		}
	}
}

// decode reads a response whose lists have at most itemsMax items. Error: ErrTooLong.
func decode(body []byte, into any) error {
	if countItems(body) > itemsMax {
		return fmt.Errorf("%w: more than %d items", ErrTooLong, itemsMax)
	}
	return json.Unmarshal(body, into)
}

// countItems counts the commas between the items of all lists in a JSON text.
func countItems(text []byte) (n int) {
	var containers []byte // the arrays and objects that contain the current place of the text
	isString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case isString && c == '\\':
			i++
		case c == '"':
			isString = !isString
		case isString:
		case c == '[' || c == '{':
			containers = append(containers, c)
		case (c == ']' || c == '}') && len(containers) > 0:
			containers = containers[:len(containers)-1]
		case c == ',' && len(containers) > 0 && containers[len(containers)-1] == '[':
			n++
		}
	}
	return n
}

// pause waits before a retry: Retry-After, and a jittered time that grows.
func pause(ctx context.Context, attempt int, answer *Error) error {
	wait := rand.N(min(waitMax, waitMin<<min(attempt, 10)))
	if answer != nil {
		wait += answer.RetryAfter
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return ctx.Err()
}

func (c *Client) request(ctx context.Context, r *Call) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, strings.TrimRight(c.URL, "/")+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if err := c.checkURL(request.URL); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"Content-Type": r.ContentType, "If-Match": r.IfMatch} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	if r.Key != "" {
		request.Header.Set("Idempotency-Key", `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Key)+`"`)
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return request, nil
}

// attempt sends a call once and returns the body of a response 2xx. Its error is an
// *Error for any other response.
func (c *Client) attempt(ctx context.Context, r *Call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.AttemptMax, attemptMax))
	defer cancel()
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	response, err := c.httpClient().Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was read to its end, or failed
	if response.StatusCode/100 == 2 && r.Into != nil {
		_, err := io.Copy(r.Into, response.Body)
		return nil, err
	}
	if response.StatusCode/100 == 2 {
		return readWhole(response.Body, cmp.Or(r.bodyMax, bodyMax))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, shortMax)) // a longer one is not a problem document
	if err != nil {
		return nil, err
	}
	answer := &Error{Status: response.StatusCode, RequestID: response.Header.Get("X-Request-Id")}
	if answer.Status/100 == 3 || json.Unmarshal(body, answer) != nil { // a proxy's response is not a problem document
		answer.cause = causeOf(answer.Status, body)
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		answer.RetryAfter = time.Duration(seconds) * time.Second
	}
	return nil, answer
}

// readWhole reads a response of at most the given number of bytes. Error: ErrTooLong.
func readWhole(response io.Reader, lengthMax int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(response, lengthMax+1))
	if err == nil && int64(len(body)) > lengthMax {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLong, lengthMax>>20)
	}
	return body, err
}
