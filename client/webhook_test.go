package client_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

// TestVerifyWebhook: a message is genuine only if it was signed with the secret, within
// the last minutes.
func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body, now := []byte(`{"type":"hook.test"}`), time.Now()
	signer, err := standardwebhooks.NewWebhook(secret)
	require.NoError(t, err)
	signature, err := signer.Sign("msg_1", now, body)
	require.NoError(t, err)
	h := http.Header{}
	h.Set("webhook-id", "msg_1")
	h.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("webhook-signature", signature)
	require.NoError(t, client.VerifyWebhook(secret, h, body))
	require.Error(t, client.VerifyWebhook(secret, h, append(body, ' ')))
	require.Error(t, client.VerifyWebhook("whsec_AAAA", h, body))
	require.Error(t, client.VerifyWebhook("whsec_?", h, body))
	h.Set("webhook-timestamp", "1")
	require.Error(t, client.VerifyWebhook(secret, h, body))
}
