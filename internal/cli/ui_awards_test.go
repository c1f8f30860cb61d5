package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shopCodes are the codes of the prize card of shop: the first belongs to a unit, and the
// last is in the reserve.
const shopCodes = "CODE-1111\nCODE-1112\n"

// shop returns a service with the pool shop, whose awards need claims. u3, u1 and u2 have
// claimed a gold coin, in this order. u4 has won one without claiming it, and u5 has
// claimed a card with a code.
func shop(t *testing.T, flags ...string) *service {
	t.Helper()
	flags = append(flags, "--seal-keys", sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1"))
	s := administeredBy(t, []string{"admin", "stock", "auditor", "fulfil", "draw"}, flags...)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"shop","name":"Shop win","prizes":[{"id":"gold","name":"Gold coin","value":"19.90","stock":4}],"rules":{"claims":{}}}`)
	for i := 1; i <= 4; i++ {
		s.wins(fmt.Sprint("u", i), 1)
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools/shop/prizes", `{"id":"card","name":"Gift card","value":"25.00","codes":true}`)
	for i, query := range []string{"", "?reserve=true"} {
		status, body, err := s.ask("POST", "/admin/pools/shop/prizes/card/codes"+query, shopCodes[10*i:10*i+10], "Authorization", "Bearer admin", "Content-Type", "text/plain")
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, status, body)
	}
	s.wins("u5", 1)
	for _, user := range []string{"u3", "u1", "u2", "u5"} {
		s.admin(http.StatusOK, "POST", "/pools/shop/draws/of-"+user+"/claim", `{"user":"`+user+`"}`)
	}
	return s
}

// wins draws awards of the pool shop for a user, and returns their versions.
func (s *service) wins(user string, n int) (versions []int64) {
	s.tb.Helper()
	status, body, err := s.ask("POST", "/draw", fmt.Sprintf(`{"pool":"shop","user":%q,"count":%d}`, user, n), "Authorization", "Bearer draw", "Idempotency-Key", `"of-`+user+`"`)
	require.NoError(s.tb, err)
	require.Equal(s.tb, http.StatusOK, status, body)
	var made struct{ Awards []struct{ Version int64 } }
	require.NoError(s.tb, json.Unmarshal([]byte(body), &made))
	for _, a := range made.Awards {
		versions = append(versions, a.Version)
	}
	return versions
}

// lists waits until the awards in a state are shown, and returns their users.
func (b *browser) lists(state string, n int) string {
	b.t.Helper()
	b.fill("Show", state)
	b.await(fmt.Sprintf(`document.querySelector(".body [data-list]")?.textContent.startsWith("%d %s.")`, n, state))
	return eval[string](b, `[...document.querySelectorAll(".body [data-label=User]")].map((e) => e.textContent).join()`)
}

// details shows the award of a user that is listed.
func (b *browser) details(user string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll(".body tbody tr")].find((row) => row.querySelector("[data-label=User]").textContent === %q).querySelector("button").click() ?? true`, user))
	b.await(`document.querySelector("dialog[open] summary")`)
}

// chooses ticks the awards of users.
func (b *browser) chooses(users ...string) {
	b.t.Helper()
	for _, user := range users {
		eval[bool](b, fmt.Sprintf(`document.querySelector('[aria-label^="Choose Gold coin of %s,"]').click() ?? true`, user))
	}
}

