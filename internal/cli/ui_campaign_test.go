package cli

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestUIImportsWindowsFiles: a file as Excel saves it in German keeps its letters,
// and the page says how it was read. The service, which gets the bytes, refuses them.
func TestUIImportsWindowsFiles(t *testing.T) {
	t.Parallel()
	s := administered(t)
	const prize = "elch,Pl\xfcschelch,19.90,5\n" // ü in Windows-1252
	status, body, err := s.ask("POST", "/admin/pools/spring/import", "prize,name,value,stock\n"+prize, "Content-Type", "text/csv", "Authorization", "Bearer admin")
	require.NoError(t, err)
	require.Equal(t, http.StatusBadRequest, status, body)
	require.Contains(t, body, "UTF-8")

	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.press("Import…")
	const choose = `(() => {
		const files = new DataTransfer(), input = document.querySelector("dialog input[type=file]");
		files.items.add(new File([Uint8Array.from(atob("%s"), (c) => c.charCodeAt(0))], "prizes.csv"));
		input.files = files.files;
		return input.dispatchEvent(new Event("change"));
	})()`
	eval[bool](b, fmt.Sprintf(choose, base64.StdEncoding.EncodeToString([]byte("prize,name,value,stock\n"+prize))))
	b.await(`document.querySelector("dialog .preview").textContent.includes("Windows-1252")`)
	b.await(`document.querySelector("dialog textarea").value.includes("Plüschelch")`)
	b.press("Preview")
	b.await(`document.querySelector("dialog .preview").textContent.includes("5 units; 1 new prizes")`)
	b.press("Import")
	b.said("Imported: 5 units")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), "Plüschelch")
	b.quiet(0)
}

// TestUIKeepsDraftsOfRules: a document that was typed survives Esc and a reload, until
// it is in force or discarded.
func TestUIKeepsDraftsOfRules(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring/rules", "Spring draw")
	const typed = `{"fallback":"none","win":"1/8"}`
	shows := func(text string) {
		t.Helper()
		b.press("Change the rules…")
		require.Equal(t, text, eval[string](b, `document.querySelector("dialog textarea").value`))
	}
	b.press("Change the rules…")
	b.fill("The whole document", typed)
	b.do(chromedp.KeyEvent("\u001b"))
	b.await(`!document.querySelector("dialog[open]")`)
	shows(typed)
	b.do(chromedp.Reload())
	b.await(`document.querySelector("main h1")?.textContent === "Spring draw" && document.body.textContent.includes("Rules in force")`)
	shows(typed)
	b.press("Discard it")
	b.await(`document.querySelector("dialog textarea").value.includes("1/4")`)
	b.press("Cancel")
	b.press("Change the rules…")
	b.fill("The whole document", typed)
	b.press("Put in force")
	b.said("The rules are in force.")
	b.press("Change the rules…")
	b.await(`document.querySelector("dialog textarea").value.includes("1/8") && !document.body.textContent.includes("Discard it") || getComputedStyle(document.querySelector("dialog .warning")).display === "none"`)
	b.press("Cancel")
	b.quiet(0)
}

// TestUISaysThatNothingCanBeWon: once the budget is used up, the page does not speak of
// a chance. A simulation whose draws are turned away is not called as expected.
func TestUISaysThatNothingCanBeWon(t *testing.T) {
	t.Parallel()
	s := administered(t)
	document := `{"fallback":"none","win":"1/2","budget":{"max":"0.10"},"limits":[{"of":"draws","max":1,"per":"day"}],"zone":"Europe/Berlin"}`
	etag := `"` + strconv.FormatInt(int64(members(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring/rules", ""))["version"].(float64)), 10) + `"`
	status, body, err := s.ask("PUT", "/admin/pools/spring/rules", document, "Authorization", "Bearer admin", "If-Match", etag)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring/rules", "Spring draw")
	b.await(`document.body.textContent.includes("Nothing can be won now.")`)
	require.False(t, eval[bool](b, `document.body.textContent.includes("A draw wins with")`))
	b.press("Simulate")
	b.await(`/19,000 of 20,000 turned away/.test(document.body.textContent)`)
	require.False(t, eval[bool](b, `document.body.textContent.includes("as expected")`))
	b.quiet(0)
}
