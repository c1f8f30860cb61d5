package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"drawsvc/internal/draw"
)

const (
	// PageMax is the maximum number of entries of one page.
	PageMax = 1000
	// PageUsual is the number of entries of a page if the caller does not state it.
	PageUsual = 100
	// DaysMax is the maximum number of days of a page of statements.
	DaysMax = 1000
	// FileMax is the maximum length of a file that a service imports, in bytes. Longer files
	// must be imported by a command that uses the database.
	FileMax = 8 << 20
	// CodeBodyTooLarge means that a body is longer than the service accepts.
	CodeBodyTooLarge draw.Code = "body-too-large"
)

const (
	typeJSON  = "application/json"
	typeCSV   = "text/csv"
	typePlain = "text/plain"
)

// Client makes the admin calls. In addition to the service's codes, each method may
// return two others. CodeStoreUnavailable means that the service cannot be reached.
// CodeOutcomeUnknown means that the answer to a change was lost.
type Client struct{ caller Caller }

// NewClient returns a client that makes its calls through c.
func NewClient(c Caller) *Client { return &Client{c} }

// fetch makes a call and reads its answer.
func fetch[Out any](ctx context.Context, c *Client, call Call) (out Out, err error) {
	body, err := c.caller.Do(ctx, call)
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return out, notOurs(err)
	}
	return out, nil
}

// send is like fetch, for a call with a body.
func send[Out any](ctx context.Context, c *Client, call Call, body any) (out Out, err error) {
	if call.Body, err = json.Marshal(body); err != nil {
		return out, err
	}
	call.ContentType = typeJSON
	return fetch[Out](ctx, c, call)
}

// see makes a read and returns its answer.
func see[Out any](ctx context.Context, c *Client, path string) (Out, error) {
	return fetch[Out](ctx, c, newCall(http.MethodGet, path))
}

// notOurs is the error of an answer that cannot be read.
func notOurs(err error) error {
	return draw.Wrap(draw.CodeStoreUnavailable, err, "the answer is none of drawsvc")
}

// pathOf joins the parts of a path.
func pathOf(parts ...string) string {
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return "/" + strings.Join(parts, "/")
}

// poolPath returns the path of an admin call on a pool.
func poolPath(poolID string, rest ...string) string {
	return pathOf(append([]string{"admin", "pools", poolID}, rest...)...)
}

// matching returns the If-Match header for revisions. For nil it returns "", so that
// every revision is allowed.
func matching(revisions []int64) string {
	tags := make([]string, len(revisions))
	for i, n := range revisions {
		tags[i] = strconv.Quote(strconv.FormatInt(n, 10))
	}
	return strings.Join(tags, ", ")
}

// pageOf returns the query for the page of entries with numbers above after.
func pageOf(after int64) url.Values {
	return url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(PageMax)}}
}
