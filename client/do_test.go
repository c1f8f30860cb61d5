package client_test

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

const done = `{"id":"p"}`

// TestDoRetriesOnlyWhatIsSafe checks which requests are sent again, and which error the
// caller gets.
func TestDoRetriesOnlyWhatIsSafe(t *testing.T) {
	t.Parallel()
	read := client.Call{Method: "GET", Path: "/admin/pools"}
	change := client.Call{Method: "PATCH", Path: "/admin/pools/p", ContentType: "application/json", Body: []byte(`{}`)}
	keyed := client.Call{Method: "POST", Path: "/admin/pools/p/import", Key: "k", ContentType: "text/csv", Body: []byte("x")}
	ok, missing := answer(200, done), problem(404, "pool-not-found")
	busy, broken, proxy := problem(503, "contended"), problem(500, "internal"), answer(502, "<html>")
	for name, c := range map[string]struct {
		call    client.Call
		answers []http.HandlerFunc
		sent    int
		code    client.Code // the code of the *Error, "" if the error is another one
		unknown bool        // whether the error is an *Unsettled for a call that may have happened
	}{
		"a read":                          {read, []http.HandlerFunc{ok}, 1, "", false},
		"a read without answer":           {read, []http.HandlerFunc{cut, half, broken, proxy, ok}, 5, "", false},
		"a change":                        {change, []http.HandlerFunc{ok}, 1, "", false},
		"a change, nothing happened":      {change, []http.HandlerFunc{busy, problem(429, "too-many-guesses"), ok}, 3, "", false},
		"a change, rejected":              {change, []http.HandlerFunc{missing, ok}, 1, "pool-not-found", false},
		"a change without answer":         {change, []http.HandlerFunc{cut, ok}, 1, "", true},
		"a change, half an answer":        {change, []http.HandlerFunc{half, ok}, 1, "", true},
		"a change, failed":                {change, []http.HandlerFunc{broken, ok}, 1, "", true},
		"a change behind a proxy":         {change, []http.HandlerFunc{proxy, ok}, 1, "", true},
		"a keyed change without answer":   {keyed, []http.HandlerFunc{cut, busy, broken, ok}, 4, "", false},
		"a keyed change, then rejected":   {keyed, []http.HandlerFunc{cut, missing}, 2, "pool-not-found", false},
		"a keyed change, then no token":   {keyed, []http.HandlerFunc{cut, problem(401, "unauthorized")}, 2, "", true},
		"a keyed change, created":         {keyed, []http.HandlerFunc{answer(201, done)}, 1, "", false},
		"another place is not asked":      {change, []http.HandlerFunc{answer(302, "", "Location", "/x")}, 1, "", false},
		"a wrong token is not tried over": {read, []http.HandlerFunc{problem(401, "unauthorized")}, 1, "unauthorized", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, caller := start(t, c.answers...)
			caller.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			body, err := caller.Do(t.Context(), c.call)
			keys, bodies := s.asked()
			require.Len(t, keys, c.sent)
			for i := range keys {
				require.Equal(t, keys[0], keys[i])
				require.Equal(t, string(c.call.Body), bodies[i])
			}
			var rejected *client.Error
			var unsettled *client.Unsettled
			switch {
			case c.unknown:
				require.ErrorAs(t, err, &unsettled)
				require.True(t, unsettled.MayHaveHappened)
			case c.code != "":
				require.ErrorIs(t, err, c.code)
				require.False(t, errors.As(err, &unsettled))
			case name == "another place is not asked":
				require.ErrorAs(t, err, &rejected)
				require.Equal(t, 302, rejected.Status)
			default:
				require.NoError(t, err)
				require.Equal(t, done, string(body))
			}
		})
	}
}

// TestDoReportsAnUnreachableService: Do does not wait for a service that cannot be
// reached, and reports that nothing happened.
func TestDoReportsAnUnreachableService(t *testing.T) {
	t.Parallel()
	caller := &client.Client{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &http.Transport{}}}
	_, err := caller.Do(t.Context(), client.Call{Method: "PATCH", Path: "/admin/pools/p"})
	var unsettled *client.Unsettled
	require.ErrorAs(t, err, &unsettled)
	require.False(t, unsettled.MayHaveHappened)
	_, err = (&client.Client{URL: "::"}).Do(t.Context(), client.Call{Method: "GET", Path: "/"})
	require.Error(t, err)
	require.False(t, errors.As(err, &unsettled))
}

