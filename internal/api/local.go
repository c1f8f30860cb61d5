package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Local calls the handlers of a service in this process. No response can be lost, so it
// never repeats a call. An error is the handler's own error.
type Local struct {
	Handler http.Handler
	// Token is a token that the handlers accept.
	Token string
	// Closing, if not nil, is called by Close.
	Closing func() error
}

// Close implements Caller.
func (l Local) Close() error {
	if l.Closing == nil {
		return nil
	}
	return l.Closing()
}

// Do implements Caller.
func (l Local) Do(ctx context.Context, c Call) ([]byte, error) {
	var failure error
	request, err := http.NewRequestWithContext(context.WithValue(ctx, failureKey{}, &failure), c.Method, "http://localhost"+c.Path, bodyOf(&c))
	if err != nil {
		return nil, err
	}
	request.RemoteAddr = "127.0.0.1:0"
	request.Header.Set("Authorization", "Bearer "+l.Token)
	for name, value := range map[string]string{"Content-Type": c.ContentType, "If-Match": c.IfMatch, "Idempotency-Key": quoteKey(c.Key)} {
		if value != "" {
			request.Header.Set(name, value)
		}
	}
	var body bytes.Buffer
	w := &answer{header: http.Header{}, body: cmp.Or[io.Writer](c.Into, &body)}
	l.serve(w, request)
	switch {
	case failure != nil:
		return nil, failure
	case w.status/100 != 2:
		return nil, fmt.Errorf("unexpected status %d of a call in this process", w.status)
	}
	return body.Bytes(), w.err
}

// serve calls the handler. A handler that gives up while it writes its response panics,
// as net/http requires. It has stored its error before.
func (l Local) serve(w http.ResponseWriter, r *http.Request) {
	defer func() {
		reason := recover()
		if err, isError := reason.(error); reason != nil && (!isError || !errors.Is(err, http.ErrAbortHandler)) {
			panic(reason)
		}
	}()
	l.Handler.ServeHTTP(w, r)
}

// quoteKey returns a key in the form of its header, "" for none.
func quoteKey(key string) string {
	if key == "" {
		return ""
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}

// bodyOf returns the body of a call. The length of a file's body is unknown.
func bodyOf(c *Call) io.Reader {
	if c.From != nil {
		return struct{ io.Reader }{c.From}
	}
	return strings.NewReader(string(c.Body))
}

// failureKey is the key for the place, in a request's context, where the handler stores
// its error.
type failureKey struct{}

// KeepFailure stores the error of a handler for a caller in this process, who may see the
// cause. Over the network the cause must not be sent.
func KeepFailure(r *http.Request, err error) {
	if place, ok := r.Context().Value(failureKey{}).(*error); ok {
		*place = err
	}
}

// answer receives the output of a handler.
type answer struct {
	header http.Header
	status int
	body   io.Writer
	err    error
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	if a.status/100 != 2 || a.err != nil {
		return len(p), nil //nolint:nilerr // the problem document says less than the error that is kept
	}
	n, err := a.body.Write(p)
	a.err = err
	return n, err
}

// Flush implements http.Flusher. Nothing is buffered.
func (a *answer) Flush() {}
