package hook

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// SetHeaders sets the headers of a message by Standard Webhooks 1.0.0: its id, the time
// of the attempt, and a signature by each secret.
func SetHeaders(h http.Header, id string, at time.Time, body []byte, secrets ...[]byte) error {
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		signer, err := standardwebhooks.NewWebhookRaw(secret)
		if err != nil {
			return err
		}
		if signatures[i], err = signer.Sign(id, at, body); err != nil {
			return err
		}
	}
	h.Set(standardwebhooks.HeaderWebhookID, id)
	h.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	h.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return nil
}

// secrets returns the secrets that sign at the time now.
func (h *Hook) secrets(now time.Time) [][]byte {
	all := [][]byte{h.Secret}
	for _, f := range h.Former {
		if now.Before(f.Until) {
			all = append(all, f.Secret)
		}
	}
	return all
}
