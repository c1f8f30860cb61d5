package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// searches types words into the search for pools and chooses a state.
func (b *browser) searches(words, state string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		const form = document.querySelector("form.find"), words = form.querySelector("input"), state = form.querySelector("select");
		for (const [field, value] of [[words, %q], [state, %q]]) {
			field.value = value;
			field.dispatchEvent(new Event("input", { bubbles: true }));
		}
		return true;
	})()`, words, state))
}

// listsPools waits until the list of pools has exactly the given ids, in order.
func (b *browser) listsPools(ids string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`[...document.querySelectorAll(".pools a")].map((a) => a.dataset.pool).join() === %q`, ids))
}

// TestUIFindsPools: a pool beyond the first 100 is found by words of its name, with or
// without accents. Pools are filtered by state, and more are shown on request.
func TestUIFindsPools(t *testing.T) {
	t.Parallel()
	s := administered(t)
	for i := range 110 {
		s.admin(http.StatusCreated, "POST", "/admin/pools", fmt.Sprintf(`{"id":"p%03d","name":"Filler %d","state":"paused","prizes":[]}`, i, i))
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"z-feast","name":"Größtes Frühlingsfest","state":"open","prizes":[{"id":"hat","name":"Hat","stock":7}]}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"z-old","name":"Altes Frühlingsfest","state":"paused","prizes":[]}`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/z-old", `{"state":"closed"}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 100`)
	b.says("The first 100 campaigns. Find others by name.")
	b.searches("frühling GROSS", "")
	b.listsPools("z-feast")
	b.says("1 found.")
	b.await(`document.querySelector("[data-pool=z-feast] .big").dataset.value === "7"`)
	b.searches("fruhlingsfest", "")
	b.listsPools("z-feast,z-old")
	b.searches("fruhlingsfest", "closed")
	b.listsPools("z-old")
	s.admin(http.StatusOK, "PATCH", "/admin/pools/z-old", `{"archived":true}`)
	b.searches("fest ", "open")
	b.listsPools("z-feast")
	b.searches("fest", "archived")
	b.listsPools("z-old")
	b.await(`document.querySelector("[data-pool=z-old]").innerText.includes("archived")`)
	b.searches("nothing at all", "")
	b.listsPools("")
	b.says("No campaign found.")
	b.searches("filler", "paused")
	b.says("The first 50 found.")
	b.press("More")
	b.says("The first 100 found.")
	b.press("More")
	b.says("110 found.")
	b.await(`!document.body.innerText.includes("More") && document.querySelectorAll(".pools li").length === 110`)
	b.visit("#/pools/z-feast", "Größtes Frühlingsfest")
	b.visit("#/", "Campaigns")
	b.await(`document.querySelectorAll(".pools li").length === 50 && document.querySelector("form.find input").value === "filler"`)
	b.searches("", "")
	b.await(`document.querySelectorAll(".pools li").length === 100`)
	b.quiet(0)
}

// evalModule returns the value of an expression in which m is a module of the page.
func evalModule(b *browser, name, expression string) (value string) {
	b.t.Helper()
	b.do(chromedp.Evaluate(fmt.Sprintf(`import(new URL("ui/%s", document.baseURI)).then((m) => %s)`, name, expression), &value, awaited))
	return value
}

