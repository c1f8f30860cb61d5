package http

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
	"drawsvc/internal/draw"
)

// decodeWhole decodes an answer into a type, which has to have every member.
func decodeWhole[T any](body []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return decoder.Decode(new(T))
}

// TestClientReadsWholeAnswers: the types of the Go client have all members of the
// answers to drawing clients, and its methods return them. The broken double lacks a
// member.
func TestClientReadsWholeAnswers(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := newServer(t, f)
	server := httptest.NewServer(s.Handler())
	defer server.Close()
	c := &client.Client{URL: server.URL, Token: adminToken, AllowPlainHTTP: true}
	for path, decode := range map[string]func([]byte) error{
		"/pools/p": decodeWhole[client.Pool], "/pools/p/users/u1": decodeWhole[client.User], "/pools/p/odds": decodeWhole[client.Odds],
		"/pools/p/draws/d/receipt": decodeWhole[client.ProvenReceipt],
	} {
		w := do(s, asAdmin("GET", path, ""))
		require.Equal(t, nethttp.StatusOK, w.Code, path)
		require.NoError(t, decode(w.Body.Bytes()), path)
	}
	require.Error(t, decodeWhole[struct{ Limits, Misses any }](do(s, asAdmin("GET", "/pools/p/users/u1", "")).Body.Bytes()), "the double")

	user, err := c.User(t.Context(), "p", "u1")
	require.NoError(t, err)
	require.NotEmpty(t, user.Limits)
	require.Positive(t, user.Limits[0].Max)
	odds, err := c.Odds(t.Context(), "p")
	require.NoError(t, err)
	require.NotEmpty(t, odds.Chances)
	receipt, err := c.Receipt(t.Context(), "p", "d")
	require.NoError(t, err)
	require.NotEmpty(t, receipt.Receipt.Salt)
	count := 0
	for a, err := range c.UserAwards(t.Context(), "p", "u1", 0) {
		require.NoError(t, err)
		require.Equal(t, "p", a.Pool)
		require.NotEmpty(t, a.Prize)
		if count++; count == 3 {
			break
		}
	}
	require.Positive(t, count)

	f.err = draw.Errorf(draw.CodeUserNotCounted, "the rules count no users")
	_, err = c.User(t.Context(), "p", "u1")
	require.ErrorIs(t, err, client.UserNotCounted)
	var problem *client.Error
	require.True(t, errors.As(err, &problem), fmt.Sprint(err))
	for _, err := range c.UserAwards(t.Context(), "p", "u1", 0) {
		require.ErrorIs(t, err, client.UserNotCounted)
	}
}
