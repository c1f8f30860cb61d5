package cli

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/ui"
)

// textsOf returns the texts of a language; each plural form is a text.
func textsOf(language string) (texts []string) {
	file, _ := ui.Open("text." + language + ".js")
	for _, m := range regexp.MustCompile(`: "((?:[^"\\]|\\.)*)"`).FindAllStringSubmatch(string(file.Body), -1) {
		texts = append(texts, strings.ReplaceAll(m[1], `\"`, `"`))
	}
	return texts
}

// fragments returns the parts of texts between their holes, as far as these contain a
// word.
func fragments(texts []string) (found []string) {
	for _, text := range texts {
		for _, part := range regexp.MustCompile(`\{\w+\}`).Split(text, -1) {
			if part = strings.Trim(part, " ,;:.…"); regexp.MustCompile(`\pL{2}`).MatchString(part) {
				found = append(found, part)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// hasWords reports whether a text contains part as whole words.
func hasWords(text, part string) bool {
	return strings.Contains(text, part) && regexp.MustCompile(`(?:^|[^\pL-])`+regexp.QuoteMeta(part)+`(?:$|[^\pL-])`).MatchString(text)
}

// englishParts returns the parts of all English texts that no German text contains.
var englishParts = sync.OnceValue(func() []string {
	german := strings.Join(textsOf("de"), "\n")
	return slices.DeleteFunc(fragments(textsOf("en")), func(part string) bool { return hasWords(german, part) })
})

// ownNames removes the names in the pools of the tests, which belong to no language.
var ownNames = strings.NewReplacer("Shop win", "", "Summer party", "", "Spring draw", "", "Gold coin", "", "Gift card", "", "Straw hat", "", "No luck today", "", "No luck", "", "Silver spoon", "", "Enamel pin", "", "Advent", "")

// english returns the parts of English texts that a German page shows.
func english(shown string) (found []string) {
	shown = ownNames.Replace(shown)
	for _, part := range englishParts() {
		if hasWords(shown, part) {
			found = append(found, part)
		}
	}
	return found
}

// reads is an expression for the text that people see or hear in the elements of a
// selector. Data of the service and lines for a shell are left out.
const reads = `[...document.querySelectorAll(%q)].flatMap((place) => {
	place.querySelectorAll("details").forEach((e) => { e.open = true; });
	const all = [], texts = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
	while (texts.nextNode()) if (texts.currentNode.parentElement.checkVisibility() && !texts.currentNode.parentElement.closest("code, pre, q, time, .break")) all.push(texts.currentNode.data);
	place.querySelectorAll(":not(.code)").forEach((e) => all.push(...["aria-label", "placeholder", "data-label", "title"].map((name) => e.getAttribute(name) ?? "")));
	return all;
}).join("\n")`

// english returns the parts of English texts in the elements that a selector finds.
func (b *browser) english(selector string) []string {
	b.t.Helper()
	shown := eval[string](b, fmt.Sprintf(reads, selector))
	require.Greater(b.t, len(shown), 20, "%s shows too little: %s", selector, shown)
	return english(shown)
}

// isGerman checks that the elements of a selector show no English text, and that axe-core
// finds nothing.
func (b *browser) isGerman(source, selector, about string) {
	b.t.Helper()
	require.Empty(b.t, b.english(selector), "%s:\n%s", about, eval[string](b, fmt.Sprintf(reads, selector)))
	b.accessible(source, about)
}

// catchesEnglish checks that isGerman finds a text in a place: the broken double shows it
// there in English.
func (b *browser) catchesEnglish(selector, text string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(document.querySelector(%q).append(Object.assign(document.createElement("p"), { className: "planted", textContent: %q })), true)`, selector, text))
	require.Contains(b.t, b.english(selector), text)
	eval[bool](b, `document.querySelector(".planted").remove() ?? true`)
}

// answersIn presses a button, checks the dialog that it opens, and presses another.
func (b *browser) answersIn(source, button, no string) {
	b.t.Helper()
	b.press(button)
	b.await(`document.querySelector("dialog[open]")`)
	b.isGerman(source, "dialog", button)
	b.press(no)
	b.await(`!document.querySelector("dialog")`)
}

// TestUIGermanViews: a German browser reads no English text in the views of awards, files,
// log, fairness, webhooks and maintenance, in their dialogs, and on the page of fairness.
func TestUIGermanViews(t *testing.T) {
	t.Parallel()
	source := axe(t)
	recipients, identity := keyFiles(t)
	s := shop(t, "--hook-allow", "127.0.0.0/8", "--seed-identity-file", identity, "--seed-recipients", recipients)
	s.admin(http.StatusCreated, "POST", "/admin/hooks", `{"url":"http://127.0.0.1:1/in"}`) // nobody listens
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de,en"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	germanAwards(b, source)
	b.visit("#/pools/shop/files", "Shop win")
	b.isGerman(source, ".body", "files")
	b.press("Anzeigen")
	b.await(`document.querySelector(".report")`)
	b.isGerman(source, ".body", "the final report")
	b.visit("#/pools/shop/log", "Shop win")
	eval[bool](b, `document.getElementById("only").click() ?? true`)
	b.await(`document.querySelectorAll(".body tbody tr").length > 8`)
	b.isGerman(source, ".body", "the log")
	b.visit("#/hooks", "Webhooks")
	b.hookSays("gestört")
	b.hookSays("Wartet")
	b.isGerman(source, "main", "webhooks")
	b.catchesEnglish("main", "Last answer")
	for button, no := range map[string]string{"Webhook anlegen…": "Abbrechen", "Überspringen…": "Abbrechen", "Erneut senden…": "Abbrechen", "Neues Geheimnis…": "Abbrechen", "Ausschalten…": "Abbrechen", "Entfernen…": "Abbrechen"} {
		b.answersIn(source, button, no)
	}
	b.visit("#/jobs", "Wartung")
	b.says("Prüft, dass jede Ziehung")
	b.isGerman(source, "main", "maintenance")
	for button, no := range map[string]string{"Läufe": "Schließen", "Jetzt ausführen…": "Abbrechen", "Zeitplan…": "Abbrechen", "Ausschalten…": "Abbrechen"} {
		b.answersIn(source, button, no)
	}
	germanFairness(b, s, source)
	b.quiet(0)
}

// germanAwards reads the awards of shop, and the dialogs of their steps.
func germanAwards(b *browser, source string) {
	b.visit("#/pools/shop/awards", "Shop win")
	b.await(`document.querySelector(".body tbody tr")`)
	b.isGerman(source, ".body", "the last awards")
	b.fill("Anzeigen", "claimed")
	b.await(`document.querySelector(".body [data-list]").textContent.startsWith("4 eingelöst. Der älteste wartet seit ")`)
	eval[bool](b, `document.getElementById("choose-all").click() ?? true`)
	b.isGerman(source, ".body", "the claimed awards")
	for _, button := range []string{"Als verschickt markieren…", "Für ungültig erklären…", "Datei hochladen…"} {
		b.answersIn(source, button, "Abbrechen")
	}
	const details = `[...document.querySelectorAll(".body tbody tr")].at(-1).querySelector("button").click() ?? true`
	eval[bool](b, details)
	b.await(`document.querySelector("dialog[open] .technical")`)
	b.isGerman(source, "dialog", "an award")
	b.press("Code ersetzen…")
	b.says("In der Reserve: 1.")
	b.isGerman(source, "dialog", "a code to be replaced")
	b.press("Abbrechen")
	eval[bool](b, details)
	b.press("Code zeigen…")
	b.isGerman(source, "dialog", "a code to be shown")
	b.press("Schließen")
	eval[bool](b, details)
	b.await(`document.querySelector("dialog[open] .technical")`)
	b.press("Als verschickt markieren…")
	b.press("Als verschickt markieren")
	b.said("Gift card von u5 ist verschickt.")
}

// germanFairness makes a campaign provably fair, draws, and checks the receipt on the page
// of fairness.
func germanFairness(b *browser, s *service, source string) {
	b.visit("#/pools/summer/proof", "Summer party")
	b.isGerman(source, ".body", "secret numbers")
	b.press("Nachweislich fair machen…")
	b.isGerman(source, "dialog", "a commitment")
	b.tick("jede Ziehung mit einem Beleg")
	b.press("Nachweislich fair machen")
	b.said("Die Kampagne ist nachweislich fair.")
	b.await(`document.querySelector(".body .technical")`)
	b.isGerman(source, ".body", "a commitment that is made")
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"state":"open"}`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"fair":true}`)
	status, won, err := s.ask("POST", "/draw", `{"pool":"summer","user":"ann"}`, "Authorization", "Bearer draw", "Idempotency-Key", "k1")
	require.NoError(b.t, err)
	require.Equal(b.t, http.StatusOK, status, won)
	b.visit("#/pools/summer/awards", "Summer party")
	b.submits("draw", "k1")
	b.press("Beleg…")
	b.says("noch kein Prüfpunkt")
	b.isGerman(source, "dialog", "a receipt")

	b.do(chromedp.Navigate(b.home + "/fair/summer"))
	b.await(`document.querySelector("textarea") && document.documentElement.lang === "de" && document.title === "Fairness: Summer party"`)
	b.isGerman(source, "main", "the page of fairness")
	for answer, says := range map[string]string{won: "gültig Der Schlüssel des Betreibers hat diese Ziehung unterschrieben.", "my receipt": "Der Beleg ist nicht gültig: das ist kein Beleg: bitte die ganze Antwort einfügen"} {
		b.fill("Beleg", answer)
		b.press("Beleg prüfen")
		b.await(fmt.Sprintf(`document.querySelector("[role=status]").textContent.includes(%q)`, says))
		b.isGerman(source, "main", says)
	}
}

// TestEnglishFindsEnglish: English words among German ones are found.
func TestEnglishFindsEnglish(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"Mark", "as fulfilled?"}, english("Ziehung\nMark Gold as fulfilled?\n"))
	require.Equal(t, []string{"Last answer"}, english("Wartet\nLast answer\nkeine"))
}
