package api

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLocalReturnsTheHandlersError: a caller in the same process gets the handler's own
// error, even if the answer has already begun. If the handler stores no error, the caller
// gets one with the status.
func TestLocalReturnsTheHandlersError(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	for name, c := range map[string]struct {
		handle http.HandlerFunc
		fails  error
		text   string
	}{
		"well": {handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "fine") }},
		"refused": {func(w http.ResponseWriter, r *http.Request) {
			KeepFailure(r, broken)
			w.WriteHeader(http.StatusInternalServerError)
		}, broken, ""},
		"within answer": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "fi")
			KeepFailure(r, broken)
			panic(http.ErrAbortHandler)
		}, broken, ""},
		"not kept": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, nil, "unexpected status 404"},
	} {
		body, err := Local{Handler: c.handle}.Do(t.Context(), newCall("GET", "/x"))
		switch {
		case c.fails != nil:
			require.Same(t, c.fails, err, name)
		case c.text != "":
			require.ErrorContains(t, err, c.text, name)
		default:
			require.NoError(t, err, name)
			require.Equal(t, "fine", string(body))
		}
	}
	require.Panics(t, func() {
		_, _ = Local{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("a mistake") })}.Do(t.Context(), newCall("GET", "/x"))
	})
}

// TestLocalSendsWhatACallHas: the handler gets method, path, headers and body. It reads a
// file while the caller sends it, and its answer is written to Into.
func TestLocalSendsWhatACallHas(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	handle := func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		_, _ = w.Write([]byte("answer"))
	}
	var into strings.Builder
	call := newCall("PUT", "/a%2Fb?c=d")
	call.Key, call.IfMatch, call.ContentType, call.Body, call.Into = `k "1\`, `"5"`, "text/plain", []byte("text"), &into
	answer, err := Local{Handler: http.HandlerFunc(handle), Token: "t"}.Do(t.Context(), call)
	require.NoError(t, err)
	require.Empty(t, answer)
	require.Equal(t, "answer", into.String())
	require.Equal(t, "text", string(body))
	require.Equal(t, "/a%2Fb", got.URL.EscapedPath())
	require.Equal(t, http.Header{
		"Authorization": {"Bearer t"}, "Idempotency-Key": {`"k \"1\\"`}, "If-Match": {`"5"`}, "Content-Type": {"text/plain"},
	}, got.Header)
	call = newCall("POST", "/x")
	call.From, call.IsNamed = strings.NewReader("a file"), true
	_, err = Local{Handler: http.HandlerFunc(handle)}.Do(t.Context(), call)
	require.NoError(t, err)
	require.Equal(t, "a file", string(body))
	require.Empty(t, got.Header["Idempotency-Key"], "nothing is lost, so nothing needs a name")
}
