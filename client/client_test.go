package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

// scripted is a service that answers requests with the given answers in order; the last
// answer repeats. It records the keys.
type scripted struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	keys    []string
	bodies  []string
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	s.keys, s.bodies = append(s.keys, r.Header.Get("Idempotency-Key")), append(s.bodies, string(body))
	next := s.answers[min(len(s.keys), len(s.answers))-1]
	s.mu.Unlock()
	if err == nil {
		next(w, r)
	}
}

// asked returns the keys and bodies of all requests so far.
func (s *scripted) asked() (keys, bodies []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.keys), slices.Clone(s.bodies)
}

func start(t *testing.T, answers ...http.HandlerFunc) (*scripted, *client.Client) {
	t.Helper()
	s := &scripted{answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, &client.Client{URL: server.URL + "/", HTTP: server.Client()}
}

func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client notices a truncated response
	}
}

func problem(status int, code string, headers ...string) http.HandlerFunc {
	return answer(status, `{"code":"`+code+`","detail":"because"}`, append(headers, "X-Request-Id", "r1")...)
}

func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// half begins a response and closes the connection within its body.
func half(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "500")
	_, _ = io.WriteString(w, won[:20]) // this is the point of the test
	panic(http.ErrAbortHandler)
}

const won = `{"draw":"k","pool":"p","user":"u","replayed":true,"new":1,"awards":[
	{"prize":"gold","name":"Gold","value":"19.90","unit":3,"version":7,"at":"2026-03-04T05:06:07.000000Z","win":true}]}`

func request() client.Request { return client.Request{Pool: "p", User: "u", Key: "k"} }

// TestDrawSettles: a request whose outcome is open is sent again with the same key,
// until the service has decided.
func TestDrawSettles(t *testing.T) {
	t.Parallel()
	s, c := start(t, problem(503, "contended"), cut, half, problem(504, "outcome-unknown"), problem(500, "internal"),
		answer(502, "<html>"), answer(200, `{"draw":"another","pool":"p"}`), answer(200, "<html>"), answer(200, won))
	made, err := c.Draw(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, &client.Draw{Key: "k", Pool: "p", User: "u", Replayed: true, Awards: []client.Award{{
		Prize: "gold", Name: "Gold", Value: "19.90", Win: true, Unit: 3, Version: 7, At: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC),
	}}}, made)
	keys, bodies := s.asked()
	require.Len(t, keys, 9)
	for i, key := range keys {
		require.Equal(t, `"k"`, key)
		require.JSONEq(t, `{"pool":"p","user":"u","count":1}`, bodies[i])
	}
}

// TestDecisionsAreFinal: a refusal ends the call after one request, with an error that
// can be compared by its code.
func TestDecisionsAreFinal(t *testing.T) {
	t.Parallel()
	for code, status := range map[client.Code]int{
		client.SoldOut: 409, client.PoolNotOpen: 409, client.PoolNotFound: 404, client.KeyReused: 422, client.Invalid: 400,
		client.Unauthorized: 401, client.Forbidden: 403, "a-new-one": 409,
	} {
		s, c := start(t, problem(status, string(code)))
		_, err := c.Draw(t.Context(), request())
		require.ErrorIs(t, err, code)
		e, isError := errors.AsType[*client.Error](err)
		require.True(t, isError)
		require.Equal(t, &client.Error{Status: status, Code: code, Detail: "because", RequestID: "r1"}, e)
		keys, _ := s.asked()
		require.Len(t, keys, 1)
	}
}

// TestUnknownStaysUnknown: after a request that may have happened, only the service's
// decision settles the draw. A proxy's response does not, and neither does the response
// to an expired token.
func TestUnknownStaysUnknown(t *testing.T) {
	t.Parallel()
	for _, last := range []http.HandlerFunc{problem(401, "unauthorized"), problem(403, "forbidden"), answer(404, "<html>")} {
		_, c := start(t, cut, last)
		_, err := c.Draw(t.Context(), request())
		open, isOpen := errors.AsType[*client.Unsettled](err)
		require.True(t, isOpen, "%v", err)
		require.True(t, open.MayHaveHappened)
		require.Equal(t, "k", open.Key)
	}
	_, c := start(t, cut, problem(409, "sold-out"))
	_, err := c.Draw(t.Context(), request())
	require.ErrorIs(t, err, client.SoldOut)
	_, isOpen := errors.AsType[*client.Unsettled](err)
	require.False(t, isOpen)
}

