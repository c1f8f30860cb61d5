package cli

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestUIOnAPhone: no view is wider than a small screen, in both colour schemes, and
// text has enough contrast.
func TestUIOnAPhone(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.drawn(1, 5)
	b := browse(t, s.url, 360, 740)
	narrow := func(about string) {
		t.Helper()
		require.LessOrEqual(t, eval[int](b, `document.documentElement.scrollWidth`), 360, about)
	}
	narrow("sign-in")
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	paper := map[string]string{}
	for _, scheme := range []string{"light", "dark"} {
		b.do(inScheme(scheme))
		for _, view := range [][2]string{{"#/", "Campaigns"}, {"#/pools/spring", "Spring draw"}, {"#/pools/spring/awards", "Spring draw"}, {"#/pools/spring/rules", "Spring draw"}, {"#/pools/spring/log", "Spring draw"}, {"#/pools/spring/agenda", "Spring draw"}, {"#/pools/spring/proof", "Spring draw"}, {"#/jobs", "Maintenance"}} {
			b.visit(view[0], view[1])
			narrow(scheme + " " + view[0])
			require.Empty(t, eval[string](b, contrast), "%s %s", scheme, view[0])
		}
		paper[scheme] = eval[string](b, `getComputedStyle(document.body).backgroundColor`)
	}
	require.NotEqual(t, paper["light"], paper["dark"])
	b.visit("#/pools/spring", "Spring draw")
	b.press("Import…")
	narrow("dialog")
	b.quiet(0)

	b = browse(t, s.url, 360, 740, speaks("de-DE,de")) // German words are longer
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	narrow("the German list")
	for _, section := range []string{"", "/awards", "/rules", "/calendar", "/agenda", "/proof", "/log", "/files", "/manage"} {
		b.visit("#/pools/spring"+section, "Spring draw")
		narrow("German " + section)
	}
	b.quiet(0)
}

// contrast lists the texts whose contrast is below 4.5, which WCAG AA requires.
const contrast = `(() => {
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (color) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
	const light = (c) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => { const v = c[i] / 255; return sum + weight * (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); }, 0);
	const behind = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; } return [255, 255, 255]; };
	const low = new Set();
	for (const e of document.querySelectorAll("#app *")) {
		if (![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
		const [a, b] = [light(rgb(getComputedStyle(e).color)), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) low.add(e.className + " " + e.textContent.slice(0, 20));
	}
	return [...low].join("; ");
})()`

// TestUIKeyboard: with only the keyboard, a pool can be opened and paused.
func TestUIKeyboard(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	focused := func(text string) {
		t.Helper()
		for range 40 {
			if eval[string](b, `document.activeElement.innerText.split("\n")[0].trim()`) == text {
				return
			}
			b.do(chromedp.KeyEvent("\t"))
		}
		t.Fatalf("the tabulator never reaches %q", text)
	}
	focused("Spring draw")
	b.do(chromedp.KeyEvent("\r"))
	b.await(`document.querySelector("h1").textContent === "Spring draw"`)
	focused("Pause…")
	b.do(chromedp.KeyEvent("\r"))
	b.await(`document.querySelector("dialog[open]")`)
	focused("Pause")
	b.do(chromedp.KeyEvent("\r"))
	b.await(`document.querySelector(".title .pill").textContent === "paused"`)
	b.quiet(0)
}
