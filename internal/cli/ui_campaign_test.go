package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestUIImportsWindowsFiles: a file as Excel saves it in German keeps its letters and
// amounts, and the page states how it was read, before anything is written. The sample
// files that the page offers can be imported unchanged.
func TestUIImportsWindowsFiles(t *testing.T) {
	t.Parallel()
	s := administered(t)
	const file = "Gewinn;Bezeichnung;Wert;St\xfcck\nelch;Pl\xfcschelch;19,90;5\n" // ü in Windows-1252
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.press("Import…")
	b.choose(file)
	b.await(`document.querySelector("dialog .preview").textContent.includes("Windows-1252")`)
	shown := eval[string](b, `document.querySelector("dialog .preview").innerText`)
	for _, part := range []string{"5 units; 1 new prize,", "They are worth 99.50; all that remains would then be worth", "Plüschelch", "19.90"} {
		require.Contains(t, shown, part)
	}
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), "schelch", "nothing is written yet")
	b.press("Import")
	b.said("Imported: 5 units")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), "Plüschelch")

	eval[bool](b, `(() => { const make = URL.createObjectURL; URL.createObjectURL = (blob) => { window.madeFile = blob; return make.call(URL, blob); }; return true; })()`)
	for _, name := range []string{"A sample file", "The present stock"} {
		b.press("Import…")
		b.press(name)
		b.await(`window.madeFile`)
		var text string
		b.do(chromedp.Evaluate(`window.madeFile.text()`, &text, awaited))
		eval[bool](b, `delete window.madeFile`)
		status, body, err := s.ask("POST", "/admin/pools/spring/import?dry_run=true", text, "Content-Type", "text/csv", "Authorization", "Bearer admin")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, body)
		require.Contains(t, text, map[bool]string{true: "mug-red", false: "Plüschelch"}[name == "A sample file"])
		b.press("Cancel")
	}
	b.quiet(0)
}

// TestUISaysThatNothingCanBeWon: once the budget is used up, the page mentions no
// chance. A simulation whose draws are refused is not reported as expected. It is
// preset to the campaign's agenda and limits, and states when a prize is used up, and
// in how many runs units are left.
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
	require.False(t, eval[bool](b, `document.body.textContent.includes("wins now")`))
	require.Equal(t, "100000", eval[string](b, labelled("Users")+`.value`), "so many that the limit turns few away, and at most as many as the service takes")
	b.fill("Users", "1000")
	b.press("Simulate")
	// The run lasts for a day from now: each user draws once before midnight, and once
	// after it.
	b.await(`/18,\d{3} of 20,000 turned away|19,000 of 20,000 turned away/.test(document.body.textContent)`)
	b.await(`/Of 20,000 tries 1[89],\d{3} were turned away by the limit of 1 draw per day: choose more users or days\./.test(document.body.textContent)`)
	require.False(t, eval[bool](b, `document.body.textContent.includes("as expected")`))
	b.says("From and To are in the time zone Europe/Berlin.")
	b.says("By day, Europe/Berlin")
	b.await(`document.querySelector("[data-runs]").dataset.runs > 1`)

	for at, state := range map[string]string{"2999-12-01T00:00:00Z": "open", "2999-12-03T00:00:00Z": "closed"} {
		s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", fmt.Sprintf(`{"at":%q,"state":%q}`, at, state))
	}
	b.visit("#/pools/summer/rules", "Summer party")
	require.Equal(t, "2999-12-01T00:00:00.000Z 2999-12-03T00:00:00.000Z", eval[string](b, `["From", "To"].map((label) =>
		new Date([...document.querySelectorAll("label")].find((l) => l.textContent === label).control.value).toISOString()).join(" ")`))
	b.fill("Draws", "300") // of 250 hats, in two days
	b.press("Simulate")
	b.await(`/day 2, /.test(document.querySelector("[data-label='Used up']")?.textContent) && document.querySelector("[data-runs]").dataset.runs > 1`)
	require.Equal(t, "0%", eval[string](b, `document.querySelector("[data-label='Some is left']").textContent`))
	require.Equal(t, "3,000.00", eval[string](b, `document.querySelector(".body [data-label=Value]").textContent`))
	b.fill("Draws", "200")
	b.press("Simulate")
	b.await(`document.querySelector("[data-label='Some is left']")?.textContent === "100%" && document.querySelector("[data-label='Used up']").textContent === "no"`)
	summerDays(b, s)
	b.quiet(0)
}

// summerDays checks a simulation that follows the agenda: units that are added on the
// second day are won from then on, and the table has each day.
func summerDays(b *browser, s *service) {
	s.admin(http.StatusOK, "POST", "/admin/pools/summer/prizes/hat/stock", `{"delta":-250,"reason":"none at first"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", `{"at":"2999-12-02T00:00:00Z","prize":"hat","delta":50,"reason":"day 2"}`)
	b.visit("#/pools/summer", "Summer party")
	b.visit("#/pools/summer/rules", "Summer party")
	b.fill("Draws", "400")
	b.press("Simulate")
	b.await(`document.querySelectorAll(".days tbody tr").length === 2 && document.querySelector("[data-runs]").dataset.runs > 1`)
	require.Equal(b.t, "0 0.00 200, 50 600.00 150", eval[string](b, `[...document.querySelectorAll(".days tbody tr")].map((row) =>
		["Wins", "Value", "Turned away"].map((label) => row.querySelector("[data-label='" + label + "']").textContent).join(" ")).join(", ")`))
	require.Regexp(b.t, `^day 2, `, eval[string](b, `document.querySelector("[data-label='Used up']").textContent`))
}
