package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// namesPools creates pools: the name is typed first, and the id is derived from it. If
// the id is taken, the next number is appended, even if the page has not read the pool
// that has it. The last pool is named Mine.
func namesPools(b *browser, s *service) {
	b.t.Helper()
	creates := func(id, name string) {
		b.t.Helper()
		b.press("Create the campaign")
		b.said("Campaign " + id + " was created.")
		b.await(fmt.Sprintf(`document.querySelector("h1").textContent === %q`, name))
	}
	b.press("New campaign…")
	require.Equal(b.t, "Name", eval[string](b, `document.querySelector("dialog label").textContent`))
	for name, id := range map[string]string{
		"Advent 2026": "advent-2026", "Größe & Übermut": "groesse-and-uebermut", "Fête d’été": "fete-dete", "Łódź Øre İstanbul": "lodz-ore-istanbul",
		"  --  ": "campaign", "抽選会": "campaign", "…": "campaign", "Spring": "spring-2", "": "",
		"A very long name of a campaign that goes on and on, beyond what an id may be": "a-very-long-name-of-a-campaign-that-goes-on-and-on-beyond-what-a",
	} {
		b.fill("Name", name)
		require.Equal(b.t, id, eval[string](b, labelled("Id")+`.value`), name)
		require.Equal(b.t, id, eval[string](b, `document.querySelector("dialog summary code").textContent`), name)
	}
	b.fill("Name", "Spring")
	creates("spring-2", "Spring")

	b.visit("#/", "Campaigns")
	b.press("New campaign…")
	b.fill("Name", "Wintér")
	require.Equal(b.t, "winter", eval[string](b, labelled("Id")+`.value`))
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"winter","name":"A colleague's","prizes":[]}`) // while the dialog is open
	creates("winter-2", "Wintér")

	b.visit("#/", "Campaigns")
	b.press("New campaign…")
	b.fill("Name", "Mine")
	b.fill("Id", "winter")
	b.press("Create the campaign")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("winter")`)
	b.fill("Id", "mine.2")
	creates("mine.2", "Mine")
}

