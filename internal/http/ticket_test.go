package http

import (
	"fmt"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/ticket"
)

// ticketSecret is 32 bytes long.
const ticketSecret = "0123456789abcdef0123456789abcdef"

func withTickets(c *Config) {
	keys, err := ticket.ParseKeys([]byte(`{"keys":[{"kty":"oct","kid":"k","k":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY"}]}`))
	if err != nil {
		panic(err)
	}
	c.Tickets = ticket.NewKeeper(keys)
}

func someTicket(t *testing.T, secret string, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	token.Header["kid"] = "k"
	signed, err := token.SignedString([]byte(secret))
	require.NoError(t, err)
	return signed
}

// TestTicketsNameTheDraw: members that the caller sends besides a ticket must agree
// with it, and members that the caller leaves out come from the ticket.
func TestTicketsNameTheDraw(t *testing.T) {
	end := time.Unix(4_000_000_000, 0).UTC()
	claims := jwt.MapClaims{"pool": "p", "sub": "u1", "jti": "order, 1", "exp": end.Unix(), "count": 3}
	genuine := someTicket(t, ticketSecret, claims)
	want := draw.Request{PoolID: "p", UserID: "u1", DrawID: "order, 1", Named: true, Count: 3, TicketUntil: end}
	for body, headers := range map[string][]string{
		`{"pool":"p","ticket":"%s"}`:                        nil,
		`{"pool":"p","user":"u1","count":3,"ticket":"%s"}`:  {"Idempotency-Key", `"order, 1"`},
		`{"pool":"p","user":"","ticket":"%s"}`:              nil,
		`{"ticket":"%s","count":3,"pool":"p","user":"u1" }`: nil,
	} {
		f := &fake{}
		w := do(newServer(t, f, withTickets), request("POST", "/draw", fmt.Sprintf(body, genuine), headers...))
		require.Equal(t, 200, w.Code, w.Body)
		require.Equal(t, want, f.last())
	}
	for body, says := range map[string]string{
		`{"pool":"q","ticket":"%s"}`:             "pool is not the one of the ticket",
		`{"ticket":"%s"}`:                        "pool is missing",
		`{"pool":"p","user":"u2","ticket":"%s"}`: "user is not the one of the ticket",
		`{"pool":"p","count":1,"ticket":"%s"}`:   "count is not the one of the ticket",
		`{"pool":"p","count":0,"ticket":"%s"}`:   "count is not the one of the ticket",
	} {
		f := &fake{}
		p := problemIn(t, do(newServer(t, f, withTickets), request("POST", "/draw", fmt.Sprintf(body, genuine))).Result())
		require.Equal(t, []any{400, says, nil}, []any{p.Status, p.Detail, f.last()})
	}
	f := &fake{}
	s := newServer(t, f, withTickets)
	p := problemIn(t, do(s, request("POST", "/draw", fmt.Sprintf(`{"pool":"p","ticket":"%s"}`, genuine), "Idempotency-Key", "order-2")).Result())
	require.Equal(t, "Idempotency-Key is not the one of the ticket", p.Detail)
	for _, forged := range []string{someTicket(t, ticketSecret+"x", claims), "x", genuine + "A"} {
		p = problemIn(t, do(s, request("POST", "/draw", fmt.Sprintf(`{"pool":"p","ticket":"%s"}`, forged))).Result())
		require.Equal(t, []any{403, "ticket-invalid", "unknown"}, []any{p.Status, p.Code, p.Outcome})
	}
	p = problemIn(t, do(newServer(t, f), request("POST", "/draw", fmt.Sprintf(`{"pool":"p","ticket":"%s"}`, genuine))).Result())
	require.Equal(t, "ticket-invalid", p.Code, "a service without keys")
	require.Nil(t, f.last())
}
