package cli

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"
)

// TestUISpeaksGerman: in a German browser the page is German from the sign-in on. A
// problem is shown as a German sentence for its code, with the service's English text
// folded under it. The page is English in a browser whose language has no file of texts,
// or that cannot load the file.
func TestUISpeaksGerman(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := administered(t)
	b := browse(t, s.url, 1200, 900, speaks("de-DE,de,en"))
	b.await(`document.querySelector(".sign-in label").textContent === "Zugangsschlüssel"`)
	require.Equal(t, "de", eval[string](b, `document.documentElement.lang`))
	b.accessible(source, "the German entrance")
	b.signIn("wrong")
	b.await(`document.querySelector("[role=alert]").textContent === "Der Zugangsschlüssel ist nicht gültig."`)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.await(`document.querySelector("h1").textContent === "Kampagnen"`)
	require.Equal(t, "Kampagnen Webhooks Wartung", eval[string](b, `[...document.querySelectorAll(".top nav a")].map((a) => a.textContent).join(" ")`))
	require.Contains(t, eval[string](b, `document.querySelector("[data-pool=spring]").innerText`), "32.100 von 32.100 übrig")
	require.Contains(t, eval[string](b, `document.querySelector("[data-pool=summer]").innerText`), "pausiert")
	b.accessible(source, "the German list")

	b.press("Neue Kampagne…")
	b.fill("Name", "Frühling")
	b.fill("Kennung", "spring")
	b.press("Kampagne anlegen")
	b.await(`document.querySelector("dialog [role=alert] strong")?.textContent === "Eine Kampagne mit diesem technischen Namen gibt es schon."`)
	require.False(t, eval[bool](b, `document.querySelector("dialog .technical").open`))
	require.Regexp(t, `^TechnischesPool already exists \(pool-exists\).*spring`, eval[string](b, `document.querySelector("dialog .technical").textContent`))
	b.accessible(source, "a German problem")
	b.press("Abbrechen")
	eval[bool](b, `(location.hash = "#/pools/none", true)`)
	b.await(`document.querySelector("h1").textContent === "Diese Kampagne gibt es nicht."`)
	b.press("Alle Kampagnen")
	b.quiet(3) // the wrong key, the id that is taken, and the pool that is not there

	for languages, want := range map[string][2]string{"fr-FR,de": {"de", "Zugangsschlüssel"}, "fr-FR": {"en", "Access key"}, "de-DE": {"en", "Access key"}} {
		var blocked []string
		if languages == "de-DE" {
			blocked = []string{"*/text.de.js"}
		}
		other := browse(t, s.url, 1200, 900, speaks(languages), network.SetBlockedURLs(blocked))
		other.await(fmt.Sprintf(`document.documentElement.lang === %q && document.querySelector(".sign-in label").textContent === %q`, want[0], want[1]))
	}
	hangs := fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*/text.de.js"}}) // nothing answers this request
	other := browse(t, s.url, 1200, 900, speaks("de-DE"), hangs)
	other.await(`document.documentElement.lang === "en" && document.querySelector(".sign-in label").textContent === "Access key"`)
}

// TestUIKeepsWhatIsUnfolded: the message of a problem disappears after a while, but not
// while its folded text is open.
func TestUIKeepsWhatIsUnfolded(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	eval[bool](b, `(() => { const after = setTimeout; window.setTimeout = (act, ms, ...more) => after(act, ms / 10, ...more); return true; })()`)
	const notes = `document.querySelectorAll("#messages > div").length`
	complain := func(code string) {
		t.Helper()
		evalModule(b, "dialog.js", fmt.Sprintf(`m.complain(Object.assign(new Error("detail"), { code: %q, title: "Title" })) ?? ""`, code))
		b.await(notes + ` === 1`)
	}
	for _, code := range []string{"internal", "invalid-request"} { // the text of the first is folded, that of the second is shown at once
		complain(code)
		b.await(notes + ` === 0`)
	}
	complain("internal")
	eval[bool](b, `document.querySelector("#messages summary").click() ?? true`)
	time.Sleep(2 * time.Second)
	require.Equal(t, 1, eval[int](b, notes))
	eval[bool](b, `document.querySelector("#messages summary").click() ?? true`)
	b.await(notes + ` === 0`)
}