// TestUICopiesPools: a copy has the prizes, the rules, and the agenda on later days.
// Hidden items are spread again, and the page shows their seals. A refused copy creates
// nothing.
func TestUICopiesPools(t *testing.T) {
	t.Parallel()
	s := administered(t)
	const summer = "/admin/pools/summer"
	s.admin(http.StatusOK, "PUT", summer+"/rules", `{"limits":[{"of":"draws","max":1,"per":"day"}],"zone":"Europe/Berlin"}`)
	s.admin(http.StatusCreated, "POST", summer+"/agenda", `{"at":"2999-03-20T10:00:00+01:00","state":"open"}`)
	s.admin(http.StatusCreated, "POST", summer+"/agenda/spread", `{"prize":"hat","units":5,"from":"2999-03-20T10:00:00+01:00","to":"2999-03-21T10:00:00+01:00","random":true,"moment":true}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/manage", "Summer party")
	b.press("Copy…")
	b.says("begins on Wed, 20 Mar 2999.")
	require.Equal(t, "summer-party-copy", eval[string](b, labelled("Id")+`.value`))
	b.fill("Name", "Summer party 3000")
	b.fill("First day of the copy", "2999-04-03")
	b.says("Everything is 14 days later.")
	b.press("Copy")
	b.said("Campaign summer-party-3000 was created.")
	b.says("Keep the seals of the agenda")
	b.await(`/"salt": "[A-Z2-7]+"/.test(document.querySelector("dialog pre").textContent)`)
	b.press("Close")
	b.await(`document.querySelector("h1").textContent === "Summer party 3000"`)
	agenda := s.admin(http.StatusOK, "GET", "/admin/pools/summer-party-3000/agenda", "")
	for _, part := range []string{`"at":"2999-04-03T08:00:00.000000Z"`, `"count":5,"from":"2999-04-03T08:00:00.000000Z","to":"2999-04-04T08:00:00.000000Z"`} {
		require.Contains(t, agenda, part)
	}
	copied := s.admin(http.StatusOK, "GET", "/admin/pools/summer-party-3000", "")
	require.Contains(t, copied, `"stocked":250`)
	require.Contains(t, copied, `"state":"paused"`)

	s.admin(http.StatusCreated, "POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,"state":"paused"}`, time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339)))
	b.visit("#/pools/spring/manage", "Spring draw")
	b.press("Copy…")
	b.await(`document.querySelector("dialog[open]")`)
	b.fill("Name", "In the past")
	eval[bool](b, `(document.querySelector("dialog input[type=date]").removeAttribute("min"), true)`)
	b.fill("First day of the copy", "2001-01-01")
	b.press("Copy")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("at has passed")`)
	status, _, err := s.ask("GET", "/admin/pools/in-the-past", "", "Authorization", "Bearer admin")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	b.press("Cancel")

	early := time.Date(2999, 2, 2, 17, 0, 0, 0, time.UTC)
	file := "at,prize,delta,reason\n" + strings.Repeat("2999-12-20T17:00:00Z,hat,1,eve\n", 2000) + early.Format(time.RFC3339) + ",hat,1,eve\n"
	status, answer, err := s.ask("POST", "/admin/pools/summer/agenda/import", file, "Authorization", "Bearer admin", "Content-Type", "text/csv")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, answer)
	b.visit("#/pools/summer/manage", "Summer party")
	b.press("Copy…")
	b.says("begins on " + early.Format("Mon, 2 Jan 2006") + ".") // the first day is on the last page of the agenda
	b.quiet(1)                                                   // the copy into the past
}

// TestUIManagesPools: a pool is renamed, archived, shown again and deleted, and a user is
// erased. The page states why an action is not possible.
func TestUIManagesPools(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.drawn(1, 4) // users 0 to 3
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring/manage", "Spring draw")
	b.says("4 units were drawn, and the log has to stay: archive the campaign instead.")
	b.press("Delete…")
	b.said("4 units were drawn")
	b.press("Archive…")
	b.said("Only a closed campaign can be archived.")
	require.False(t, eval[bool](b, `Boolean(document.querySelector("dialog"))`))
	b.visit("#/pools/spring/proof", "Spring draw")
	b.press("Make it provably fair…")
	b.said("Pause the campaign to make it provably fair.")
	b.visit("#/pools/spring/manage", "Spring draw")
	b.press("Rename…")
	b.fill("Name", "Spring of 2026")
	b.press("Rename")
	b.said("The campaign is named Spring of 2026.")
	b.await(`document.querySelector("h1").textContent === "Spring of 2026"`)

	b.press("Erase a user…")
	b.fill("User", "user-2")
	b.press("Erase")
	b.says("1 award names this user.")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring/awards?user=user-2", ""), `"user":"user-2"`, "so far it is only counted")
	b.press("Erase")
	b.said("The user is replaced in 1 award.")
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring/awards", ""), "user-2")

	s.admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"state":"closed"}`)
	b.await(`![...document.querySelectorAll("button")].find((b) => b.textContent === "Archive…").ariaDisabled`)
	b.press("Archive…")
	b.press("Archive")
	b.said("The campaign is archived.")
	b.press("Show in lists again…")
	b.press("Show it")
	b.said("Lists show the campaign again.")

	b.visit("#/pools/summer/manage", "Summer party")
	b.press("Delete…")
	b.says("1 prize with 250 units")
	b.fill("Its technical name", "spring")
	b.press("Delete permanently")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("Type summer")`)
	b.fill("Its technical name", "summer")
	b.press("Delete permanently")
	b.said("Campaign summer was deleted.")
	b.listsPools("spring")
	status, _, err := s.ask("GET", "/admin/pools/summer", "", "Authorization", "Bearer admin")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, status)
	b.mu.Lock()
	b.refusals = nil // the view may have read the pool once more
	b.mu.Unlock()
	b.quiet(0)
}
