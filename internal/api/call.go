package api

import (
	"context"
	"errors"
	"io"
	"net/http"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// Caller makes calls. It returns the body of an answer 2xx, unless [client.Call.Into]
// takes it, and any other answer as an error.
type Caller interface {
	Do(ctx context.Context, c Call) ([]byte, error)
	// Close gives back what the calls have used.
	Close() error
}

// Call is a call of the interface.
type Call struct {
	client.Call
	// From, where not nil, is read in place of Body.
	From io.Reader
	// IsList says that the caller keeps the answer beside those of the calls before.
	IsList bool
	// IsNamed says that the call is one that a key names: it may be sent again.
	IsNamed bool
}

func newCall(method, path string) Call { return Call{Call: client.Call{Method: method, Path: path}} }

// Remote calls a service over the network. What is lost on the way is sent again, as
// [client.Client.Do] describes. The service may be hostile: what it answers is bounded.
type Remote struct {
	Client *client.Client
	listed int64 // what was read of lists that are kept, as listsMax counts
}

// Close implements Caller.
func (r *Remote) Close() error {
	r.Client.HTTP.CloseIdleConnections()
	return nil
}

// Do implements Caller. A named call without a key is given one, so that a lost answer
// can be asked for again. A file is held in memory. Errors: those of the service by
// their codes, CodeBodyTooLarge, CodeStoreUnavailable, CodeOutcomeUnknown.
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

// readFile reads a file that a service takes. Error: CodeBodyTooLarge.
func readFile(file io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(file, FileMax+1))
	if err == nil && len(text) > FileMax {
		err = draw.Errorf(CodeBodyTooLarge, "the file is larger than %d bytes; import it on the database", FileMax)
	}
	return text, err
}

// CheckScheme returns an error where the service speaks HTTPS, and the URL does not.
// It asks by a read, to which such a service answers in clear text; to others it may
// just close the connection, as if an answer were lost.
func (r *Remote) CheckScheme(ctx context.Context) error {
	_, err := r.Client.Do(ctx, client.Call{Method: http.MethodGet, Path: "/livez"})
	if errors.Is(err, client.ErrHTTPS) {
		return foreign(err)
	}
	return nil
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
