package cli

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// TestUIExample: people without a campaign can see an example in their language, and
// nothing is created. On request it is created exactly as shown, but paused.
func TestUIExample(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := servedOn(t, stocktest.Migrated(t, "sqlite"), []string{"admin", "draw"})
	german := browse(t, s.url, 390, 800, speaks("de-DE,de"))
	german.signIn("admin")
	german.press("ein Beispiel ansehen")
	german.says("Wochenende zu zweit")
	german.says("Höchstens 1 Ziehung je Teilnehmer pro Tag.")
	german.isGerman(source, "main, dialog", "the example in German")
	german.fits("the German example")
	german.press("Abbrechen")
	german.quiet(0)

	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.says("Create one, or see an example.")
	b.press("see an example")
	b.says("A draw takes a unit with a chance of 1 in 20; every unit that remains is then equally likely.")
	b.says("At most 1 draw of a user per day.")
	require.Contains(t, b.english("dialog"), "Weekend for two", "the check of the German one finds English")
	require.Equal(t, "499.00", eval[string](b, `document.querySelector("dialog tbody .number").textContent`))
	b.accessible(source, "the example")
	b.press("Cancel")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools", ""), `"pools":[]`, "nothing is created")

	b.press("see an example")
	b.press("Create the campaign")
	b.said("Campaign example-campaign was created.")
	b.await(`document.querySelector("h1").textContent === "Example campaign"`)
	b.stepIs("prizes", "done")
	pool := s.admin(http.StatusOK, "GET", "/admin/pools/example-campaign", "")
	for _, part := range []string{`"state":"paused"`, `"name":"Weekend for two","value":"499.00","kind":"prize","stocked":1,`, `"budget":{"max":"2500.00"`} {
		require.Contains(t, pool, part)
	}
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/example-campaign/rules", ""), `"Each user draws at most once a day."`)
	b.quiet(0)
}

// TestUIOperatorName: the pages show the operator's name instead of drawsvc, as text,
// even before anybody signs in.
func TestUIOperatorName(t *testing.T) {
	t.Parallel()
	source := axe(t)
	const name = `Müller & <b>Söhne</b> "Kaffee" aus Hamburg an der Elbe`
	s := administeredBy(t, []string{"admin"}, "--operator-name", name)
	b := browse(t, s.url, 390, 800)
	b.await(`document.querySelector(".sign-in h1")`)
	require.Equal(t, name, eval[string](b, `document.querySelector("h1").textContent`))
	require.Equal(t, name, eval[string](b, `document.title`))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	require.Equal(t, name, eval[string](b, `document.querySelector(".mark").textContent`))
	b.await(`document.title.startsWith("Campaigns – Müller & <b>")`)
	b.fits("the example")
	b.accessible(source, "an operator's name")
	s.admin(http.StatusOK, "PATCH", "/admin/pools/spring", `{"fair":true}`)
	b.do(chromedp.Navigate(s.url + "/fair/spring"))
	b.await(`document.querySelector("main .mark")?.textContent.startsWith("Müller & <b>")`)
	require.Equal(t, "Fairness: Spring draw – "+name, eval[string](b, `document.title`))
	b.accessible(source, "an operator's name on the page of fairness")
	b.quiet(0)

	plain := browse(t, administered(t).url, 800, 600)
	plain.await(`document.querySelector(".sign-in h1").textContent === "drawsvc" && document.title === "drawsvc"`)
}
