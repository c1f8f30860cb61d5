package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUIRulesInGerman: the view of a pool, the steps until it is ready and the form of
// rules are German. They explain rules without the service's English sentences. German
// entries such as "1 von 20" and "14 Tage" are accepted. Entries with two meanings, such
// as "1 zu 20", are refused.
func TestUIRulesInGerman(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := administered(t)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de"), inBerlin)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	require.Equal(t, "Name oder Kennung", eval[string](b, `document.querySelector("form.find input").placeholder`))
	b.visit("#/pools/summer", "Summer party")
	b.stepIs("dates", "zu tun")
	b.visit("#/pools/spring", "Spring draw")
	b.stepIs("prizes", "erledigt")
	b.await(`document.querySelector(".ready summary").textContent === "Bereit: Teilnehmer können ziehen"`)
	b.says("Zeiten in Europe/Berlin")
	b.accessible(source, "a German pool")
	require.Empty(t, b.english("main"))
	eval[bool](b, `(document.querySelector(".figures").append("Draws per second"), true)`)
	require.Contains(t, b.english("main"), "Draws per second", "the double")

	b.visit("#/pools/spring/manage", "Spring draw")
	require.Equal(t, "Spring draw (Kopie)", evalModule(b, "text.js", `m.t("poolcopy.nameOf", { name: "Spring draw" })`))
	b.visit("#/pools/spring/rules", "Spring draw")
	b.says("1 von 4 Ziehungen gewinnt zurzeit.")
	b.says("Eine Ziehung ohne Gewinn ergibt No luck today")
	require.Empty(t, b.english("main"))
	b.accessible(source, "German rules")
	b.press("Regeln ändern…")
	b.await(`document.querySelector("dialog .means li")`)
	b.accessible(source, "the German form of rules")
	require.Empty(t, b.english("dialog"))

	b.sets("Chancen", "Chance", "1 zu 20")
	b.press("Unterschied zeigen")
	require.Equal(t, "Bitte eine Chance angeben, zum Beispiel 1 von 20 oder 5 %.", eval[string](b, `document.querySelector("dialog input:invalid").validationMessage`))
	require.Empty(t, b.english("dialog"))
	b.sets("Chancen", "Chance", "1 von 2.000")
	b.await(`document.querySelector("dialog .rules-form").textContent.includes("0,05 %")`)
	b.press("Grenze hinzufügen")
	b.sets("Grenzen je Teilnehmer", "Wie oft", "rolling")
	b.sets("Grenzen je Teilnehmer", "Dauer", "36 Std.")
	b.sets("Grenzen je Teilnehmer", "Höchstens", "3")
	b.sets("Einlösen", "Gewinne müssen eingelöst werden", "tick")
	b.sets("Einlösen", "Innerhalb von", "14 Tage")
	b.sets("Budget", "Die Gewinne kosten höchstens", "50.000,5 €")
	b.sets("Budget", "Wie oft", "day")
	b.sets("Teilnehmer und Chancen", "Gesperrte Teilnehmer", "u7")
	b.press("Unterschied zeigen")
	require.ElementsMatch(t, []string{
		"geändert Gewinnchance Chance auf einen Gewinn: 1 von 4 → Chance auf einen Gewinn: 1 von 2.000",
		"neu Grenzen Höchstens 3 Ziehungen je Teilnehmer innerhalb von 36h", "neu Budget Es werden Gewinne im Wert von höchstens 50.000,50 pro Tag vergeben",
		"neu Zeitzone Tage beginnen nach der Zeitzone Europe/Berlin", "neu gesperrt 1 Teilnehmer: u7", "neu Einlösen Gewinne müssen innerhalb von 14 Tagen eingelöst werden",
	}, b.differs())
	for _, sentence := range []string{"1 Teilnehmer ist gesperrt.", "Teilnehmer dürfen die Chancen lesen.", "Ein Gewinn über das Budget hinaus wird nicht vergeben, und alle anderen Chancen bleiben gleich."} {
		require.Contains(t, eval[[]string](b, `[...document.querySelectorAll("dialog .meaning li")].map((li) => li.textContent)`), sentence)
	}
	require.Empty(t, b.english("dialog"))
	b.press("In Kraft setzen")
	b.said("Die Regeln gelten.")
	require.JSONEq(t, `{"fallback":"none","win":"1/2000","disclose":true,"limits":[{"of":"draws","max":3,"per":"36h"}],"budget":{"max":"50000.50","per":"day"},
		"zone":"Europe/Berlin","blocked":["u7"],"claims":{"within":"336h"}}`, mustJSON(t, s.inForce()["rules"]))

	b.press("Regeln ändern…")
	b.press("JSON")
	b.fill("Das ganze Dokument", "{\"fallback\":\"none\",\n \"limits\":[],}")
	b.press("Unterschied zeigen")
	b.await(`/^Kein JSON.*Zeile 2, Spalte 1\d/.test(document.querySelector("dialog [role=alert]").textContent)`)
	require.Equal(t, "}", eval[string](b, markedJSON), "the place is marked in any language")
	b.press("Abbrechen")
	b.await(`!document.querySelector("dialog")`)
	for _, row := range [][2]string{
		{"1 von 20", "1/20"}, {"1 aus 20", "1/20"}, {"1 of 20", "1/20"}, {"2,5 %", "1/40"}, {"1 zu 20", "none"}, {"1:20", "none"},
	} {
		require.Equal(t, row[1], evalModule(b, "words.js", fmt.Sprintf(`(({ a, b } = {}) => (b ? a + "/" + b : "none"))(m.readChance(%q) ?? {})`, row[0])), row[0])
	}
	for _, row := range [][2]string{
		{"14 Tage", "336h"}, {"1 Tag", "24h"}, {"7 Tg.", "168h"}, {"36 Std.", "36h"}, {"2 Stunden", "2h"}, {"5 Min.", "5m"}, {"90 Sekunden", "90s"}, {"14 days", "336h"}, {"1 d", "24h"}, {"2 Monate", "none"},
	} {
		require.Equal(t, row[1], evalModule(b, "words.js", fmt.Sprintf(`m.readLength(%q) ?? "none"`, row[0])), row[0])
	}
	b.quiet(0)
}

