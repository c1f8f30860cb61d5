package cli

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// inBerlin makes Berlin the time zone of a page's browser. The browser's own override
// would also affect pages of other tests.
var inBerlin = chromedp.ActionFunc(func(ctx context.Context) error {
	_, err := cdppage.AddScriptToEvaluateOnNewDocument(`const options = Intl.DateTimeFormat.prototype.resolvedOptions;
		Intl.DateTimeFormat.prototype.resolvedOptions = function () { return { ...options.call(this), timeZone: "Europe/Berlin" }; };`).Do(ctx)
	return err
})

// sets types a text into a field in a part of the form of rules. If several fields have
// the label, it uses the last one, which belongs to the newest row. The text "tick" sets
// a check box.
func (b *browser) sets(part, label, text string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(() => {
		const place = [...document.querySelectorAll("dialog fieldset")].find((f) => f.querySelector("legend").textContent === %q);
		const field = [...place.querySelectorAll("label")].filter((l) => l.textContent.trim() === %q).at(-1).control;
		if (%[3]q === "tick") field.click();
		else {
			field.value = %[3]q;
			if (field.value !== %[3]q) throw new Error("no such choice: " + %[3]q);
			field.dispatchEvent(new Event("input", { bubbles: true }));
		}
		return true;
	})()`, part, label, text))
}

// typedRules is an expression for the document of the dialog of rules.
const typedRules = `document.querySelector("dialog textarea.code").value`

// markedJSON is an expression for the selected part of the JSON.
const markedJSON = `(() => { const text = document.querySelector("dialog textarea.code"); return text.value.slice(text.selectionStart, text.selectionEnd); })()`

// differs returns the lines of the differences that are shown.
func (b *browser) differs() []string {
	b.t.Helper()
	b.await(`document.querySelector("dialog .differences")`)
	return eval[[]string](b, `[...document.querySelectorAll("dialog .differences li")].map((li) => li.innerText.replace(/\s+/g, " "))`)
}

// inForce returns the rules of the pool spring.
func (s *service) inForce() map[string]any {
	s.tb.Helper()
	return members(s.tb, s.admin(http.StatusOK, "GET", "/admin/pools/spring/rules", ""))
}

// edits opens the dialog of rules.
func (b *browser) edits() {
	b.t.Helper()
	b.press("Change the rules…")
	b.await(`document.querySelector("dialog[open] [role=tab], dialog[open] h3")`)
}

// TestUIRulesForm: a person sets every member of the rules in a form, in everyday words.
// The form does not change members that it does not support, or that the person did not
// edit. The page shows the meaning of the rules, and their changes, before they are in
// force. Errors name the member and its place.
func TestUIRulesForm(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","win":"2/4","limits":[{"of":"draws","max":3,"per":"36h"}],"disclose":false}`)
	before := s.inForce()["version"]
	b := browse(t, s.url, 1200, 900, inBerlin)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"caps","name":"Caps","prizes":[{"id":"cap-m","name":"Cap","value":"5.00","stock":0},{"id":"cap-l","name":"Cap","value":"5.00","stock":0}]}`)
	b.visit("#/pools/caps/rules", "Caps")
	b.says("Nothing can be won now.")
	b.edits()
	b.sets("Chances", "A draw", "odds")
	b.sets("Chances", "Cap (cap-l)", "5 %")
	b.says("By these rules a draw can get no prize. Choose under Chances which losing ticket it gives then.")
	b.press("Cancel")
	b.await(`!document.querySelector("dialog")`)
	b.visit("#/pools/summer/rules", "Summer party")
	b.says("Nobody can draw while the campaign is paused. Opened as it is: Every draw wins.")
	b.edits()
	require.JSONEq(t, `{"zone":"Europe/Berlin"}`, eval[string](b, typedRules), "the first rules begin in the zone of the browser")
	b.press("Cancel")
	b.await(`!document.querySelector("dialog")`)
	require.False(t, eval[bool](b, `document.querySelector(".changes .danger").checkVisibility()`), "without rules")
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"state":"closed"}`)
	b.says("The campaign is closed: its rules stay as they are.")
	b.says("The campaign is closed: nobody can draw.")
	b.await(`[...document.querySelectorAll(".changes button")].every((b) => b.ariaDisabled === "true" && b.title.includes("closed"))`)
	b.visit("#/pools/spring/rules", "Spring draw")
	b.edits()
	b.await(`document.querySelector("dialog .means li")`)
	require.JSONEq(t, mustJSON(t, s.inForce()["rules"]), eval[string](b, typedRules), "nothing was touched")

	b.sets("Budget", "The prizes cost at most", "50.000,5 €")
	b.says("That is 50,000.50.")
	b.sets("Budget", "How often", "day")
	require.Equal(t, "Europe/Berlin", eval[string](b, labelled("Days begin in the time zone")+`.value`), "preset with the first window of the calendar")
	b.sets("Guarantee", "Guaranteed prize", "silver")
	b.sets("Guarantee", "Guarantee a prize after so many misses in a row", "9")
	b.press("Add a limit")
	b.sets("Limits of a user", "Counted", "prize")
	b.sets("Limits of a user", "Prize", "gold")
	b.sets("Limits of a user", "How often", "rolling")
	b.sets("Limits of a user", "Time", "7 days")
	b.sets("Limits of a user", "At most", "1")
	b.press("Add a warning")
	b.sets("Warn of low stock", "Warn of", "gold")
	b.sets("Warn of low stock", "When fewer remain than", "5")
	b.sets("Claims", "Wins have to be claimed", "tick")
	b.sets("Claims", "Within", "14 days")
	b.sets("Claims", "What is not claimed in time returns to stock", "tick")
	b.sets("Users and odds", "A draw needs a signed ticket", "tick")
	b.sets("Users and odds", "Players may read the odds", "tick")
	b.sets("Users and odds", "Blocked users", "u7\n u7 \nu8")
	b.choose("Nutzer;warum\nM\xfcller;x\nu9;y\n") // as Excel saves it in German
	b.says("2 come from file.csv, read as Windows-1252.")
	b.readsEntries()
	b.sets("Chances", "Chance", "a lot")
	b.says("is said when the marked field is mended")
	require.NotContains(t, eval[string](b, `document.querySelector("dialog .means").innerText`), "A draw takes a unit", "the sentences are not of what is typed")
	b.press("Show the difference")
	require.Equal(t, "Write a chance such as 1 in 20 or 5 %.", eval[string](b, `document.querySelector("dialog input:invalid").validationMessage`))
	b.press("JSON")
	b.says("Mend the marked field first.")
	b.sets("Chances", "Chance", "2,5 %")
	const limits = `"limits":[{"of":"draws","max":3,"per":"36h"},{"of":"prize","prize":"gold","max":1,"per":"168h"}]`
	const others = limits + `,"budget":{"max":"50000.50","per":"day"},"zone":"Europe/Berlin","blocked":["u7","u8","Müller","u9"],"disclose":true,"tickets":true,
		"low":[{"prize":"gold","below":5}],"claims":{"within":"336h","return":false},"guarantee":{"after":9,"prize":"silver"},"fallback":"none"`
	b.await(typedRules + `.includes("1/40")`)
	require.JSONEq(t, `{"win":"1/40",`+others+`}`, eval[string](b, typedRules))

	b.press("Check and simulate")
	b.says("Of one run. Another gives other numbers.")
	require.NotContains(t, eval[string](b, `document.querySelector("dialog .preview").textContent`), "drawsvc simulate", "the command simulates the rules in force")

	b.press("JSON")
	b.fill("The whole document", `{ "cooldown": {"a": [1]}, "win":"1/40",`+others+`}`)
	b.press("Form")
	b.says(`The form does not know "cooldown"`)
	b.sets("Chances", "A draw", "odds")
	b.sets("Chances", "Gold coin", "1 in 1.000")
	b.sets("Chances", "Silver spoon", "2,5 %")
	b.sets("Chances", "Enamel pin", "0")
	b.says("97.4 % of the draws get no prize.")
	b.sets("Chances", "Gold coin", "98 %")
	b.says("The chances are more than 100 % together.")
	b.sets("Chances", "Gold coin", "1 in 999.999.937")
	b.says("Write them as percentages, such as 0.012 %.")
	b.sets("Chances", "Gold coin", "0,0000001 %")
	b.says("97.5 % of the draws get no prize.")
	require.Equal(t, "0.0000001 %", eval[string](b, labelled("Gold coin")+`.closest("p").querySelector("small").textContent`))
	b.sets("Chances", "Gold coin", "1 in 1.000")
	b.says("97.4 % of the draws get no prize.")
	require.JSONEq(t, `{"cooldown":{"a":[1]},"odds":{"of":1000,"prizes":{"gold":1,"silver":25,"pin":0}},`+others+`}`, eval[string](b, typedRules))
	b.press("JSON")
	b.press("Show the difference")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes('unknown member "cooldown" (line 2, column 3)')`)
	require.Equal(t, `"`, eval[string](b, markedJSON))
	b.fill("The whole document", "{\"fallback\":\"none\",\n \"limit\":[]}")
	b.press("Show the difference")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes('did you mean "limits"? (line 2, column 2)')`)
	b.fill("The whole document", "{\"fallback\":\"none\",\n \"limits\":[],}")
	b.press("Show the difference")
	b.await(`/The document is not JSON at line 2, column 1\d/.test(document.querySelector("dialog [role=alert]").textContent)`)

	for document, hint := range map[string]string{"{“win”: “1/2”}": "It has quotation marks of a word processor", `{"fallback":"none",}`: "The comma before } or ] is one too many."} {
		b.fill("The whole document", document)
		b.press("Show the difference")
		b.says(hint)
	}
	b.fill("The whole document", `{"fallback":"none","blocked":["😀😀", 5]}`)
	b.press("Show the difference")
	b.says(`"blocked[1]" must be a string (line 1, column 37)`)
	require.Equal(t, "5", eval[string](b, markedJSON))

	b.fill("The whole document", `{"fallback":"none","win":"1/2","win":"1/3"}`)
	b.press("Form")
	b.says("A member is there twice: the form cannot show both.")

	final := `{"win":"1/40",` + others + `}`
	b.fill("The whole document", final)
	b.press("Show the difference")
	differences := b.differs()
	for _, line := range []string{
		"changed win a win has the chance 2 in 4 → a win has the chance 1 in 40", "added limits at most 1 win of Gold coin of a user within 7 days",
		"added budget prizes worth at most 50,000.50 are given per day", "added blocked 4 users: u7, u8, Müller, u9", "added zone days begin in the time zone Europe/Berlin",
	} {
		require.Contains(t, differences, line)
	}
	words := members(t, s.admin(http.StatusOK, "POST", "/admin/pools/spring/rules", final))["words"]
	require.Equal(t, words, any(eval[[]any](b, `[...document.querySelectorAll("dialog .meaning li")].map((li) => li.textContent)`)))
	require.Equal(t, before, s.inForce()["version"], "nothing binds yet")
	b.press("Put in force")
	b.said("The rules are in force.")
	require.JSONEq(t, final, mustJSON(t, s.inForce()["rules"]))
	b.quiet(4) // the odds without a losing ticket, the unknown members, and the number among the users
}

// readsEntries checks how the form reads amounts and chances, which it writes into the
// rules. Ambiguous entries are refused.
func (b *browser) readsEntries() {
	b.t.Helper()
	b.do(chromedp.Evaluate(`import(new URL("words.js", document.querySelector("script[src]").src)).then(({ readAmount, readChance }) => { window.read = {
		amount: (text) => readAmount(text) ?? "none", chance: (text) => { const c = readChance(text); return c ? c.a + "/" + c.b : "none"; } }; return true; })`, nil, awaited))
	for _, row := range [][3]string{
		{"amount", "50.000,00 €", "50000.00"}, {"amount", "1'000.50", "1000.50"}, {"amount", "US$ 5", "5.00"}, {"amount", "5 Euro", "5.00"}, {"amount", "CHF 1.500", "1500.00"}, {"amount", "0.05", "0.05"},
		{"amount", "50k", "none"}, {"amount", "50 Tsd", "none"}, {"amount", "5 Mio", "none"}, {"amount", "0.050", "none"}, {"amount", "-5", "none"},
		{"chance", "5%", "1/20"}, {"chance", "0,5 %", "1/200"}, {"chance", "1 in 1.500", "1/1500"}, {"chance", "0.05", "none"}, {"chance", "50000", "none"}, {"chance", "150 %", "none"},
	} {
		require.Equal(b.t, row[2], eval[string](b, fmt.Sprintf(`window.read.%s(%q)`, row[0], row[1])), "%s %s", row[0], row[1])
	}
}

// TestUIKeepsDraftsOfRules: a draft survives Esc, a reload and a colleague's change.
// After a colleague's change, the page states who made it and when, shows both sets of
// changes, and applies the draft to the new rules. Members that only the colleague
// changed stay. The broken double is a draft that replaces the whole document.
func TestUIKeepsDraftsOfRules(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring/rules", "Spring draw")
	const typed = `{"fallback":"none","disclose":true, "win":"1/8"}`
	leaves := func() {
		t.Helper()
		b.do(chromedp.KeyEvent("\u001b"))
		b.await(`!document.querySelector("dialog")`)
	}
	b.edits()
	b.press("JSON")
	b.fill("The whole document", typed)
	leaves()
	b.edits()
	require.Equal(t, typed, eval[string](b, typedRules))
	b.do(chromedp.Reload())
	b.await(`document.querySelector("main h1")?.textContent === "Spring draw" && document.body.textContent.includes("Rules in force")`)
	b.edits()
	require.Equal(t, typed, eval[string](b, typedRules))
	leaves()
	becomes := func(name string) {
		t.Helper()
		b.do(chromedp.Evaluate(fmt.Sprintf(`import(new URL("state.js", document.querySelector("script[src]").src)).then(({ self }) => { self.name = %q; })`, name), nil, awaited))
	}
	becomes("bea-admin") // as after a sign-out and another sign-in
	b.edits()
	require.True(t, eval[bool](b, `document.querySelector("dialog .warning").hidden`), "the draft is somebody else's")
	leaves()
	becomes("anna-admin")
	b.edits()
	require.Equal(t, typed, eval[string](b, typedRules))
	b.press("Discard it")
	b.await(typedRules + `.includes("1/4")`)
	leaves()
	b.edits()
	require.True(t, eval[bool](b, `document.querySelector("dialog .warning").hidden`), "the draft was dropped")

	b.sets("Chances", "Chance", "five percent")
	b.sets("Users and odds", "Blocked users", "u9")
	leaves()
	b.edits()
	b.await(typedRules + `.includes("u9")`)
	require.JSONEq(t, `{"fallback":"none","win":"1/4","disclose":true,"blocked":["u9"]}`, eval[string](b, typedRules), "what cannot be read removes nothing")
	b.sets("Users and odds", "Blocked users", "")
	b.sets("Chances", "Chance", "1 in 8")
	b.press("Show the difference")
	require.Equal(t, []string{"changed win a win has the chance 1 in 4 → a win has the chance 1 in 8"}, b.differs())
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","win":"1/4","blocked":["u7"]}`)
	b.press("Put in force")
	const asked = `/^anna-admin changed the rules at \d\d:\d\d [A-Z]\S*\. Compare and keep yours\?$/.test(document.querySelector("dialog h3")?.textContent)`
	b.await(asked)
	require.Equal(t, []string{"removed disclose players may read the odds", "added blocked 1 user: u7", "changed win a win has the chance 1 in 4 → a win has the chance 1 in 8"}, b.differs())
	leaves()
	b.do(chromedp.Reload())
	b.await(`document.querySelector("main h1")?.textContent === "Spring draw" && document.body.textContent.includes("Rules in force")`)
	b.edits()
	b.await(asked)
	b.press("Compare and keep mine")
	b.await(`document.querySelector("dialog button[type=submit]").textContent === "Put in force"`)
	require.Equal(t, []string{"changed win a win has the chance 1 in 4 → a win has the chance 1 in 8"}, b.differs())
	b.press("Put in force")
	b.said("The rules are in force.")
	require.JSONEq(t, `{"fallback":"none","win":"1/8","blocked":["u7"]}`, mustJSON(t, s.inForce()["rules"]))

	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none"}`)
	b.await(`document.querySelector("main pre").textContent === '{\n  "fallback": "none"\n}'`)
	b.edits()
	b.sets("Chances", "A draw", "odds")
	b.sets("Chances", "Gold coin", "5 %")
	b.press("Show the difference")
	b.differs()
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","win":"1/2"}`)
	b.press("Put in force")
	b.says("Both of you changed win.") // the rules cannot have both win and odds
	b.press("Compare and keep mine")
	b.await(`document.querySelector("dialog button[type=submit]").textContent === "Put in force"`)
	require.Contains(t, b.differs(), "removed win a win has the chance 1 in 2")
	leaves()
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","odds":{"of":1000,"prizes":{"gold":1,"silver":20,"pin":0}}}`)
	b.await(`document.querySelector("main pre").textContent.includes("odds")`)
	b.edits()
	b.await(asked)
	b.press("Take theirs")
	b.sets("Chances", "Enamel pin", "1 in 7")
	b.press("Show the difference")
	require.Equal(t, []string{"changed odds Enamel pin has the chance 0 → Enamel pin has the chance 1 in 7"}, b.differs(), "the whole differs, no other chance")
	leaves()
	b.press("Remove them…")
	b.says("From the next draw on")
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none"}`)
	b.press("Remove the rules")
	b.says("Somebody changed the rules meanwhile")
	s.admin(http.StatusOK, "DELETE", "/admin/pools/spring/rules", "")
	leaves()
	b.await(`document.body.textContent.includes("No rules:")`)
	b.edits()
	b.await(asked)
	b.press("Take theirs")
	b.await(`document.querySelector("dialog .warning").hidden && !` + typedRules + `.includes("odds")`)
	b.press("Cancel")
	b.quiet(4) // two changes and a removal after the colleague's, and the rules that were removed
}
