package cli

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/require"
)

// stepIs waits until a step of the list is in a state.
func (b *browser) stepIs(step, state string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`document.querySelector("[data-step=%s] .pill")?.textContent === %q`, step, state))
}

// TestUIReady: the view of a new pool lists the steps until it is ready, with links to
// the place of each step, and marks completed steps. After the first draw the list is
// not shown.
func TestUIReady(t *testing.T) {
	t.Parallel()
	s := administeredBy(t, []string{"admin", "auditor", "draw"})
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"new","name":"New","state":"paused","prizes":[]}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/new", "New")
	b.says("2 steps until the campaign is ready")
	for step, state := range map[string]string{"prizes": "to do", "rules": "optional", "dates": "to do", "fairness": "optional", "tokens": "done"} {
		b.stepIs(step, state)
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools/new/prizes", `{"id":"hat","name":"Hat","stock":5}`)
	b.stepIs("prizes", "done")
	b.says("1 prize, 5 units")
	b.press("Dates")
	b.await(`location.hash === "#/pools/new/agenda"`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/new/agenda", `{"at":"2999-12-01T00:00:00Z","state":"open"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/new/agenda", `{"at":"2999-12-25T00:00:00Z","state":"closed"}`)
	b.visit("#/pools/new", "New")
	b.stepIs("dates", "done")
	b.await(`/^Ready: opens 1 Dec 2999/.test(document.querySelector(".ready summary").textContent)`)
	for _, link := range []string{"rules", "agenda", "proof"} {
		require.True(t, eval[bool](b, fmt.Sprintf(`Boolean(document.querySelector(".ready a[href='#/pools/new/%s']"))`, link)), link)
	}
	s.admin(http.StatusOK, "PATCH", "/admin/pools/new", `{"state":"open"}`)
	b.says("Ready: players can draw")
	status, body, err := s.ask("POST", "/draw", `{"pool":"new","user":"u"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b.await(`document.querySelector(".ready").hidden`)
	b.quiet(0)
}

// TestUIReadyWithoutToken: if no token of role draw is valid any more, the page
// explains how to create one.
func TestUIReadyWithoutToken(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	require.Equal(t, "nobody", evalModule(b, "state.js", `(m.self.draws = "nobody")`)) // no service starts in this state
	b.visit("#/pools/summer", "Summer party")
	b.stepIs("tokens", "to do")
	b.press("How…")
	b.says("drawsvc token new --name shop --role draw")
	b.quiet(0)
}

// TestUIZone: all times of a pool, including typed ones, are in the zone of its rules,
// which the page names. That holds even if the browser has another zone.
func TestUIZone(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusOK, "PUT", "/admin/pools/summer/rules", `{"limits":[{"of":"draws","max":1,"per":"day"}],"zone":"Europe/Berlin"}`)
	b := browse(t, s.url, 1200, 900, emulation.SetTimezoneOverride("America/New_York"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/agenda", "Summer party")
	b.says("times in Europe/Berlin")
	b.press("Add to it…")
	b.says("In the time zone Europe/Berlin.")
	b.fill("When", "2999-07-01T10:00:00")
	b.press("Add")
	b.await(`document.querySelector(".line time")?.textContent === "1 Jul 2999, 10:00 CEST"`)
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/summer/agenda", ""), `"at":"2999-07-01T08:00:00.000000Z"`)
	b.visit("#/pools/summer/log", "Summer party")
	b.await(`[...document.querySelectorAll("tbody time")].length > 2 && [...document.querySelectorAll("tbody time")].every((time) => / CES?T$/.test(time.textContent))`)
	b.visit("#/pools/spring/log", "Spring draw")
	b.says("times in America/New_York, this browser's zone")
	b.await(`[...document.querySelectorAll("tbody time")].length > 2 && [...document.querySelectorAll("tbody time")].every((time) => / GMT-[45]$/.test(time.textContent))`)
	require.Equal(t, "2026-03-29T00:59:59.000Z 2026-03-29T01:00:00.000Z 2026-10-25T22:59:00.000Z", evalModule(b, "zone.js", `["2026-03-29T01:59:59", "2026-03-29T03:00:00", "2026-10-25T23:59"].map((text) => new Date(m.instantOf("Europe/Berlin", ...text.split("T"))).toISOString()).join(" ")`))
	b.quiet(0)
}

// lifeAccess checks the search, the dialogs of a pool's life, its steps, and the
// actions that are no longer possible.
func lifeAccess(b *browser, source string) {
	b.visit("#/", "Campaigns")
	b.searches("shop", "")
	b.says("1 found.")
	b.accessible(source, "a search")
	b.searches("nothing at all", "archived")
	b.says("No campaign found.")
	b.accessible(source, "a search that finds nothing")
	b.searches("", "")
	b.press("New campaign…")
	b.fill("Name", "Größe")
	eval[bool](b, `document.querySelector("dialog summary").click() ?? true`)
	b.accessible(source, "a new pool")
	b.press("Cancel")
	b.visit("#/pools/summer", "Summer party")
	b.stepIs("prizes", "done")
	b.accessible(source, "the steps")
	b.visit("#/pools/summer/manage", "Summer party")
	b.await(`document.querySelector(".reason:not([hidden])")`)
	b.accessible(source, "manage")
	for _, text := range []string{"Copy…", "Rename…", "Delete…", "Erase a user…"} {
		b.asks(source, text, "Cancel")
	}
	b.press("Archive…")
	b.said("Only a closed campaign can be archived.")
	b.accessible(source, "why something is not possible")
	b.fits("manage")
}
