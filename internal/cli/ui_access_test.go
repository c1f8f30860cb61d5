package cli

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
)

// axeTool is the folder where npm installs axe-core, which checks accessibility.
const axeTool = "../../tools/axe"

// axe returns the source of axe-core.
func axe(t *testing.T) string {
	t.Helper()
	servertest.NeedPrograms(t, "npm", "npm", "node")
	source, err := servertest.Once("axe-core", func() (string, error) {
		install := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		install.Dir = axeTool
		if output, err := install.CombinedOutput(); err != nil {
			return string(output), err
		}
		text, err := os.ReadFile(filepath.Join(axeTool, "node_modules/axe-core/axe.min.js"))
		return string(text), err
	})
	require.NoError(t, err, source)
	return source
}

// violations runs axe-core on the present page: WCAG 2.0 to 2.2, levels A and AA, and
// best practices. It returns each violated rule with the elements that violate it.
func (b *browser) violations(axe string) (found string) {
	b.t.Helper()
	if !eval[bool](b, `"axe" in window`) {
		b.do(chromedp.Evaluate(axe, nil))
	}
	const run = `axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }).then((found) => {
		if (found.passes.length < 10) throw new Error("axe has hardly checked anything");
		return found.violations.map((v) => v.id + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(" ")).join("\n");
	})`
	b.do(chromedp.Evaluate(run, &found, awaited))
	return found
}

// accessible checks that axe-core finds no violation on the present page.
func (b *browser) accessible(axe, about string) {
	b.t.Helper()
	require.Empty(b.t, b.violations(axe), about)
}

// asks opens a dialog by a button, checks it and closes it.
func (b *browser) asks(axe, text, no string) {
	b.t.Helper()
	b.press(text)
	b.await(`document.querySelector("dialog[open]")`)
	b.accessible(axe, text)
	b.press(no)
	b.await(`!document.querySelector("dialog")`)
}

// TestUIAccess: axe-core finds no violation in the views and dialogs for awards, in
// light colours on a desktop and in dark colours on a phone. No view is wider than the
// phone.
func TestUIAccess(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := shop(t, "--hook-allow", "127.0.0.0/8")
	s.admin(http.StatusCreated, "POST", "/admin/hooks", `{"url":"http://127.0.0.1:1/in"}`) // nobody listens
	s.admin(http.StatusOK, "PATCH", "/admin/pools/summer", `{"state":"open"}`)
	for scheme, width := range map[string]int{"light": 1200, "dark": 390} {
		b := browse(t, s.url, width, 800, inScheme(scheme))
		b.await(`document.querySelector(".sign-in input")`)
		b.accessible(source, "sign-in")
		b.signIn("admin")
		b.await(`document.querySelectorAll(".pools li").length === 3`)
		moneyAccess(b, source)
		rulesAccess(b, s, source)
		awardsAccess(b, source)
		hooksAccess(b, source)
		lifeAccess(b, source)
		b.visit("#/", "Campaigns")
		b.press("Sign out")
		b.signIn("fulfil")
		b.await(`document.querySelectorAll(".pools li").length === 3`)
		b.accessible(source, "pools of the role fulfil")
		b.visit("#/pools/shop", "Shop win")
		b.lists("claimed", 4)
		b.accessible(source, "awards of the role fulfil")
		b.quiet(1) // the refusal of rules that a colleague has changed
	}
}

// moneyAccess checks the list of pools, and a pool in which nothing can be won, with its
// files and its report.
func moneyAccess(b *browser, source string) {
	b.await(`document.querySelector("[data-pool=shop]").innerText.includes("nothing can be won")`)
	b.accessible(source, "pools")
	b.visit("#/pools/shop", "Shop win")
	b.alarmed("no prize is left")
	b.accessible(source, "a pool")
	b.asks(source, "Currency…", "Cancel")
	b.asks(source, "For players…", "Cancel")
	b.asks(source, "Shown as…", "Cancel")
	b.visit("#/pools/shop/files", "Shop win")
	b.accessible(source, "files")
	b.press("Show")
	b.await(`document.querySelector(".report")`)
	b.accessible(source, "the final report")
	b.fits("the final report")
}

// rulesAccess checks rules, their form and JSON, their differences, a colleague's
// change, and a simulation.
func rulesAccess(b *browser, s *service, source string) {
	b.visit("#/pools/spring/rules", "Spring draw")
	b.accessible(source, "rules")
	b.edits()
	b.press("Add a limit")
	b.sets("Limits of a user", "At most", "1")
	b.sets("Chances", "A draw", "odds")
	b.sets("Claims", "Wins have to be claimed", "tick")
	b.await(`document.querySelector("dialog .means li")`)
	b.accessible(source, "the form of rules")
	b.press("JSON")
	b.accessible(source, "the JSON of rules")
	b.press("Show the difference")
	b.differs()
	b.accessible(source, "the difference of rules")
	s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", fmt.Sprintf(`{"fallback":"none","win":"1/%d"}`, time.Now().UnixMicro()%1000+5))
	b.press("Put in force")
	b.says("changed the rules at")
	b.accessible(source, "a colleague's rules")
	b.press("Cancel")
	b.press("Simulate")
	b.await(`document.querySelector("[data-runs]")`)
	eval[bool](b, `document.querySelector(".body details:last-of-type summary").click() ?? true`)
	b.accessible(source, "a simulation")
	b.fits("a simulation")
}

// awardsAccess checks the awards of a pool by state, and the dialogs before a step.
func awardsAccess(b *browser, source string) {
	b.visit("#/pools/shop/awards", "Shop win")
	b.await(`document.querySelector(".body tbody tr")`)
	b.accessible(source, "the last awards")
	b.lists("claimed", 4)
	b.accessible(source, "claimed")
	b.chooses("u1", "u2")
	b.asks(source, "Mark as fulfilled…", "Cancel")
	b.asks(source, "Void…", "Cancel")
	b.asks(source, "Upload a file…", "Cancel")
	b.details("u5")
	eval[bool](b, `document.querySelector("dialog summary").click() ?? true`)
	b.accessible(source, "an award")
	b.asks(source, "Replace the code…", "Cancel")
	b.details("u5")
	b.asks(source, "Show code…", "Close")
	b.fits("awards")
}

// hooksAccess checks the view of webhooks, one of which fails, and its dialogs.
func hooksAccess(b *browser, source string) {
	b.visit("#/hooks", "Webhooks")
	b.hookSays("failing")
	eval[bool](b, `document.querySelector("main summary").click() ?? true`)
	b.accessible(source, "webhooks")
	b.asks(source, "Add a webhook…", "Cancel")
	b.asks(source, "Replay…", "Cancel")
	b.asks(source, "Remove…", "Cancel")
	b.press("New secret…")
	b.press("New secret")
	b.await(`document.querySelector("dialog .secret-words")`)
	b.accessible(source, "a secret")
	b.press("Close")
	b.fits("webhooks")
	b.visit("#/jobs", "Maintenance")
	b.says("Ends wins that nobody claimed in time")
	b.accessible(source, "jobs")
}

// TestUIAccessCatches: axe-core finds a button without a name, and text that is too pale.
func TestUIAccessCatches(t *testing.T) {
	t.Parallel()
	source := axe(t)
	b := browse(t, administered(t).url, 800, 600)
	b.await(`document.querySelector(".sign-in input")`)
	eval[bool](b, `(document.querySelector(".sign-in button").textContent = "", document.querySelector(".sign-in p").style.color = "#ddd", true)`)
	found := b.violations(source)
	require.True(t, strings.Contains(found, "button-name: ") && strings.Contains(found, "color-contrast: "), found)
}
