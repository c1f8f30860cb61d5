package cli

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUIPause: a pause has a notice, a reason and the time of a retry. The pool's page
// shows them until it is opened again, also to an auditor.
func TestUIPause(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.press("Pause…")
	b.fill("Players see", "Back at 8 <b>pm</b>")
	b.fill("Reason", "restore of the backup")
	b.fill("Retry after", "soon")
	b.press("Pause")
	require.True(t, eval[bool](b, `document.querySelector("dialog[open] input:invalid") !== null`), "it is no time")
	b.fill("Retry after", "25h")
	b.press("Pause")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("24h")`)
	b.fill("Retry after", "5m")
	b.press("Pause")
	b.said("The campaign is paused.")
	const shown = `document.querySelector(".pause:not([hidden])")?.textContent`
	const want = "Paused for about 5m: shops try again after it. · Players see: Back at 8 <b>pm</b> · Reason: restore of the backup"
	b.await(shown + ` === "` + want + `"`)
	status, body, err := s.ask("POST", "/draw", `{"pool":"spring","user":"u"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, status, body)
	require.Contains(t, body, `"notice":"Back at 8 <b>pm</b>"`)

	auditor := browse(t, s.url, 1200, 900)
	auditor.signIn("auditor")
	auditor.await(`document.querySelectorAll(".pools li").length === 2`)
	auditor.visit("#/pools/spring", "Spring draw")
	auditor.await(shown + ` === "` + want + `"`)
	auditor.quiet(0)

	b.press("Open…")
	b.press("Open")
	b.said("The campaign is open.")
	b.await(`document.querySelector(".pause").hidden`)
	b.press("Pause…") // an empty pause has no message
	b.press("Pause")
	b.await(`document.querySelector(".title .pill").textContent === "paused"`)
	b.await(`document.querySelector(".pause").hidden`)
	b.quiet(1)
}
