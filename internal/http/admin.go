package http

import (
	"context"
	"errors"
	nethttp "net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// Admin makes the admin calls of a service that runs elsewhere. To a command it
// is what the store is to the service: it satisfies the same interfaces, with the
// same codes and details of errors. The actor of its methods counts for nothing:
// the service records the name of the token. Besides the codes of the service
// every method may return CodeStoreUnavailable, where the service cannot be
// reached, and CodeOutcomeUnknown, where the answer to a change was lost.
type Admin struct {
	client *client.Client
	listed int64 // what was read of lists that are kept, as listsMax counts
}

// NewAdmin makes the calls with c.
func NewAdmin(c *client.Client) *Admin { return &Admin{client: c} }

// Close closes the connections.
func (a *Admin) Close() error {
	a.client.HTTP.CloseIdleConnections()
	return nil
}

// CheckScheme returns an error where the service speaks HTTPS, and the URL does not.
// It asks by a read, to which such a service answers in clear text; to others it may
// just close the connection, as if an answer were lost.
func (a *Admin) CheckScheme(ctx context.Context) error {
	_, err := a.client.Do(ctx, client.Call{Method: nethttp.MethodGet, Path: "/livez"})
	if errors.Is(err, client.ErrHTTPS) {
		return foreign(err)
	}
	return nil
}

// fetch makes a call and reads its answer.
func fetch[Out any](ctx context.Context, a *Admin, c client.Call) (out Out, err error) {
	body, err := a.client.Do(ctx, c)
	if err != nil {
		return out, foreign(err)
	}
	_, err = decodeAnswer(body, &out)
	return out, err
}

// send is fetch for a call with a body.
func send[Out any](ctx context.Context, a *Admin, c client.Call, body any) (out Out, err error) {
	if c.Body, err = json.Marshal(body); err != nil {
		return out, err
	}
	c.ContentType = "application/json"
	return fetch[Out](ctx, a, c)
}

// see is a read.
func see[Out any](ctx context.Context, a *Admin, path string) (Out, error) {
	return fetch[Out](ctx, a, client.Call{Method: nethttp.MethodGet, Path: path})
}

// foreign is the error of a call as the service itself knows it, nil for none.
func foreign(err error) error {
	if err == nil {
		return nil
	}
	answer, _ := errors.AsType[*client.Error](err)
	unsettled, _ := errors.AsType[*client.Unsettled](err)
	switch {
	case unsettled != nil && unsettled.MayHaveHappened:
		return draw.Wrap(draw.CodeOutcomeUnknown, unsettled.Err,
			"the change may have been made although no answer says so; check before you repeat it")
	case errors.Is(err, client.ErrHTTPS):
		return draw.Errorf(draw.CodeStoreUnavailable, "%v", client.ErrHTTPS)
	case errors.Is(err, client.ErrTooLong):
		return draw.Errorf(draw.CodeStoreUnavailable, "%v; such a pool is read on the database", unsettled.Err)
	case answer != nil && answer.Code != "":
		return &draw.Error{Code: draw.Code(answer.Code), Detail: answer.Detail}
	case answer != nil:
		return draw.Errorf(draw.CodeStoreUnavailable, "the answer has status %d and is none of drawsvc", answer.Status)
	case unsettled != nil:
		return draw.Wrap(draw.CodeStoreUnavailable, unsettled.Err, "the service cannot be reached")
	}
	return err
}

// notOurs is the error of an answer that cannot be read.
func notOurs(err error) error {
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the answer is none of drawsvc")
}

// path makes a path of its parts.
func path(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + strings.Join(parts, "/")
}

func poolPath(poolID string, rest ...string) string {
	return path(append([]string{"admin", "pools", poolID}, rest...)...)
}

// matching is the If-Match of revisions; "" for nil, which is every one.
func matching(revisions []int64) string {
	tags := make([]string, len(revisions))
	for i, n := range revisions {
		tags[i] = strconv.Quote(strconv.FormatInt(n, 10))
	}
	return strings.Join(tags, ", ")
}

// readTime reads a time of an answer.
func readTime(text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, notOurs(err)
	}
	return at, nil
}

// readTimeOrNull is readTime for a member that may be null: the zero time.
func readTimeOrNull(text *string) (time.Time, error) {
	if text == nil {
		return time.Time{}, nil
	}
	return readTime(*text)
}

// readEach reads every entry of a list.
func readEach[In, Out any](list []In, read func(*In) (Out, error)) ([]Out, error) {
	out := make([]Out, len(list))
	for i := range list {
		var err error
		if out[i], err = read(&list[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