// TestUINewPool: a pool is created on the page and gets prizes. A prize can be renamed
// as long as nobody has won it.
func TestUINewPool(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	namesPools(b, s)

	b.press("Add a prize…")
	b.fill("Id", "sled")
	b.fill("Name", "Sledge")
	b.fill("Value", "49.90")
	b.fill("Units", "3")
	b.press("Add the prize")
	b.said("Sledge was added.")
	b.press("Add a prize…")
	b.fill("Id", "none")
	b.fill("Name", "No luck")
	b.fill("Kind", "blank")
	b.press("Add the prize")
	b.said("No luck was added.")
	b.press("Rename or change value…") // the first
	b.fill("Name", "Wooden sledge")
	b.fill("Value", "59.90")
	b.press("Change the prize")
	b.said("The prize was changed.")
	b.says("Wooden sledge")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/mine.2", ""), `{"id":"sled","name":"Wooden sledge","value":"59.90","kind":"prize","stocked":3,"issued":0,"remaining":3,"given":"0.00"}`)
	b.press("Open…")
	b.press("Open")
	b.said("The campaign is open.")
	status, body, err := s.ask("POST", "/draw", `{"pool":"mine.2","user":"u"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b.await(`document.querySelector("[data-prize=sled] [data-label=Issued]").dataset.value === "1"`)
	b.await(`[...document.querySelectorAll("[data-prize=sled] button")].filter((b) => b.ariaDisabled !== "true").map((b) => b.textContent).join() === "Stock…,Shown as…"`)
	b.press("Rename or change value…")
	b.said("1 unit was drawn with this name and value.")

	b.press("Shown as…") // of the first, which has issued a unit
	b.fill("Name", "Rodel")
	b.fill("Text", "Aus Esche "+planted)
	b.fill("Link", "https://shop.example/rodel")
	b.press("Show this")
	b.said("It is shown.")
	b.await(`document.querySelector("[data-prize=sled] b").textContent === "Rodel"`)
	b.await(`document.querySelector("[data-prize=sled] .shown a").href === "https://shop.example/rodel"`)
	b.press("For players…")
	b.fill("Text", "Jeden Tag")
	b.press("Show this")
	b.await(`document.querySelector("[data-figure=text]").textContent === "Jeden Tag"`)
	status, body, err = s.ask("POST", "/draw", `{"pool":"mine.2","user":"u"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"name":"Wooden sledge"`, "the name in the log")
	b.await(`document.querySelector("[data-prize=sled] [data-label=Issued]").dataset.value === "2"`)
	require.Equal(t, "Rodel", eval[string](b, `document.querySelector("[data-prize=sled] b").textContent`), "the stream keeps what is shown")
	_, body, err = s.ask("GET", "/pools/mine.2", "", "Authorization", "Bearer draw")
	require.NoError(t, err)
	for _, part := range []string{`"text":"Jeden Tag"`, `"name":"Rodel"`, `"link":"https://shop.example/rodel"`} {
		require.Contains(t, body, part)
	}
	require.Contains(t, s.stderr.String(), `"msg":"what is only shown was changed","pool":"mine.2","prize":"sled","display":{"Name":"Rodel"`)
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/mine.2/log", ""), "Rodel")
	b.quiet(2) // the ids that are taken
}

// TestUIJobs: a job is switched off and on, gets another schedule, and runs.
func TestUIJobs(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/jobs", "Maintenance")
	audit := func(part string) {
		t.Helper()
		b.await(fmt.Sprintf(`document.querySelector("[data-job=audit]")?.innerText.includes(%q)`, part))
	}
	b.press("Switch off…") // of the first, the audit
	b.press("Switch off")
	b.said("audit is off.")
	audit("off")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/jobs/audit", ""), `"enabled":false`)
	b.press("Switch on…")
	b.press("Switch on")
	b.said("audit is on.")
	b.press("Schedule…")
	b.fill("Schedule", "now and then")
	b.press("Set the schedule")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("schedule")`)
	b.fill("Schedule", "every 2h")
	b.press("Set the schedule")
	b.said("audit runs every 2h.")
	audit("every 2h")
	b.press("Run now…")
	b.press("Run")
	b.said("audit was requested.")
	done := `"result":"ok","error":null,"error_code":null,"asked_by":"anna-admin"`
	require.Eventually(t, func() bool {
		return strings.Contains(s.admin(http.StatusOK, "GET", "/admin/jobs/audit/runs", ""), done)
	}, stepMax, 100*time.Millisecond)
	b.press("Runs")
	b.await(`document.querySelector("dialog[open] table")?.innerText.includes("ok")`)
	b.press("Close")
	audit("anna-admin")
	b.quiet(1) // the invalid schedule
}

// TestUIDraftRules: a draft is checked and simulated on the page, and has no effect
// until it is put in force.
func TestUIDraftRules(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring/rules", "Spring draw")
	b.says("1 draw in 4 wins now.")
	b.edits()
	b.press("JSON")
	for draft, says := range map[string]string{
		`{"fallback":"none","win":"5/4"}`: `"win"`, `{"fallback":"none","limits":[{"of":"draws","max":0}]}`: "limits[0].max",
		`{"fallback":"gold"}`: "fallback", `{"fallback":`: "JSON",
	} {
		b.fill("The whole document", draft)
		b.press("Check and simulate")
		b.await(fmt.Sprintf(`document.querySelector("dialog .preview .error")?.textContent.includes(%q)`, says))
	}
	b.fill("The whole document", `{"fallback":"none","win":"1/2"}`)
	require.Empty(t, eval[string](b, `document.querySelector("dialog .preview").textContent`), "what was said is of another draft")
	b.press("Check and simulate")
	b.says("The rules are valid.")
	b.await(`document.querySelector("dialog .preview details").textContent.includes("50.00%")`)
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring/rules", ""), "1/2", "it is in force nowhere")
	b.press("Cancel")
	b.press("Remove them…")
	b.press("Remove the rules")
	b.said("The campaign has no rules.")
	b.says("No rules: each draw takes one unit")
	b.quiet(3) // the page itself finds invalid JSON
}

// TestUIHistory: the charts show the time before the page was opened. For that the page
// reads only some dozens of entries of a long log.
func TestUIHistory(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"state":"open"}`)
	for range 3 {
		// One call makes all draws at one time, even on a slow machine.
		status, body, err := s.ask("POST", "/draw", `{"pool":"summer","user":"u","count":80}`, "Authorization", "Bearer draw")
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, status, body)
		time.Sleep(1200 * time.Millisecond) // a rate needs at least a second
	}
	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer", "Summer party")
	// The scales of the charts include earlier values: the rate while people drew, and the
	// whole stock.
	b.await(`parseFloat(document.querySelector(".chart.rate .top").textContent) >= 10`)
	b.await(`document.querySelector(".chart.stock .top").textContent === "250"`)
	require.Equal(t, "0", eval[string](b, `document.querySelector("[data-figure=rate]").textContent`))
	asked := eval[int](b, `performance.getEntriesByType("resource").filter((r) => r.name.includes("/log?")).length`)
	require.LessOrEqual(t, asked, 12+24+30+1)

	b.visit("#/pools/summer/awards", "Summer party")
	b.submits("user", "a\u200bb")
	b.await(`document.querySelector(".body [role=status] .technical[open]")?.textContent.includes("user")`)
	b.quiet(1) // the invalid search
}

// TestUIHistoryOfBlanks: the page shows the remaining stock although an endless blank
// is drawn, whose awards do not reduce the stock. The chart's scale begins at 0 and
// ends at the stock only if most of it is drawn: of 60 units, 60 draws win 45, give or
// take a few.
func TestUIHistoryOfBlanks(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"autumn","name":"Autumn fair","rules":{"win":"3/4","fallback":"none"},
		"prizes":[{"id":"pear","name":"Pear","stock":60},{"id":"none","name":"No win","kind":"blank"}]}`)
	status, body, err := s.ask("POST", "/draw", `{"pool":"autumn","user":"u","count":60}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	require.Contains(t, body, `"win":false`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/autumn", "Autumn fair")
	b.await(`document.querySelector(".chart.stock .top").textContent === "60"`)
	b.quiet(0)
}
