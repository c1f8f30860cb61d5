package http

import (
	"context"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/gate"
	"drawsvc/internal/http/problem"
)

// unread is a request for a draw that package http refuses before the key is looked up in
// the log.
type unread struct {
	code draw.Code
	body string
	// isRead means that the body was read, so that the service knows whether the draw has a
	// key.
	isRead  bool
	target  string
	headers []string
	prepare func(s *Server, r *nethttp.Request)
}

// unreads returns such requests, by what is wrong with them.
func unreads() map[string]unread {
	const good = `{"pool":"spring","user":"u1"}`
	return map[string]unread{
		"malformed":     {code: draw.CodeInvalidRequest, body: `{"pool":`},
		"query":         {code: draw.CodeInvalidRequest, body: good, target: "/draw?dry=true"},
		"not checked":   {code: draw.CodeInvalidRequest, body: `{"pool":"spring","user":""}`, isRead: true},
		"no token":      {code: problem.CodeUnauthorized, body: good, headers: []string{"Authorization", ""}},
		"another role":  {code: draw.CodeForbidden, body: good, headers: []string{"Authorization", "Bearer metrics"}},
		"answer's type": {code: problem.CodeNotAcceptable, body: good, headers: []string{"Accept", "image/png"}},
		"body's type":   {code: problem.CodeUnsupportedMediaType, body: good, headers: []string{"Content-Type", "text/plain"}},
		"too large":     {code: api.CodeBodyTooLarge, body: strings.Repeat(" ", bodyMax) + good},
		"too slow": {code: problem.CodeRequestTimeout, body: good, prepare: func(_ *Server, r *nethttp.Request) {
			r.Body = io.NopCloser(iotest.ErrReader(os.ErrDeadlineExceeded))
		}},
		"guessed": {code: problem.CodeTooManyGuesses, body: good, headers: []string{"Authorization", "Bearer guessed"}, prepare: func(s *Server, _ *nethttp.Request) {
			for range gate.Burst {
				s.gate.Guesses.Wrong(netip.MustParseAddr("192.0.2.1"), time.Now())
			}
		}},
	}
}

// outcome returns the outcome in the answer to a draw with the headers.
func (u unread) outcome(t *testing.T, headers []string, changes ...setup) string {
	t.Helper()
	s := newServer(t, &fake{}, append([]setup{ofEveryRole}, changes...)...)
	target := "/draw"
	if u.target != "" {
		target = u.target
	}
	r := request("POST", target, u.body, slices.Concat([]string{"Authorization", "Bearer draw"}, u.headers, headers)...)
	if u.prepare != nil {
		u.prepare(s, r)
	}
	w := httptest.NewRecorder()
	undescribed(s).Handler().ServeHTTP(w, r)
	p := problemIn(t, w.Result())
	require.Equal(t, string(u.code), p.Code)
	return p.Outcome
}

// TestUnreadOutcomes: `none` states that the log does not have the draw. If a draw is
// refused before its key was looked up in the log, the outcome is `unknown` for every
// code, because an earlier request may have made the draw. The key of a ticket counts
// too, and so does an unread body that may contain a ticket. A draw without a key drew
// nothing.
func TestUnreadOutcomes(t *testing.T) {
	t.Parallel()
	for name, u := range unreads() {
		require.Equal(t, "unknown", u.outcome(t, []string{"Idempotency-Key", "k1"}), name)
		require.Equal(t, "none", u.outcome(t, nil), "%s, and no draw has a key", name)
		want := "unknown"
		if u.isRead {
			want = "none"
		}
		require.Equal(t, want, u.outcome(t, nil, withTickets), "%s, and a draw may have a ticket", name)
	}
	claims := jwt.MapClaims{"pool": "p", "sub": "u1", "jti": "order-1", "exp": 4_000_000_000}
	body := fmt.Sprintf(`{"pool":"q","ticket":"%s"}`, someTicket(t, ticketSecret, claims))
	require.Equal(t, "unknown", unread{code: draw.CodeInvalidRequest, body: body}.outcome(t, nil, withTickets), "a ticket of another pool")
	require.Equal(t, "unknown", unread{code: draw.CodeTicketInvalid, body: body}.outcome(t, nil), "a ticket of a key that the service does not have")
}

// TestEveryCodeOfDrawsHasItsOutcome: each code that POST /draw can return comes from
// the wire or from the drawer. For those of the wire, TestUnreadOutcomes has a request;
// the drawer states whether the key was looked up.
func TestEveryCodeOfDrawsHasItsOutcome(t *testing.T) {
	t.Parallel()
	ofWire := map[draw.Code]bool{draw.CodeTicketInvalid: true}
	for _, u := range unreads() {
		ofWire[u.code] = true
	}
	own, err := ownContract()
	require.NoError(t, err)
	for _, o := range own.Operations {
		if o.String() != "POST /draw" {
			continue
		}
		for _, status := range slices.Sorted(maps.Keys(o.Responses.Map())) {
			for _, code := range o.Codes(status) {
				if ofWire[draw.Code(code)] {
					continue
				}
				for isUnasked, want := range map[bool]string{false: "none", true: "unknown"} {
					if problem.Table()[draw.Code(code)].Unknown {
						want = "unknown"
					}
					f := &fake{drawn: func(context.Context, draw.Request) (draw.Draw, error) {
						return draw.Draw{}, &draw.Error{Code: draw.Code(code), Detail: "because", KeyUnasked: isUnasked}
					}}
					w := do(newServer(t, f), asAdmin("POST", "/draw", `{"pool":"p","user":"u"}`, "Idempotency-Key", "k"))
					p := problemIn(t, w.Result())
					require.Equal(t, []string{code, want}, []string{p.Code, p.Outcome}, "key unasked %v", isUnasked)
				}
			}
		}
	}
}
