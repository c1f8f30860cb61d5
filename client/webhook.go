package client

import (
	"net/http"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// VerifyWebhook returns an error unless a service that has the hook's secret sent the
// body with these headers within the last five minutes. Verify the bytes of the body
// before you parse them. A message may come more than once: keep the ids of its events.
func VerifyWebhook(secret string, header http.Header, body []byte) error {
	verifier, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return err
	}
	return verifier.Verify(body, header)
}