// TestContextEndsTheLoop: when the context ends, the error states whether the draw may
// have happened.
func TestContextEndsTheLoop(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		maybe  bool
	}{
		"busy":                            {answer(503, `{"code":"overloaded","outcome":"none"}`), false},
		"busy, and the log was not asked": {answer(503, `{"code":"overloaded","outcome":"unknown"}`), true},
		"guesses":                         {problem(429, "too-many-guesses"), false},
		"a proxy's 503":                   {answer(503, "<html>"), true}, "unknown": {problem(504, "outcome-unknown"), true}, "cut": {cut, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, caller := start(t, c.answer)
			ctx, cancel := context.WithCancel(t.Context())
			caller.HTTP.Transport = counting{caller.HTTP.Transport, 3, cancel, new(int)}
			_, err := caller.Draw(ctx, request())
			require.ErrorIs(t, err, context.Canceled)
			open, isOpen := errors.AsType[*client.Unsettled](err)
			require.True(t, isOpen)
			require.Equal(t, c.maybe, open.MayHaveHappened)
			keys, _ := s.asked()
			require.Len(t, keys, 3)
		})
	}
}

// counting ends a context after some round trips.
type counting struct {
	http.RoundTripper
	most int
	end  context.CancelFunc
	made *int
}

func (c counting) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if *c.made++; *c.made == c.most {
		defer c.end()
		if err == nil { // read first, because the context ends the body too
			var body []byte
			if body, err = io.ReadAll(response.Body); err == nil {
				_ = response.Body.Close() // it was read to its end
				response.Body = io.NopCloser(bytes.NewReader(body))
			}
		}
	}
	return response, err
}

// TestRetryAfterIsHonoured: no request is sent earlier than Retry-After allows.
func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	_, c := start(t, problem(503, "draining", "Retry-After", "1"), answer(200, won))
	begin := time.Now()
	_, err := c.Draw(t.Context(), request())
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(begin), time.Second)
}

// TestRequestsThatCannotBeSent: nothing is sent for an invalid request.
func TestRequestsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	s, c := start(t, answer(200, won))
	for _, key := range []string{"", "a\nb", "ü", string(make([]byte, 129))} {
		_, err := c.Draw(t.Context(), client.Request{Pool: "p", User: "u", Key: key})
		require.ErrorContains(t, err, "a draw needs a key")
	}
	_, err := (&client.Client{URL: "http://bad host"}).Draw(t.Context(), request())
	require.Error(t, err)
	keys, _ := s.asked()
	require.Empty(t, keys)
}

func TestClientReadsPoolsAndDraws(t *testing.T) {
	t.Parallel()
	_, c := start(t, cut, answer(200, `{"id":"p","name":"P","state":"open","prizes":[{"id":"a","name":"A","value":"1.00","kind":"blank","link":"L"}]}`))
	c.Token = "secret"
	pool, err := c.Pool(t.Context(), "p")
	require.NoError(t, err)
	require.Equal(t, &client.Pool{ID: "p", Name: "P", State: "open", Prizes: []client.Prize{{ID: "a", Name: "A", Value: "1.00", Kind: "blank", Link: "L"}}}, pool)

	var asked *http.Request
	_, c = start(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r
		answer(200, `{"draw":"a/b","pool":"p"}`)(w, r)
	})
	c.Token = "secret"
	made, err := c.DrawAgain(t.Context(), "p", "a/b")
	require.NoError(t, err)
	require.Equal(t, "a/b", made.Key)
	require.Equal(t, "/pools/p/draws/a%2Fb", asked.URL.EscapedPath())
	require.Equal(t, "Bearer secret", asked.Header.Get("Authorization"))
	require.Empty(t, asked.Header.Get("Idempotency-Key"))

	_, c = start(t, problem(404, "draw-not-found"))
	_, err = c.DrawAgain(t.Context(), "p", "k")
	require.ErrorIs(t, err, client.DrawNotFound)
}

// disorder counts the keys that are smaller than the key before them. It checks that the
// times, the first 13 characters, never decrease.
func disorder(t *testing.T, newKey func() string) (smaller int) {
	last := newKey()
	for range 1000 {
		key := newKey()
		id, err := uuid.Parse(key)
		require.NoError(t, err)
		require.Equal(t, uuid.Version(7), id.Version())
		require.Equal(t, uuid.RFC4122, id.Variant())
		require.GreaterOrEqual(t, key[:13], last[:13])
		if key < last {
			smaller++
		}
		last = key
	}
	return smaller
}

// TestNewKeyIsRandomBelowItsTime: a key is a UUIDv7 with only random bits after its time
// in milliseconds. The broken double spends 12 of these bits on the time, so its keys
// always increase.
func TestNewKeyIsRandomBelowItsTime(t *testing.T) {
	t.Parallel()
	require.Positive(t, disorder(t, client.NewKey))
	require.Zero(t, disorder(t, func() string { return uuid.Must(uuid.NewV7()).String() }))
}
