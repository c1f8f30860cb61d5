package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// planted is markup that callers may send as a name, a user or a reason, so that a page
// might execute it.
const planted = `<script>window.planted=1</script><img src=x onerror="window.planted=1">`

// TestUIPlants: texts of callers are shown unchanged, and never executed.
func TestUIPlants(t *testing.T) {
	t.Parallel()
	s := administered(t)
	quoted, err := json.Marshal(planted)
	require.NoError(t, err)
	s.admin(http.StatusCreated, "POST", "/admin/pools", fmt.Sprintf(`{"id":"evil","name":%s,"prizes":[{"id":"p","name":%s,"stock":9}]}`, quoted, quoted))
	s.admin(http.StatusOK, "POST", "/admin/pools/evil/prizes/p/stock", fmt.Sprintf(`{"delta":1,"reason":%s}`, quoted))
	status, body, err := s.ask("POST", "/draw", fmt.Sprintf(`{"pool":"evil","user":%s}`, quoted), "Authorization", "Bearer draw", "Idempotency-Key", `"`+strings.ReplaceAll(planted, `"`, "'")+`"`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	for _, section := range []string{"", "/awards", "/rules", "/agenda", "/proof", "/log"} {
		b.visit("#/pools/evil"+section, planted)
		if section == "/awards" {
			b.await(`[...document.querySelectorAll("td")].some((cell) => cell.textContent.includes("<script>"))`)
			b.submits("", planted)
			b.await(`/^1 found/.test(document.querySelector(".body [role=status]")?.textContent)`)
		}
	}
	require.Nil(t, eval[any](b, `window.planted ?? null`))
	require.Zero(t, eval[int](b, `document.querySelectorAll("#app script, #app img").length`))
	b.quiet(0)
}

// TestUIAddresses: an address that names nothing, or cannot be decoded, shows an error
// and the way back.
func TestUIAddresses(t *testing.T) {
	t.Parallel()
	b := browse(t, administered(t).url, 800, 600)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	for hash, title := range map[string]string{"#/pools/none": "This campaign does not exist.", "#/pools/%": "Something that you entered is not possible.", "#/pools/%E0%A4%A": "Something that you entered is not possible.",
		"#/pools/spring/__proto__": "Not found", "#/pools/spring/constructor": "Not found", "#/pools/spring/frob": "Not found"} {
		eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, hash))
		b.await(fmt.Sprintf(`document.querySelector("h1")?.textContent === %q`, title))
		b.press("All campaigns")
		b.await(`document.querySelectorAll(".pools li").length === 2`)
	}
	b.quiet(3)
	b.visit("#/pools/spring", "Spring draw")
	eval[bool](b, `(location.hash = "#/pools/spring/__proto__", true)`)
	b.do(chromedp.Reload())
	b.await(`document.querySelector("h1")?.textContent === "Not found"`)
	require.Equal(t, "auditor", eval[string](b, `sessionStorage.getItem("drawsvc-token")`), "a link signs nobody out")
}

// TestUIKeepsTheTokenToItself: an error of drawing a view does not sign the user out, and
// the browser is not asked to store the token. The error is a bug that the test puts into
// the code that shows a view.
func TestUIKeepsTheTokenToItself(t *testing.T) {
	t.Parallel()
	b := browse(t, administered(t).url, 800, 600)
	b.await(`document.querySelector(".sign-in input")`)
	require.Equal(t, "text off disc", eval[string](b, `(() => { const input = document.querySelector(".sign-in input");
		return [input.type, input.autocomplete, getComputedStyle(input).webkitTextSecurity].join(" "); })()`))
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := cdppage.AddScriptToEvaluateOnNewDocument(`Element.prototype.scrollIntoView = () => { throw new TypeError("planted"); };`).Do(ctx)
		return err
	}), chromedp.Reload())
	b.await(`document.querySelector("h1")?.textContent === "Error"`)
	require.Equal(t, "auditor", eval[string](b, `sessionStorage.getItem("drawsvc-token")`))
	require.True(t, b.offers("Sign out"))
}

// TestUIPlantsCatches: a planted text is executed if a page inserts it as markup, and
// the policy of the admin page makes the browser refuse that.
func TestUIPlantsCatches(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 800, 600)
	b.await(`document.querySelector(".sign-in")`)
	markup := fmt.Sprintf(`(() => { try { document.body.insertAdjacentHTML("beforeend", %q); return "made"; } catch (e) { return e.name; } })()`, planted)
	require.Equal(t, "TypeError", eval[string](b, markup))
	require.Nil(t, eval[any](b, `window.planted ?? null`))
	b.do(chromedp.Navigate("about:blank"))
	require.Equal(t, "made", eval[string](b, markup))
	b.await(`window.planted === 1`)
}
