package cli

import (
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"
)

// TestUISpeaksGerman: a German browser signs in and reads German; a problem is a German
// sentence by its code, with the service's words folded under it. Browsers of a language
// without a file read English, as does one that cannot load the
// file of its language.
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
}
