package client_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

// forger is the target of redirects: it answers every draw as won, and records the
// tokens that it sees.
type forger struct {
	*httptest.Server
	requests atomic.Int64
}

func startForger(t *testing.T) *forger {
	f := &forger{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		answer(200, won)(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

// TestRedirectsAreNotFollowed: a redirect with any status is an error, and the other
// address gets neither the token nor the draw. The broken double is the default client:
// it follows the redirect, and accepts the forged draw as won.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	f := startForger(t)
	for _, status := range []int{301, 302, 303, 307, 308} {
		tls := httptest.NewTLSServer(answer(status, `{"code":"sold-out","detail":"forged"}`, "Location", f.URL+"/draw"))
		t.Cleanup(tls.Close)
		given := tls.Client()
		c := &client.Client{URL: tls.URL, Token: "secret", HTTP: given}
		_, err := c.Draw(t.Context(), request())
		require.ErrorIs(t, err, client.ErrRedirect)
		var e *client.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, status, e.Status)
		require.Empty(t, e.Code, "what stands beside a redirect decides nothing")
		_, err = c.Do(t.Context(), client.Call{Method: http.MethodGet, Path: "/pools/p"})
		require.ErrorIs(t, err, client.ErrRedirect)
		require.Nil(t, given.CheckRedirect, "the caller's client stays as it is")
	}
	require.Zero(t, f.requests.Load())

	tls := httptest.NewTLSServer(answer(307, "", "Location", f.URL+"/draw"))
	t.Cleanup(tls.Close)
	following := tls.Client()
	following.CheckRedirect = func(*http.Request, []*http.Request) error { return nil } // net/http's default
	made, err := (&client.Client{URL: tls.URL, Token: "secret", HTTP: following}).Draw(t.Context(), request())
	require.NoError(t, err)
	require.Equal(t, "Gold", made.Awards[0].Name)
	require.Positive(t, f.requests.Load())
}

// TestRedirectAfterALostAnswer: a redirect does not settle earlier requests.
func TestRedirectAfterALostAnswer(t *testing.T) {
	t.Parallel()
	_, c := start(t, cut, answer(302, "", "Location", "http://127.0.0.1:1/"))
	_, err := c.Draw(t.Context(), request())
	var u *client.Unsettled
	require.ErrorAs(t, err, &u)
	require.True(t, u.MayHaveHappened)
}

// TestTokensStayEncrypted: a token is sent to another machine only by https, unless the
// caller allows otherwise.
func TestTokensStayEncrypted(t *testing.T) {
	t.Parallel()
	var dialled atomic.Int64
	nobody := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		dialled.Add(1)
		return nil, context.DeadlineExceeded
	}}}
	for _, c := range []struct {
		url, token string
		allow      bool
		sent       bool
	}{
		{"http://draws.example", "secret", false, false},
		{"http://127.0.0.1.draws.example", "secret", false, false},
		{"http://10.0.0.1:8080", "secret", false, false},
		{"http://[2001:db8::1]", "secret", false, false},
		{"HTTP://draws.example", "secret", false, false},
		{"http://draws.example", "secret", true, true},
		{"http://draws.example", "", false, true},
		{"https://draws.example", "secret", false, true},
		{"http://127.0.0.1:8080", "secret", false, true},
		{"http://localhost", "secret", false, true},
		{"http://[::1]:80", "secret", false, true},
	} {
		dialled.Store(0)
		caller := &client.Client{URL: c.url, Token: c.token, AllowPlainHTTP: c.allow, HTTP: nobody}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := caller.Draw(ctx, request())
		_, doErr := caller.Do(ctx, client.Call{Method: http.MethodGet, Path: "/livez"})
		cancel()
		if c.sent {
			require.NotErrorIs(t, err, client.ErrPlainHTTP, c.url)
			require.Positive(t, dialled.Load(), c.url)
			continue
		}
		require.ErrorIs(t, err, client.ErrPlainHTTP, c.url)
		require.ErrorIs(t, doErr, client.ErrPlainHTTP, c.url)
		require.Zero(t, dialled.Load(), c.url)
	}
}

// TestLimitReachedSaysWhen: an error states which limit was reached, and when it will
// allow the same draw.
func TestLimitReachedSaysWhen(t *testing.T) {
	t.Parallel()
	_, c := start(t,
		answer(409, `{"code":"limit-reached","detail":"d","outcome":"none","limit":{"of":"prize","prize":"gold","max":1,"per":"day"},"retry_at":"2026-03-05T00:00:00.000000Z"}`),
		answer(409, `{"code":"limit-reached","detail":"d","outcome":"none","limit":{"of":"draws","max":3,"per":null},"retry_at":null}`))
	_, err := c.Draw(t.Context(), request())
	require.ErrorIs(t, err, client.LimitReached)
	var e *client.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, &client.Limit{Of: "prize", Prize: "gold", Max: 1, Per: "day"}, e.Limit)
	require.True(t, e.RetryAt.Equal(time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)))
	require.Equal(t, client.OutcomeIsNone, e.Outcome)
	_, err = c.Draw(t.Context(), request())
	require.ErrorAs(t, err, &e)
	require.Equal(t, &client.Limit{Of: "draws", Max: 3}, e.Limit)
	require.True(t, e.RetryAt.IsZero(), "never")
}
