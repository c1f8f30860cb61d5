package cli

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/stretchr/testify/require"
)

// figure returns an expression for the text of a figure in the part of a pool's view
// about money.
func figure(name string) string {
	return fmt.Sprintf(`document.querySelector("[data-figure=%s]").textContent.replaceAll("\u00a0", " ")`, name)
}

// given waits until the page shows text as the state of the budget.
func (b *browser) given(text string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`%s === %q`, figure("budget"), text))
}

// alarmed waits until the red text about why nothing can be won matches a pattern.
func (b *browser) alarmed(pattern string) {
	b.t.Helper()
	b.await(fmt.Sprintf(`!document.querySelector(".nothing").hidden && /%s/.test(document.querySelector(".nothing").textContent)`, pattern))
}

// TestUIMoney: before the start the page shows the value of the stock next to the budget,
// later the value that was given. It follows live, in the pool's currency and the
// browser's language. It states in red why nothing can be won, until something can. The
// broken double is a page without its stream, which continues to show the earlier state.
func TestUIMoney(t *testing.T) {
	t.Parallel()
	s := administered(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"shop","name":"Advent","rules":{"fallback":"none","budget":{"max":"5000.00"}},
		"prizes":[{"id":"gold","name":"Gold bar","value":"1234.50","stock":100},{"id":"none","name":"No luck","kind":"blank"}]}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/shop", "Advent")
	b.await(figure("worth") + ` === "The stock is worth 123,450.00, the budget is 5,000.00."`)
	b.press("Currency…")
	b.fill("Currency", "eur")
	b.press("Set the currency")
	b.await(figure("worth") + ` === "The stock is worth €123,450.00, the budget is €5,000.00."`)
	b.given("€0.00 of €5,000.00 given")

	german := browse(t, s.url, 1200, 900, speaks("de-DE,de"))
	deaf := browse(t, s.url, 1200, 900, network.SetBlockedURLs([]string{"*/admin/events"}))
	for _, other := range []*browser{german, deaf} {
		other.signIn("auditor")
		other.await(`document.querySelector("main h1")`)
		other.visit("#/pools/shop", "Advent")
		require.False(t, other.offers("Currency…"))
	}
	german.given("0,00 € von 5.000,00 € vergeben")
	soonest := time.Hour
	for i, text := range []string{"€1,234.50", "€2,469.00", "€3,703.50"} {
		began := time.Now()
		s.wins(fmt.Sprint("a", i), 1)
		b.given(text + " of €5,000.00 given")
		soonest = min(soonest, time.Since(began))
	}
	require.Less(t, soonest, 2*time.Second)
	german.given("3.703,50 € von 5.000,00 € vergeben")
	deaf.given("€0.00 of €5,000.00 given")
	require.Regexp(t, `74\s?%`, eval[string](b, `document.querySelector(".money .bar").ariaLabel`))
	b.await(`document.querySelector("[data-prize=gold] [data-label=Given]").textContent === "€3,703.50"`)
	require.True(t, eval[bool](b, `document.querySelector(".nothing").hidden`))
	b.await(`/^At this pace used up on /.test(document.querySelector(".money .quiet").textContent)`)

	s.wins("a3", 1)
	b.alarmed(`^Nothing can be won: budget used up since \d.*\.$`)
	require.Equal(t, "nothing can be won now", eval[string](b, `document.querySelector("[data-figure=end]").textContent`))
	s.wins("a4", 1) // wins nothing
	b.given("€4,938.00 of €5,000.00 given")
	b.visit("#/pools/shop/rules", "Advent")
	b.alarmed("budget used up")
	b.visit("#/", "Campaigns")
	b.await(`document.querySelector("[data-pool=shop]").innerText.includes("nothing can be won") && document.querySelector("[data-pool=shop]").innerText.includes("€4,938.00")`)
	require.Zero(t, eval[int](b, `[...document.querySelectorAll("[data-pool=spring] .pill")].filter((e) => e.offsetParent && e.textContent === "nothing can be won").length`))
	b.visit("#/pools/shop", "Advent")
	s.admin(http.StatusCreated, "POST", "/admin/pools/shop/prizes", `{"id":"pin","name":"Pin","value":"1.00","stock":1}`)
	b.await(`document.querySelector(".nothing").hidden`)

	withheld := map[string][2]string{
		"stock": {`"rules":{"fallback":"none"}`, "no prize is left"},
		"odds":  {`"rules":{"fallback":"none","odds":{"of":1,"prizes":{"gold":0,"pin":1}}}`, "the odds give the prizes that are left no chance"},
		"dates": {`"rules":{"fallback":"none"}`, "the next prizes come on their dates"},
	}
	for id, of := range withheld {
		stock := map[bool]int{true: 1}[id == "odds"]
		s.admin(http.StatusCreated, "POST", "/admin/pools", fmt.Sprintf(`{"id":%q,"name":"Pool of %s",%s,"prizes":[{"id":"gold","name":"Gold","value":"5.00","stock":%d},
			{"id":"pin","name":"Pin","value":"5.00","stock":0},{"id":"none","name":"None","kind":"blank"}]}`, id, id, of[0], stock))
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools/dates/agenda", `{"at":"2999-01-01T00:00:00Z","prize":"gold","delta":5,"reason":"the last day"}`)
	for id, of := range withheld {
		b.visit("#/pools/"+id, "Pool of "+id)
		b.alarmed(of[1])
	}
	b.quiet(0)
	german.quiet(0)
}
