package client_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

// TestReceipt: a receipt is requested only on demand. The draw has the receipt's bytes
// unchanged, also after a lost response.
func TestReceipt(t *testing.T) {
	t.Parallel()
	with := strings.TrimSuffix(won, "}") + `,"receipt":{"note":"h/p/receipt\nline <é>\n\n— h/p AAAA\n","salt":"s","user_salt":"t"}}`
	s, c := start(t, cut, answer(200, with))
	d, err := c.Draw(t.Context(), client.Request{Pool: "p", User: "u", Key: "k", Receipt: true})
	require.NoError(t, err)
	require.Equal(t, &client.Receipt{Note: "h/p/receipt\nline <é>\n\n— h/p AAAA\n", Salt: "s", UserSalt: "t"}, d.Receipt)
	_, bodies := s.asked()
	require.Len(t, bodies, 2)
	require.JSONEq(t, `{"pool":"p","user":"u","count":1,"receipt":true}`, bodies[1])

	together := `{"text":"h/p/receipt\nline <é>\n","batch":{"note":"h/p/receipts\n2\nroot\n\n— h/p AAAA\n","index":0,"hashes":["AA=="]},"salt":"s"}`
	_, c = start(t, answer(200, strings.TrimSuffix(won, "}")+`,"receipt":`+together+"}"))
	d, err = c.Draw(t.Context(), client.Request{Pool: "p", User: "u", Key: "k", Receipt: true})
	require.NoError(t, err)
	kept, err := json.Marshal(d.Receipt)
	require.NoError(t, err)
	require.JSONEq(t, together, string(kept), "what the commands take is what came")

	s, c = start(t, answer(200, won))
	d, err = c.Draw(t.Context(), client.Request{Pool: "p", User: "u", Key: "k"})
	require.NoError(t, err)
	require.Nil(t, d.Receipt)
	_, bodies = s.asked()
	require.JSONEq(t, `{"pool":"p","user":"u","count":1}`, bodies[0])
}

// TestTicketIsSentInItsRequestOnly: a ticket is in the request, and in no other.
func TestTicketIsSentInItsRequestOnly(t *testing.T) {
	t.Parallel()
	s, c := start(t, cut, answer(200, won))
	_, err := c.Draw(t.Context(), client.Request{Pool: "p", User: "u", Key: "k", Ticket: "e.30.x"})
	require.NoError(t, err)
	_, bodies := s.asked()
	require.Len(t, bodies, 2)
	require.JSONEq(t, `{"pool":"p","user":"u","count":1,"ticket":"e.30.x"}`, bodies[1])
}
