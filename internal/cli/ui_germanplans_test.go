package cli

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// speaksGerman checks that places show no English text, and that axe-core finds nothing. It
// closes the dialog if one is open.
func (b *browser) speaksGerman(source, selector, about string) {
	b.t.Helper()
	b.isGerman(source, selector, about)
	if eval[bool](b, `document.querySelector("dialog[open]") !== null`) {
		eval[bool](b, `document.querySelector("dialog[open]").close() ?? true`)
		b.await(`!document.querySelector("dialog")`)
	}
}

// TestUISpeaksGermanOfPlans: the calendar, the agenda and all of their dialogs are
// German.
func TestUISpeaksGermanOfPlans(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := withAdvent(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-05T17:00:00Z","prize":"mug","delta":4,"reason":"eve"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda/spread", `{"prize":"gold","units":9,"from":"2999-12-03T17:00:00Z","to":"2999-12-08T17:00:00Z","random":true}`)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	b.await(`document.querySelector(".body h2").textContent === "Kalender"`)
	b.speaksGerman(source, ".body > *", "the calendar")
	b.press("Durch Verteilen füllen…")
	b.fill("Mug", "24")
	b.fill("Freigabe", "daily")
	b.press("Vorschau")
	b.says("Noch ist nichts geplant.")
	b.speaksGerman(source, "dialog", "filling")
	b.press("Durch Verteilen füllen…")
	b.press("Vorschau")
	b.says("Bitte für mindestens einen Gewinn die Stückzahl angeben.")
	b.speaksGerman(source, "dialog", "filling with nothing")
	b.press("Aus Datei füllen…")
	b.press("Vorschau")
	b.says("Bitte zuerst eine Datei wählen.")
	b.speaksGerman(source, "dialog", "a file")
	b.press("Von Hand ergänzen…")
	b.speaksGerman(source, "dialog", "by hand")
	b.opens("2999-12-05", "mug")
	b.speaksGerman(source, "dialog", "a place")
	b.opens("hidden", "gold")
	b.says("9 Stück, von")
	b.speaksGerman(source, "dialog", "hidden units")
	eval[bool](b, `document.querySelector('.calendar tr[data-row="2999-12-05"] th button').click() ?? true`)
	b.await(`document.querySelectorAll(".calendar tbody tr").length === 25`)
	b.speaksGerman(source, ".body > *", "hours")
	b.press("Planung des Tages entfernen…")
	b.says("4 Stück, noch nicht erledigt: 1 Freigabe und 0 verborgene Listen.")
	b.speaksGerman(source, "dialog", "a day's plan")
	b.visit("#/pools/advent/agenda", "Advent")
	b.says("+4 von Mug, eve")
	b.speaksGerman(source, ".body > *", "the agenda")
	b.press("Ergänzen…")
	b.fill("Was", "stock")
	b.speaksGerman(source, "dialog", "adding")
	for n := range 4 { // the opening, the stock, the close and what is hidden
		eval[bool](b, fmt.Sprintf(`document.querySelectorAll(".line button")[%d].click() ?? true`, n))
		b.speaksGerman(source, "dialog", "removing")
	}
	b.visit("#/pools/advent/calendar", "Advent")
	b.catchesEnglish(".body", "Units that the agenda releases, by the day")
	b.quiet(0)
}

// TestUISpeaksGermanOfPrizes: the views and dialogs for prizes, stock, pauses and the end
// of a campaign are German, as are a simulation and its results.
func TestUISpeaksGermanOfPrizes(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := administered(t)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.await(`document.querySelector("[data-prize=gold] [data-label='Übrig']").dataset.value === "100"`)
	b.speaksGerman(source, "table.prizes", "the prizes")
	for _, text := range []string{"Bestand…", "Name oder Wert ändern…", "Anzeige…", "Für Teilnehmer…"} {
		b.press(text)
		b.speaksGerman(source, "dialog", text)
	}
	eval[bool](b, `[...document.querySelectorAll(".body .changes button")].find((b) => b.closest("table") === null).click() ?? true`)
	b.await(`document.querySelector("dialog h2").textContent === "Gewinn hinzufügen"`)
	b.speaksGerman(source, "dialog", "a new prize")
	eval[bool](b, `[...document.querySelectorAll(".body .changes button")].filter((b) => b.closest("table") === null).at(-1).click() ?? true`)
	b.await(`document.querySelector("dialog h2").textContent === "Bestand einlesen"`)
	b.fill("Oder ihr Inhalt", "prize,name,value,stock\nNEW,New,1.00,5\n")
	b.press("Vorschau")
	b.says("prize: eine kurze Kennung in Kleinbuchstaben, etwa mug-red; NEW hat Großbuchstaben.")
	b.fill("Oder ihr Inhalt", "prize,name,value,stock\ncup,Tin cup,1.00,5\n")
	b.press("Vorschau")
	b.says("5 Stück; 1 neuer Gewinn, 0 aufgefüllt. Noch ist nichts geschrieben.")
	b.speaksGerman(source, "dialog", "a file of prizes")
	eval[bool](b, `document.querySelector(".title > .actions button").click() ?? true`)
	b.await(`document.querySelector("dialog h2").textContent === "Kampagne pausieren?"`)
	b.speaksGerman(source, "dialog", "a pause")
	b.visit("#/pools/spring/manage", "Spring draw")
	b.speaksGerman(source, ".body > *", "manage")
	for _, text := range []string{"Umbenennen…", "Löschen…", "Teilnehmer unkenntlich machen…"} {
		b.press(text)
		b.speaksGerman(source, "dialog", text)
	}

	b.visit("#/pools/spring/rules", "Spring draw")
	b.fill("Ziehungen", "500")
	b.press("Probelauf starten")
	b.await(`document.querySelector("[data-runs]")?.dataset.runs > 1`)
	eval[bool](b, `document.querySelector("[data-runs] ~ .technical summary").click() ?? true`)
	b.speaksGerman(source, ".simulation, [data-runs], [data-runs] ~ *", "a simulation")
	b.quiet(1) // the file with a wrong id
}

// TestUIForecastKnowsTheClose: if the stock lasts until the agenda closes the campaign,
// the page forecasts no earlier end.
func TestUIForecastKnowsTheClose(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/spring/agenda", `{"at":"2999-12-25T00:00:00Z","state":"closed"}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.await(`/^lasts beyond the end of the campaign \(25 Dec 2999, .*\)$/.test(document.querySelector("[data-figure=end]").textContent)`)
	for pool, want := range map[string]string{
		`{ stocked: 5, remaining: 5, state: "open", ends_at: "2999-12-24T00:00:00Z" }`: "ends in ",
		`{ stocked: 5, remaining: 5, state: "open", ends_at: "2999-12-26T00:00:00Z" }`: "lasts beyond",
		`{ stocked: 5, remaining: 5, state: "open", nothing: {} }`:                     "nothing can be won now",
	} {
		var said string
		b.do(chromedp.Evaluate(fmt.Sprintf(`import(new URL("pools.js", document.querySelector("script[src]").src)).then((m) => m.forecast(%s, [{ state: "closed", done: null, at: "2999-12-25T00:00:00Z" }]))`, pool), &said, awaited))
		require.Contains(t, said, want, pool)
	}
	b.quiet(0)
}