// TestUIRulesMeanTheSameInGerman: the German sentences about rules mean the same as the
// service's English sentences, and appear under the same conditions.
func TestUIRulesMeanTheSameInGerman(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	sentences := func(call string) []string {
		t.Helper()
		return strings.Split(evalModule(b, "rulesmeaning.js", fmt.Sprintf(`[...m.%s.children].map((li) => li.textContent).join("\n")`, call)), "\n")
	}
	const pool = `pool: { currency: "EUR", prizes: [{ id: "gold", name: "Gold", kind: "prize" }, { id: "none", name: "Niete", kind: "blank" }] }`
	means := func(document string, hasMoments bool) []string {
		t.Helper()
		return sentences(fmt.Sprintf(`meaning(["English"], %s, { %s, plans: { hasMoments: %t } })`, document, pool, hasMoments))
	}
	toPlayers := func(rules, moments string) []string {
		t.Helper()
		return sentences(fmt.Sprintf(`meaningForPlayers({ words: ["English"], rules: %s, moments: %s }, { %s })`, rules, moments, pool))
	}
	const (
		uniform = "Jede Ziehung nimmt zufällig ein Stück, und jedes Stück, das übrig ist, ist gleich wahrscheinlich."
		usedUp  = "Die Chance eines aufgebrauchten Gewinns geht auf keinen anderen Gewinn über."
		moments = "Zu Gewinnmomenten, die vorher niemand kennt, erhält die nächste Ziehung einen Gewinn, unabhängig von den Chancen."
		returns = "Was nicht rechtzeitig eingelöst wird, kommt in den Bestand zurück."
	)
	for document, want := range map[string]string{
		`{}`:                                    uniform,
		`{ "win": "3/3" }`:                      uniform,
		`{ "win": "1/20", "fallback": "none" }`: "Eine Ziehung nimmt mit einer Chance von 1 von 20 ein Stück, und jedes Stück, das übrig ist, ist dann gleich wahrscheinlich.",
		`{ "odds": { "of": 2, "prizes": { "gold": 1 } }, "fallback": "none" }`:    usedUp,
		`{ "odds": { "of": 2, "prizes": { "gold": 0 } }, "fallback": "none" }`:    "Kein Gewinn hat eine eigene Chance.",
		`{ "guarantee": { "after": 0, "prize": "gold" }, "fallback": "none" }`:    "Eine Ziehung ohne Gewinn erhält Gold, solange der Bestand reicht.",
		`{ "guarantee": { "after": 1, "prize": "gold" }, "fallback": "none" }`:    "Nach 1 Ziehung ohne Gewinn erhält die nächste Ziehung des Teilnehmers Gold, wenn sie sonst nichts gewinnt und solange der Bestand reicht.",
		`{ "guarantee": { "after": 1000, "prize": "gold" }, "fallback": "none" }`: "Nach 1.000 Ziehungen in Folge ohne Gewinn erhält die nächste Ziehung des Teilnehmers Gold, wenn sie sonst nichts gewinnt und solange der Bestand reicht.",
		`{ "tickets": true }`:              "Eine Ziehung braucht ein Los, und jedes Los erlaubt eine Ziehung.",
		`{ "claims": { "within": "24h" }}`: returns,
	} {
		require.Contains(t, means(document, false), want, document)
	}
	require.Equal(t, []string{uniform, "Teilnehmer dürfen die Chancen nicht lesen."}, means(`{}`, false))
	require.NotContains(t, means(`{ "odds": { "of": 2, "prizes": { "gold": 1 } } }`, false), uniform)
	require.NotContains(t, means(`{ "odds": { "of": 2, "prizes": { "gold": 0 } } }`, false), usedUp)
	require.NotContains(t, means(`{ "claims": {} }`, false), returns)
	require.NotContains(t, means(`{ "claims": { "within": "24h", "return": false } }`, false), returns)
	require.Contains(t, means(`{}`, true), moments)
	require.Equal(t, []string{
		"Eine Ziehung nimmt mit einer festen Chance ein Stück, und jedes Stück, das übrig ist, ist dann gleich wahrscheinlich.", "Eine Ziehung ohne Gewinn ergibt Niete.",
		"Gewinne werden vergeben, solange das Budget des Betreibers reicht.", "Gesperrte Teilnehmer können nicht ziehen.",
		"Ein Gewinn über das Budget hinaus wird nicht vergeben, und alle anderen Chancen bleiben gleich.", moments,
	}, toPlayers(`{ "win": true, "fallback": "none", "budget": true, "blocked": true }`, "true"))
	require.Equal(t, []string{"Jeder Gewinn hat eine feste Chance, unabhängig vom Bestand."}, toPlayers(`{ "odds": true }`, "false"))
	require.Equal(t, []string{uniform, "Ein Gewinn über eine Grenze hinaus wird nicht vergeben, und alle anderen Chancen bleiben gleich."},
		slices.DeleteFunc(toPlayers(`{ "limits": [{ "of": "wins", "max": 1 }] }`, "false"), func(s string) bool { return strings.HasPrefix(s, "Höchstens") }))
	require.Equal(t, []string{uniform}, toPlayers(`{ "limits": [] }`, "false"), "no sentence of an empty list")
	require.Equal(t, []string{"English"}, toPlayers("null", "false"), "rules that the instance cannot read")
	b.quiet(0)
}
