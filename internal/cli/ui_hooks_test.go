package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/client"
)

// hookTick is the interval at which a test reads the messages that have arrived.
const hookTick = 50 * time.Millisecond

// receiver receives the webhooks of a test.
type receiver struct {
	url string

	mu     sync.Mutex
	status int
	// taken are the bodies that were answered with 200. secrets are the secrets that must
	// have signed each message.
	taken   []string
	secrets []string
	wrong   []error
}

// receives starts a receiver, which answers 200 at first.
func receives(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, secret := range r.secrets {
			if err == nil {
				err = client.VerifyWebhook(secret, request.Header, body)
			}
		}
		if err != nil {
			r.wrong = append(r.wrong, err)
		}
		if r.status == http.StatusOK {
			r.taken = append(r.taken, string(body))
		}
		w.WriteHeader(r.status)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL + "/in"
	return r
}

// answers sets the answer to the next messages.
func (r *receiver) answers(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// verifies makes the receiver check each later message with each of the secrets.
func (r *receiver) verifies(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = secrets
}

// has returns how many messages that contain part were answered with 200.
func (r *receiver) has(part string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, body := range r.taken {
		n += min(1, strings.Count(body, part))
	}
	return n
}

// secret returns the secret that the open dialog shows, and closes it.
func (b *browser) secret() string {
	b.t.Helper()
	b.await(`document.querySelector("dialog .secret-words")`)
	secret := eval[string](b, `document.querySelector("dialog .secret-words").textContent`)
	require.Regexp(b.t, `^whsec_[A-Za-z0-9+/=]{44}$`, secret)
	b.press("Close")
	b.await(`!document.querySelector("dialog")`)
	const leaks = `document.documentElement.outerHTML.includes("whsec_") || JSON.stringify({ ...sessionStorage, ...localStorage }).includes("whsec_")`
	require.False(b.t, eval[bool](b, leaks), "a secret stays on the page")
	return secret
}

// hookSays waits until the only hook is shown with a text.
func (b *browser) hookSays(part string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`document.querySelector("[data-hook]")?.innerText.replace(/\s+/g, " ").includes(%q)`, part))
}

// TestUIWebhooks: an admin adds a webhook. Its secret is shown once, and verifies the
// messages that arrive. The page shows how many events wait for it and its last answer.
// An admin tests, retries, skips, replays, rotates, switches off and removes it.
func TestUIWebhooks(t *testing.T) {
	t.Parallel()
	r := receives(t)
	s := shop(t, "--hook-allow", "127.0.0.0/8")
	s.admin(http.StatusOK, "POST", "/admin/pools/shop/prizes/gold/stock", `{"delta":9,"reason":"more"}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/hooks", "Webhooks")
	b.says("No webhook yet.")
	b.press("Add a webhook…")
	b.fill("Address", "http://169.254.169.254/in")
	b.press("Add")
	b.await(`document.querySelector("dialog [role=alert]").textContent !== ""`)
	b.fill("Address", r.url)
	b.tick("Shop win")
	b.press("Add")
	secret := b.secret()
	b.hookSays("Campaigns shop")
	r.verifies(secret)
	won := func(user string, arrives int) {
		t.Helper()
		s.wins(user, 1)
		require.Eventually(t, func() bool { return r.has(`"user":"`+user+`"`) == arrives }, stepMax, hookTick, user)
	}
	won("w1", 1)
	require.Zero(t, r.has(`"user":"u1"`), "it begins now")
	b.hookSays("Last answer taken (200)")

	r.answers(http.StatusInternalServerError)
	won("w2", 0)
	b.hookSays("failing")
	b.hookSays("Waiting 1 event, ")
	b.hookSays("not taken (500)")
	b.hookSays("Next attempt")
	b.press("Test")
	b.said("Test: not taken (500)")
	r.answers(http.StatusOK)
	b.press("Test")
	b.said("Test: taken (200)")
	require.Equal(t, 1, r.has("hook.test"))
	b.press("Retry now")
	require.Eventually(t, func() bool { return r.has(`"user":"w2"`) == 1 }, stepMax, hookTick)
	b.hookSays("Waiting nothing")

	r.answers(http.StatusInternalServerError)
	won("w3", 0)
	b.hookSays("failing")
	b.press("Skip…")
	b.fill("Campaign", "shop")
	b.press("Skip it")
	b.said("The message was skipped.")
	b.hookSays("Waiting nothing")
	r.answers(http.StatusOK)
	won("w4", 1)
	require.Zero(t, r.has(`"user":"w3"`))
	b.press("Replay…")
	b.fill("Campaign", "shop")
	b.press("Send again")
	b.said("The events are sent again.")
	require.Eventually(t, func() bool { return r.has(`"user":"w3"`) == 1 && r.has(`"user":"w1"`) == 2 }, stepMax, hookTick)

	b.press("New secret…")
	b.press("New secret")
	other := b.secret()
	require.NotEqual(t, secret, other)
	b.hookSays("Old secret signs until")
	r.verifies(secret, other) // for a day both secrets sign
	won("w5", 1)
	b.press("Switch off…")
	b.press("Switch off")
	b.said("The webhook is off.")
	b.hookSays("Somebody switched it off.")
	s.wins("w6", 1)

	auditor := browse(t, s.url, 1200, 900)
	auditor.signIn("auditor")
	auditor.await(`document.querySelectorAll(".pools li").length === 3`)
	auditor.visit("#/hooks", "Webhooks")
	auditor.hookSays("off")
	require.Zero(t, eval[int](auditor, `document.querySelectorAll("main button").length`), "an auditor changes nothing")
	auditor.quiet(0)

	require.Zero(t, r.has(`"user":"w6"`))
	b.press("Switch on…")
	b.press("Switch on")
	require.Eventually(t, func() bool { return r.has(`"user":"w6"`) == 1 }, stepMax, hookTick, "nothing is lost")
	b.press("Remove…")
	b.press("Remove permanently")
	b.says("No webhook yet.")
	r.mu.Lock()
	require.Empty(t, r.wrong, "messages that do not verify")
	r.mu.Unlock()
	b.quiet(1) // the address that nobody may send to
}