// TestDoWritesABodyOnce: a body is written to Into once, completely or up to an error.
// After an error within a body, the call is not repeated.
func TestDoWritesABodyOnce(t *testing.T) {
	t.Parallel()
	ok, busy := answer(200, done), problem(503, "contended")
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		sent    int
		fails   bool
	}{
		"whole":                     {[]http.HandlerFunc{ok}, 1, false},
		"nothing happened at first": {[]http.HandlerFunc{busy, ok}, 2, false},
		"half":                      {[]http.HandlerFunc{half, ok}, 1, true},
		"cut":                       {[]http.HandlerFunc{cut, ok}, 1, true},
		"rejected":                  {[]http.HandlerFunc{problem(409, "log-forked"), ok}, 1, true},
	} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(name+" "+method, func(t *testing.T) {
				t.Parallel()
				s, caller := start(t, c.answers...)
				var into strings.Builder
				body, err := caller.Do(t.Context(), client.Call{Method: method, Path: "/admin/pools/p/proof", Into: &into})
				require.Equal(t, c.fails, err != nil, "%v", err)
				require.Empty(t, body)
				keys, _ := s.asked()
				require.Len(t, keys, c.sent)
				if !c.fails {
					require.Equal(t, done, into.String())
				}
			})
		}
	}
}

// TestServiceSpeaksHTTPS: a URL with the wrong scheme has its own error.
func TestServiceSpeaksHTTPS(t *testing.T) {
	t.Parallel()
	secured := httptest.NewUnstartedServer(answer(200, done))
	secured.Config.ErrorLog = log.New(io.Discard, "", 0) // the log would contain the error that the test causes
	secured.StartTLS()
	t.Cleanup(secured.Close)
	caller := &client.Client{URL: strings.Replace(secured.URL, "https:", "http:", 1)}
	_, err := caller.Do(t.Context(), client.Call{Method: "GET", Path: "/admin/pools/p"})
	require.ErrorIs(t, err, client.ErrHTTPS)
	_, err = caller.Draw(t.Context(), request())
	require.ErrorIs(t, err, client.ErrHTTPS)
	require.ErrorContains(t, err, "speaks HTTPS")
	_, caller = start(t, answer(400, "<html>The plain HTTP request was sent to HTTPS port</html>"))
	_, err = caller.Do(t.Context(), client.Call{Method: "GET", Path: "/admin/pools"})
	require.ErrorIs(t, err, client.ErrHTTPS)
	_, caller = start(t, answer(400, "<html>Bad request</html>"))
	_, err = caller.Do(t.Context(), client.Call{Method: "GET", Path: "/admin/pools"})
	require.NotErrorIs(t, err, client.ErrHTTPS)
}

// endless answers without end.
func endless(begin string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, begin)
		for blanks := strings.Repeat(" ", 64<<10); err == nil; {
			_, err = io.WriteString(w, blanks)
		}
	}
}

// TestTooLongIsAnError: an endless response is read up to a limit, which the error
// names. The call is not repeated, and settles nothing.
func TestTooLongIsAnError(t *testing.T) {
	t.Parallel()
	var unsettled *client.Unsettled
	for method, mayHaveHappened := range map[string]bool{"GET": false, "POST": true} {
		s, caller := start(t, endless(done), answer(200, done))
		_, err := caller.Do(t.Context(), client.Call{Method: method, Path: "/admin/pools", Key: "k"})
		require.ErrorIs(t, err, client.ErrTooLong)
		require.ErrorContains(t, err, "more than 64 MiB")
		require.ErrorAs(t, err, &unsettled)
		require.Equal(t, mayHaveHappened, unsettled.MayHaveHappened)
		keys, _ := s.asked()
		require.Len(t, keys, 1)
	}
	s, caller := start(t, endless(won), answer(200, won))
	_, err := caller.Draw(t.Context(), request())
	require.ErrorContains(t, err, "more than 1 MiB")
	require.ErrorAs(t, err, &unsettled)
	require.True(t, unsettled.MayHaveHappened)
	keys, _ := s.asked()
	require.Len(t, keys, 1)

	_, caller = start(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusConflict)
		endless(`{"code":"sold-out","detail":"`)(w, r)
	})
	_, err = caller.Do(t.Context(), client.Call{Method: "GET", Path: "/admin/pools"})
	var answered *client.Error
	require.ErrorAs(t, err, &answered)
	require.Empty(t, answered.Code, "a problem document is shorter")

	_, caller = start(t, answer(200, strings.Repeat(" ", 2<<20)+done))
	body, err := caller.Do(t.Context(), client.Call{Method: "GET", Path: "/admin/pools"})
	require.NoError(t, err, "2 MiB are short enough")
	require.Len(t, body, 2<<20+len(done))
}

// TestTooManyItemsAreAnError: a pool that would need too much of the caller's memory is
// not decoded. A pool with the maximum number of prizes is decoded.
func TestTooManyItemsAreAnError(t *testing.T) {
	t.Parallel()
	pool := func(prizes int) string {
		return `{"id":"p","name":"[,","prizes":[` + strings.Repeat(`{"id":"a,\"b"},`, prizes-1) + `{}]}`
	}
	_, caller := start(t, answer(200, pool(100_000)))
	found, err := caller.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Len(t, found.Prizes, 100_000)
	_, caller = start(t, answer(200, pool(600_000)))
	_, err = caller.Pool(t.Context(), "p")
	require.ErrorIs(t, err, client.ErrTooLong)
}
