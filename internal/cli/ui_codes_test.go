package cli

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUICodes: an admin creates a prize with codes and imports their file once, after a
// preview. The page shows only counts, never a code. An auditor sees the counts too, but
// cannot import.
func TestUICodes(t *testing.T) {
	t.Parallel()
	s := administeredBy(t, []string{"admin", "auditor", "draw"}, "--seal-keys", sealKeyFile(t, filepath.Join(t.TempDir(), "keys"), "k1"))
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer", "Summer party")
	b.press("Add a prize…")
	b.fill("Id", "card")
	b.fill("Name", "Gift card")
	b.fill("Value", "25")
	b.fill("Kind", "codes")
	b.press("Add the prize")
	b.said("Gift card was added.")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/summer", ""), `"codes":true`)

	preview := func(part string) {
		t.Helper()
		b.press("Preview")
		b.await(`document.querySelector("dialog .preview").textContent.includes("` + part + `")`)
	}
	b.press("Codes…")
	b.choose("AAAA-1111\nA,B\n")
	preview("line 2: a comma")
	b.choose("AAAA-1111\nAAAA-1112\n")
	preview("2 codes would be added.")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/summer/prizes/card/codes", ""), `"places":0`, "a preview writes nothing")
	b.press("Import")
	b.await(`document.querySelector("dialog .preview").textContent.includes("2 codes were added.")`)
	require.Regexp(t, `^[0-9a-f]{32}$`, eval[string](b, `document.querySelector("dialog .preview code").textContent`))
	b.await(`document.querySelector("dialog [data-label=Codes]").textContent === "2"`)
	b.choose("AAAA-1112\nAAAA-1113\n")
	preview("has it")
	b.tick("Pass over")
	b.tick("reserve")
	preview("1 code would be added. 1 is known already")
	b.press("Import")
	b.await(`document.querySelector("dialog .preview").textContent.includes("1 is in the reserve.")`)
	const leaks = `document.documentElement.outerHTML.includes("AAAA") || JSON.stringify({ ...sessionStorage, ...localStorage }).includes("AAAA")`
	require.False(t, eval[bool](b, leaks), "a code is on the page")
	b.press("Close")
	b.await(`document.querySelector("[data-prize=card] [data-label=Remaining]").dataset.value === "2"`)
	require.Equal(t, 1, eval[int](b, `[...document.querySelectorAll("button")].filter((e) => e.textContent === "Codes…").length`), "only the prize with codes offers them")

	auditor := browse(t, s.url, 1200, 900)
	auditor.signIn("auditor")
	auditor.await(`document.querySelectorAll(".pools li").length === 2`)
	auditor.visit("#/pools/summer", "Summer party")
	auditor.press("Codes…")
	auditor.await(`document.querySelector("dialog [data-label=Reserve]")?.textContent === "1"`)
	require.Empty(t, eval[string](auditor, `[...document.querySelectorAll("dialog input")].map((e) => e.type).join()`))
	auditor.quiet(0)
	require.Equal(t, 1, strings.Count(s.admin(http.StatusOK, "GET", "/admin/pools/summer", ""), `"reserve":1`))
	b.quiet(2) // a comma, and a known code
}
