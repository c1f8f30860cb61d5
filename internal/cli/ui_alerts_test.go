package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// warned is an expression for the warnings of the banner.
const warned = `[...document.querySelectorAll(".alerts:not([hidden]) li > div > span")].map((e) => e.textContent).join("\n")`

// warns waits until the banner has a warning that matches a pattern, or until it has no
// such warning.
func (b *browser) warns(pattern string, is bool) {
	b.t.Helper()
	b.await(fmt.Sprintf(`/%s/m.test(%s) === %t`, pattern, warned, is))
}

// puts dismisses the warning that contains a text.
func (b *browser) puts(away string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`[...document.querySelectorAll(".alerts li")].find((li) => li.textContent.includes(%q)).querySelector("button").click() ?? true`, away))
}

// TestUIWarns: above every view a banner shows what needs action: a spent budget, low
// stock, a planned item that failed, an audit with findings, a late job. A dismissed
// warning stays hidden while its cause lasts, and appears again with the next cause.
func TestUIWarns(t *testing.T) {
	t.Parallel()
	source := axe(t)
	database := stocktest.Migrated(t, "sqlite")
	s := administeredOn(t, database, []string{"admin", "auditor", "draw"})
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","win":"1/4","low":[{"prize":"gold","below":101}],"budget":{"max":"0.10"}}`)
	at := time.Now().Add(5 * time.Second).UTC().Format(time.RFC3339)
	s.admin(http.StatusCreated, "POST", "/admin/pools/spring/agenda", fmt.Sprintf(`{"at":%q,"prize":"silver","delta":-5000,"reason":"too many"}`, at))
	s.admin(http.StatusOK, "PATCH", "/admin/jobs/statement", `{"host":"nowhere"}`)
	tamper(t, database, `UPDATE jobs SET due_at = '2020' || substr(due_at, 5) WHERE name = 'statement'`, `UPDATE prizes SET issued = 5 WHERE pool_id = 'summer'`)
	s.admin(http.StatusAccepted, "POST", "/admin/jobs/audit/run", "")
	require.Eventually(t, func() bool {
		return strings.Contains(s.admin(http.StatusOK, "GET", "/admin/jobs/audit", ""), `"ok":false`) &&
			strings.Contains(s.admin(http.StatusOK, "GET", "/admin/pools/spring/log?acts=true", ""), `"failed"`)
	}, commandMax, 100*time.Millisecond)

	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	for _, pattern := range []string{
		"^Spring draw: Nothing can be won: budget used up", "^Spring draw: Few of Gold coin are left: 100\\.$", "^Summer party: The audit found ", "^The job statement is late by ",
	} {
		b.warns(pattern, true)
	}
	require.True(t, eval[bool](b, `document.querySelector(".alerts").closest("[role=status][aria-live=polite]") !== null`))
	b.accessible(source, "the banner")
	b.visit("#/pools/spring", "Spring draw")
	b.warns("^Spring draw: What was planned for .* was not possible: So many units cannot be withdrawn: some of them were drawn\\.$", true)
	b.warns("budget used up", false) // the pool's own view shows it instead
	b.alarmed("budget used up")
	b.puts("The job statement")
	b.warns("The job statement", false)
	b.do(chromedp.Reload())
	b.warns("The audit found", true)
	b.warns("The job statement", false)

	moves := func(delta int) {
		t.Helper()
		s.admin(http.StatusOK, "POST", "/admin/pools/spring/prizes/gold/stock", fmt.Sprintf(`{"delta":%d,"reason":"test"}`, delta))
	}
	moves(-10)
	b.warns("Few of Gold coin are left: 90\\.", true)
	b.puts("Gold coin")
	b.warns("Gold coin", false)
	moves(-5)
	b.await(`document.querySelector("[data-prize=gold] [data-label=Remaining]").dataset.value === "85"`)
	b.warns("Gold coin", false) // the stock has been low since then, so the cause is the same
	moves(50)
	b.await(`document.querySelector("[data-prize=gold] [data-label=Remaining]").dataset.value === "135"`)
	moves(-50)
	b.warns("Few of Gold coin are left: 85\\.", true)
	b.quiet(0)

	german := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	german.signIn("auditor")
	german.await(`document.querySelectorAll(".pools li").length === 2`)
	german.warns("^Die Aufgabe Tagesbericht ist um .* verspätet\\.$", true)
	german.visit("#/pools/spring", "Spring draw")
	german.warns("^Spring draw: Der für .* geplante Termin war nicht möglich: So viel lässt sich nicht entnehmen: ein Teil davon wurde gezogen\\.$", true)
	german.quiet(0)
}
