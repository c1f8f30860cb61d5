package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUIActs: before every action the page shows a dialog, and afterwards the result. The
// log has the action with the name of its token.
func TestUIActs(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.press("Close…")
	b.await(`document.querySelector("dialog[open]").textContent.includes("Closing is final")`)
	b.press("Cancel")
	b.press("Pause…")
	b.press("Pause")
	b.said("The campaign is paused.")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), `"state":"paused"`)
	b.press("Open…")
	b.press("Open")
	b.said("The campaign is open.")

	b.press("Stock…") // of the first prize
	b.fill("Units", "25")
	b.fill("Reason", "restock")
	b.press("Change stock")
	b.said("Gold coin: +25, 125 remain.")
	b.press("Stock…")
	b.fill("What", "-1")
	b.fill("Units", "1000")
	b.fill("Reason", "too many")
	b.press("Change stock")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("below")`)
	b.fill("Units", "5")
	b.press("Change stock")
	b.said("Gold coin: -5, 120 remain.")
	b.await(`document.querySelector("[data-prize=gold] [data-label=Remaining]").dataset.value === "120"`)

	b.press("Import…")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,many\nNEW,New,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelectorAll("dialog .lines li").length >= 2`)
	require.Regexp(t, `line 2: stock must be .*line 3: prize id`, eval[string](b, `document.querySelector("dialog .lines").textContent`))
	b.says("prize: a short id in small letters, such as mug-red; NEW has capitals. stock: give a number,")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,10\ncup,Tin cup,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelector("dialog .preview").textContent.includes("15 units; 1 new prize, 1 restocked")`)
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), "Tin cup", "a preview writes nothing")
	b.press("Import")
	b.said("Imported: 15 units")
	b.await(`document.querySelector("[data-prize=cup] [data-label=Remaining]").dataset.value === "5"`)

	b.visit("#/pools/spring/rules", "Spring draw")
	b.await(`document.body.textContent.includes("1 draw in 4 wins now.")`)
	b.press("Change the rules…")
	b.press("JSON")
	b.fill("The whole document", `{"fallback":"none","win":"1/2"}`)
	b.press("Show the difference")
	b.press("Put in force")
	b.said("The rules are in force.")
	b.await(`document.body.textContent.includes("1 draw in 2 wins now.")`)
	b.press("Simulate")
	b.await(`document.body.textContent.includes("20,000 draws")`)

	b.visit("#/pools/spring/log", "Spring draw")
	b.await(`document.querySelectorAll("table tbody tr").length >= 10`)
	log := eval[string](b, `document.querySelector("table").innerText`)
	for _, part := range []string{"anna-admin", "restock", "+25", "-5", "put in force"} {
		require.Contains(t, log, part)
	}
	b.visit("#/jobs", "Maintenance")
	b.await(`document.querySelector("[data-job=audit]")`)
	b.press("Run now…")
	b.press("Run")
	b.said("was requested.")
	b.visit("#/pools/spring", "Spring draw")
	const offered = `[...document.querySelectorAll("button.changes, .changes button")].filter((e) => e.offsetParent && !e.hasAttribute("aria-disabled")).length`
	require.Positive(t, eval[int](b, offered))
	b.press("Close…")
	b.press("Close permanently")
	b.said("The campaign is closed.")
	b.await(offered + ` === 0`)
	b.visit("#/pools/spring/rules", "Spring draw")
	b.await(offered + ` === 0`)
	b.press("Change the rules…")
	b.said("The campaign is closed, which is final")
	require.False(t, eval[bool](b, `Boolean(document.querySelector("dialog"))`))
	b.quiet(2) // the withdrawal and the file
}

// TestUIAgenda: planned items are on a time line, if the service has agendas; otherwise
// the page does not mention them.
func TestUIAgenda(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer", "Summer party")
	link := `[...document.querySelectorAll(".sections a")].some((a) => a.textContent === "Agenda")`
	_, description, err := s.ask("GET", "/openapi.json", "")
	require.NoError(t, err)
	if !strings.Contains(description, "/admin/pools/{pool}/agenda") {
		require.False(t, eval[bool](b, link))
		b.quiet(0)
		return
	}
	require.True(t, eval[bool](b, link))
	b.visit("#/pools/summer/agenda", "Summer party")
	b.press("Add to it…")
	b.fill("When", "2999-12-31T23:59:00")
	b.press("Add")
	b.await(`document.querySelector(".line").textContent.includes("the campaign becomes open")`)
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/summer/agenda", ""), `"state":"open"`)
	b.press("Add to it…")
	b.fill("When", "2999-11-30T08:00:00")
	b.fill("What", "stock")
	b.fill("Prize", "hat")
	b.fill("Units", "25")
	b.fill("Reason", "second batch")
	b.press("Add")
	b.await(`document.querySelector(".line").textContent.includes("+25 of Straw hat, second batch")`)
	b.press("Add to it…")
	b.fill("When", "2999-12-24T08:00:00")
	b.fill("What", "rules")
	b.fill("The whole document", `{"win":"5/4"}`)
	b.press("Add")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("win")`)
	b.fill("The whole document", `{"limits":[{"of":"draws","max":3,"per":"day"}]}`)
	b.press("Add")
	b.await(`/stock|hat/.test(document.querySelectorAll(".line li")[1].textContent) && document.querySelectorAll(".line li")[2].textContent.includes("new rules")`)
	for range 2 {
		before := eval[int](b, `document.querySelectorAll(".line li").length`)
		b.press("Remove…")
		b.press("Remove")
		b.await(fmt.Sprintf(`document.querySelectorAll(".line li").length === %d && !document.querySelector("dialog[open]")`, before-1))
	}
	b.press("Remove…")
	b.press("Remove")
	b.await(`!document.querySelector(".line").textContent.includes("the campaign becomes open")`)
	b.quiet(1) // the invalid rules
}
