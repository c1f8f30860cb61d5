package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// Caller makes calls. It returns the body of a response 2xx, or writes it to
// [client.Call.Into]; any other response is an error.
type Caller interface {
	Do(ctx context.Context, c Call) ([]byte, error)
	// Close releases the resources of the calls.
	Close() error
}

// Call is a call of the interface.
type Call struct {
	client.Call
	// From, if not nil, is read instead of Body.
	From io.Reader
	// IsList means that the caller keeps the items of this response and of other responses
	// to one list.
	IsList bool
	// IsNamed means that the service identifies the call by a key, so that it may be sent
	// again.
	IsNamed bool
}

func newCall(method, path string) Call { return Call{Call: client.Call{Method: method, Path: path}} }

// Remote calls a service over the network. It sends lost calls again, as
// [client.Client.Do] describes. The service may be hostile, so its responses are bounded.
type Remote struct {
	Client *client.Client
	listed int64 // the size of the lists that callers keep, as counted for listsMax
}

// Close implements Caller.
func (r *Remote) Close() error {
	r.Client.HTTP.CloseIdleConnections()
	return nil
}

// Do implements Caller. It gives a named call without a key a new key, so that the call
// can be repeated after a lost response. It holds a file in memory. Errors: those of the
// service by their codes, CodeBodyTooLarge, CodeStoreUnavailable, CodeOutcomeUnknown.
func (r *Remote) Do(ctx context.Context, c Call) (body []byte, err error) {
	if c.From != nil {
		if c.Body, err = readFile(c.From); err != nil {
			return nil, err
		}
	}
	if c.IsNamed && c.Key == "" {
		c.Key = client.NewKey()
	}
	if body, err = r.Client.Do(ctx, c.Call); err != nil {
		return body, foreign(err)
	}
	return body, r.bound(body, c.IsList)
}

// readFile reads a file before it is sent to a service. Error: CodeBodyTooLarge.
func readFile(file io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, FileMax+1))
	if err == nil && len(text) > FileMax {
		err = draw.Errorf(CodeBodyTooLarge, "the file is larger than %d bytes; import it on the database", FileMax)
	}
	return text, err
}

// CheckScheme returns an error if the service uses HTTPS, but the URL does not. It finds
// out by a read, to which such a service responds in clear text. For other calls, such a
// service may just close the connection, which looks like a lost response.
func (r *Remote) CheckScheme(ctx context.Context) error {
	_, err := r.Client.Do(ctx, client.Call{Method: http.MethodGet, Path: "/livez"})
	if errors.Is(err, client.ErrHTTPS) {
		return foreign(err)
	}
	return nil
}

// foreign converts an error of package client to a *draw.Error with the service's code.
// It returns nil for nil.
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