// TestUIAwardsByState: awards are listed by their state, and the oldest waiting ones come
// first. An admin marks them as fulfilled, corrects, reopens and voids them, and replaces
// and shows a code. Each step is in the log of steps with the name of its token. No code
// stays on the page.
func TestUIAwardsByState(t *testing.T) {
	t.Parallel()
	s := shop(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/shop/awards", "Shop win")
	require.Equal(t, "u4", b.lists("won", 1))
	require.Equal(t, "u3,u1,u2,u5", b.lists("claimed", 4), "the oldest first")
	require.Contains(t, eval[string](b, `document.querySelector(".body [data-list]").textContent`), "The oldest has waited ")
	b.chooses("u3", "u1")
	b.press("Mark as fulfilled…")
	b.fill("Reference", `DHL 1, "fragile"`)
	b.press("Mark as fulfilled")
	b.said("2 awards are fulfilled.")
	require.Equal(t, "u2,u5", b.lists("claimed", 2))
	require.Equal(t, 2, strings.Count(s.admin(http.StatusOK, "GET", "/admin/pools/shop/awards?state=fulfilled", ""), `"reference":"DHL 1, \"fragile\""`))
	b.lists("fulfilled", 2)
	b.details("u3")
	b.press("Correct the reference…")
	b.fill("Reference", "DHL 2")
	b.press("Mark as fulfilled")
	b.said("Gold coin of u3 is fulfilled.")
	b.await(`[...document.querySelectorAll("[data-label=Reference]")].some((e) => e.textContent === "DHL 2")`)
	b.details("u1")
	b.press("Reopen…")
	b.fill("Reason", "it came back")
	b.press("Reopen")
	b.said("Gold coin of u1 is claimed again.")
	require.Equal(t, "u2,u5,u1", b.lists("claimed", 3))

	b.details("u2")
	b.press("Void…")
	b.press("Void permanently")
	require.True(t, eval[bool](b, `document.querySelector("dialog[open] input:invalid") !== null`), "a void needs a reason")
	b.fill("Reason", "fraud")
	b.tick("Return to stock")
	b.press("Void permanently")
	b.said("Gold coin of u2 is voided.")
	require.Equal(t, "u2", b.lists("voided", 1))
	b.details("u2")
	b.says("fraud; the unit returned to stock")
	require.False(t, b.offers("Mark as fulfilled…") && eval[bool](b, `[...document.querySelectorAll("dialog button")].length > 1`), "it has ended")
	b.press("Close")
	require.Regexp(t, `"id":"gold".*"remaining":1`, s.admin(http.StatusOK, "GET", "/admin/pools/shop", ""))

	b.lists("claimed", 2)
	b.details("u5")
	b.press("Replace the code…")
	b.says("The reserve has 1.")
	b.fill("Reason", "used")
	b.press("Replace the code")
	b.said("The code was replaced.")
	b.details("u5")
	b.press("Show code…")
	b.says("This is recorded with your name")
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/shop/steps", ""), `"to":"shown"`, "the question shows nothing yet")
	b.press("Show the code")
	b.await(`document.querySelector("dialog .secret-code")?.textContent === "CODE-1112"`)
	steps := s.admin(http.StatusOK, "GET", "/admin/pools/shop/steps", "")
	require.Regexp(t, `"to":"shown".*"actor":"anna-admin"`, steps)
	b.press("Close")
	const leaks = `document.documentElement.outerHTML.includes("CODE-111") || JSON.stringify({ ...sessionStorage, ...localStorage }).includes("CODE-111")`
	b.await(`!(` + leaks + `)`) // a closed dialog leaves the page a moment later
	b.lists("claimed", 2)
	b.details("u5")
	b.says("code shown")
	b.press("Close")
	b.quiet(0)

	auditor := browse(t, s.url, 1200, 900)
	auditor.signIn("auditor")
	auditor.await(`document.querySelectorAll(".pools li").length === 3`)
	auditor.visit("#/pools/shop/awards", "Shop win")
	auditor.lists("claimed", 2)
	auditor.details("u5")
	auditor.says("code replaced")
	require.Equal(t, "Close", eval[string](auditor, `[...document.querySelectorAll("dialog button")].map((e) => e.textContent).join()`))
	for _, text := range []string{"Mark as fulfilled…", "Void…", "Upload a file…"} {
		require.False(t, auditor.offers(text), text)
	}
	auditor.quiet(0)
}

// TestUIOfFulfil: the role fulfil sees the names of pools without the stream, and ships
// claimed awards. The page offers nothing else, and no call of the page is refused.
func TestUIOfFulfil(t *testing.T) {
	t.Parallel()
	s := shop(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("fulfil")
	b.await(`document.querySelectorAll(".pools li").length === 3 && document.querySelector(".live.on")`)
	require.Equal(t, "Shop win shop open", eval[string](b, `document.querySelector(".pools [data-pool=shop]").innerText.replace(/\s+/g, " ").trim()`), "neither stock nor rate")
	b.visit("#/pools/shop", "Shop win")
	require.Equal(t, "Awards,Files", eval[string](b, `[...document.querySelectorAll(".sections a")].map((e) => e.textContent).join()`))
	require.Equal(t, "u3,u1,u2,u5", b.lists("claimed", 4), "what is to be sent comes first")
	for _, text := range []string{"Pause…", "Close…", "Audit", "New campaign…", "Void…", "Reopen…"} {
		require.False(t, b.offers(text), text)
	}
	require.False(t, eval[bool](b, `[...document.querySelectorAll(".top nav a")].some((e) => e.textContent === "Maintenance")`))
	b.find("user", "u2")
	b.chooses("u2")
	b.press("Mark as fulfilled…")
	b.press("Mark as fulfilled")
	b.said("Gold coin of u2 is fulfilled.")
	b.lists("claimed", 3)
	b.details("u5")
	require.Equal(t, "Mark as fulfilled…,Show code…,Replace the code…,Close", eval[string](b, `[...document.querySelectorAll("dialog button")].map((e) => e.textContent).join()`))
	b.press("Show code…")
	b.press("Show the code")
	b.await(`document.querySelector("dialog .secret-code")?.textContent === "CODE-1111"`)
	b.press("Close")
	s.admin(http.StatusOK, "POST", "/pools/shop/draws/of-u4/claim", `{"user":"u4"}`)
	b.await(`document.querySelector(".body [data-list]").textContent.startsWith("4 claimed.")`) // the page updates the list by itself
	s.admin(http.StatusOK, "PATCH", "/admin/pools/shop", `{"state":"paused"}`)
	b.await(`document.querySelector(".title .pill").textContent === "paused"`)
	require.False(t, eval[bool](b, `performance.getEntriesByType("resource").some((e) => /admin.(events|jobs|hooks)|shop.(agenda|commitment)/.test(e.name))`))
	b.visit("#/", "Campaigns")
	eval[bool](b, `(location.hash = "#/pools/shop/rules", true)`)
	b.await(`document.querySelector("h1").textContent === "Not found"`)
	b.quiet(0)
}

// TestUIPayout: five thousand claimed awards are listed, are marked as fulfilled
// together, and are reopened by a file with a line for each. The whole file is checked
// before anything is written.
func TestUIPayout(t *testing.T) {
	t.Parallel()
	const all = 5000
	s := shop(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/shop/prizes", `{"id":"cup","name":"Tin cup","value":"2.00","stock":5000}`)
	var versions []int64
	for i := range all / 100 {
		user := fmt.Sprint("user-", i)
		versions = append(versions, s.wins(user, 100)...)
		s.admin(http.StatusOK, "POST", "/pools/shop/draws/of-"+user+"/claim", `{"user":"`+user+`"}`)
	}
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/shop/awards", "Shop win")
	b.fill("Show", "claimed")
	b.await(`document.querySelector(".body [data-list]").textContent.startsWith("5,004 claimed.")`)
	b.press("Show all 5,004")
	b.await(`document.querySelectorAll(".body tbody tr").length === 5004`)
	require.Equal(t, "u3,u1", eval[string](b, `[...document.querySelectorAll(".body [data-label=User]")].slice(0, 2).map((e) => e.textContent).join()`))
	eval[bool](b, `document.getElementById("choose-all").click() ?? true`)
	b.press("Mark as fulfilled…")
	b.fill("Reference", "batch 7")
	b.press("Mark as fulfilled")
	b.said("5,004 awards are fulfilled.")
	b.await(`document.querySelector(".body [data-list]").textContent.startsWith("0 claimed.")`)

	file := func(last int64) string {
		var lines strings.Builder
		lines.WriteString("award,to,reason\n")
		for _, version := range versions[:all-1] {
			fmt.Fprintf(&lines, "%d,reopened,it came back\n", version)
		}
		fmt.Fprintf(&lines, "%d,reopened,it came back\n", last)
		return lines.String()
	}
	preview := func(part string) {
		t.Helper()
		b.press("Preview")
		b.await(fmt.Sprintf(`document.querySelector("dialog .preview").textContent.includes(%q)`, part))
	}
	b.press("Upload a file…")
	b.choose(file(9_999_999))
	preview("line 5001: ")
	b.choose(file(versions[all-1]))
	preview("5,000 lines: 5,000 awards would change, 0 are so already.")
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/shop/awards?state=claimed", ""), `"claimed"`, "a preview writes nothing")
	b.press("Upload")
	b.said("Uploaded: 5,000 awards changed, 0 were so already.")
	b.await(`document.querySelector(".body [data-list]").textContent.startsWith("5,000 claimed.")`)
	b.press("Upload a file…")
	b.choose(file(versions[all-1]))
	preview("0 awards would change, 5,000 are so already.")
	b.quiet(1) // the file with a wrong line
}
