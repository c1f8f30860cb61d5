package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// receiptVectors returns the published vectors of receipts as JSON: the presented text,
// the key, whether the receipt is valid, and the size of the log of its proof.
func receiptVectors(t *testing.T) string {
	t.Helper()
	var vectors map[string]json.RawMessage
	text, err := os.ReadFile("../../docs/verify/vectors.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &vectors))
	var shown [][4]any
	for _, kind := range []string{"receipts", "batches"} {
		var all []struct {
			Key, Draw, User string
			Receipt, Proof  json.RawMessage
			Size            int64
			Good            bool
		}
		require.NoError(t, json.Unmarshal(vectors[kind], &all))
		for _, v := range all {
			answer := map[string]any{"draw": v.Draw, "user": v.User, "receipt": v.Receipt}
			if v.Proof != nil {
				answer["proof"] = v.Proof
			}
			presented, err := json.Marshal(answer)
			require.NoError(t, err)
			shown = append(shown, [4]any{string(presented), v.Key, v.Good, v.Size})
		}
	}
	require.Greater(t, len(shown), 130)
	all, err := json.Marshal(shown)
	require.NoError(t, err)
	return string(all)
}

// misjudged counts the errors of a check: the vectors with a wrong result, and the
// accepted changes of one bit of a good receipt.
func (b *browser) misjudged(check, vectors string) (found struct{ Vectors, Bits int }) {
	b.t.Helper()
	b.do(chromedp.Evaluate(fmt.Sprintf(`import("/fair/-/receipt.js").then(async ({ checkReceipt }) => {
		const check = %s, vectors = %s, found = { vectors: 0, bits: 0 };
		const tried = async (text, key) => { try { return await check(text, key); } catch { return null; } };
		for (const [text, key, good, size] of vectors) {
			const result = await tried(text, key);
			if (Boolean(result) !== good || (result && result.size !== size)) found.vectors++;
		}
		const [whole, key] = vectors.find(([, , good]) => good), receipt = JSON.stringify(JSON.parse(whole).receipt), from = whole.indexOf(receipt);
		if (from < 0) throw new Error("the receipt is not in its answer");
		for (let i = from; i < from + receipt.length; i++) {
			const changed = whole.slice(0, i) + String.fromCharCode(whole.charCodeAt(i) ^ (1 << i %% 7)) + whole.slice(i + 1);
			if (await tried(changed, key)) found.bits++;
		}
		return found;
	})`, check, vectors), &found, awaited))
	return found
}

// checks pastes an answer, and waits for the verdict.
func (b *browser) checks(answer, user string, holds bool) {
	b.t.Helper()
	b.fill("Your receipt", answer)
	b.fill("Your user name", user)
	b.press("Check my receipt")
	b.await(fmt.Sprintf(`document.querySelector("[data-ok=%v]")`, holds))
}

// TestUIFairness: after the operator has turned on the page of fairness, it needs no
// token. Anybody can read what can be won and under which rules, and can check a receipt.
// The check agrees with all published vectors; the broken double accepts every text. The
// page makes no request to another host, and axe-core finds no violation.
func TestUIFairness(t *testing.T) {
	t.Parallel()
	s := verifiable(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"advent","name":"Advent <b>2026</b>","currency":"EUR",
		"rules":{"fallback":"none","odds":{"of":1000000000,"prizes":{"gold":999999999,"pin":1}},"limits":[{"of":"draws","max":5,"per":"day"}],"zone":"Europe/Berlin","disclose":true,"blocked":["mallory"]},
		"prizes":[{"id":"gold","name":"Golg","value":"19.90","stock":500},{"id":"pin","name":"Pin","stock":7},{"id":"none","name":"No luck","kind":"blank"}]}`)
	status, early, err := s.ask("POST", "/draw", `{"pool":"advent","user":"eve"}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, early)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/advent", `{"state":"paused"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/commitment", `{"origin":"draws.example.org","receipts":true}`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/advent", `{"state":"open"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-24T17:00:00Z","state":"closed"}`)
	status, won, err := s.ask("POST", "/draw", `{"pool":"advent","user":"ann","count":2}`, "Idempotency-Key", "k1")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, won)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/advent/prizes/gold", `{"display":{"name":"Gold","text":"Ein Dukat","picture":"https://shop.example/gold.jpg","link":"https://shop.example/gold"}}`)
	absent := func(pool string) {
		status, body, err := s.ask("GET", "/fair/"+pool, "")
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, status)
		require.Contains(t, body, `"pool \"`+pool+`\" has no page of fairness"`)
	}
	absent("advent")
	absent("nowhere")

	operator := browse(t, s.url, 1200, 900)
	operator.signIn("admin")
	operator.await(`document.querySelectorAll(".pools li").length === 3`)
	operator.visit("#/pools/advent", "Advent <b>2026</b>")
	operator.press("For players…")
	operator.fill("Text", "24 days, 24 doors.")
	operator.tick("Public page of fairness")
	operator.press("Show this")
	operator.await(`[...document.querySelectorAll("a")].some((a) => a.offsetParent && a.pathname === "/fair/advent")`)
	operator.quiet(0)
	lines := s.log()
	require.Contains(t, fmt.Sprint(lines), "fair:true")
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/advent/log", ""), "24 doors")

	vectors := receiptVectors(t)
	source := axe(t)
	for scheme, width := range map[string]int{"light": 1200, "dark": 390} {
		b := browse(t, s.url, width, 800, inScheme(scheme))
		b.do(chromedp.Navigate(s.url + "/fair/advent"))
		for _, part := range []string{
			"Advent <b>2026</b>", "24 days, 24 doors.", "Gold", "€19.90", "Ein Dukat", "Each user draws at most 5 times a day.", "time zone Europe/Berlin",
			"A draw that gets nothing else gets “No luck”.", "(Europe/Berlin)", "drawsvc commitment v1", "100 %",
			"0.0000001 %", "From then on, the seed decided", "every draw since then",
		} {
			b.says(part)
		}
		require.NotRegexp(t, `mallory|is blocked|500|Golg`, eval[string](b, `[...document.querySelectorAll(".files, [data-rules]")].map((e) => e.innerText).join(" ")`))
		require.Equal(t, "https://shop.example/gold.jpg https://shop.example/gold", eval[string](b, `[...document.querySelectorAll("[data-prize=gold] a")].map((a) => a.href).join(" ")`))
		require.Zero(t, eval[int](b, `document.querySelectorAll("main img, main b b").length`))
		require.NotRegexp(t, `Before the first draw|\de-\d`, eval[string](b, `document.body.innerText`), "the pool was committed after a draw")
		b.accessible(source, "fairness")

		b.checks(won, "ann", true)
		b.accessible(source, "a receipt that holds")
		b.checks(won, "bob", false)
		b.checks(strings.Replace(won, `"unit":`, `"unit":1`, 1), "", false)
		b.checks("my receipt", "", false)
		b.accessible(source, "a receipt that does not hold")
		b.fits("the page of fairness")
		if scheme == "dark" {
			require.Zero(t, b.misjudged(`checkReceipt`, vectors))
			double := b.misjudged(`(text) => ({ size: JSON.parse(text).size ?? 0 })`, vectors)
			require.Greater(t, double.Vectors, 100)
			require.Positive(t, double.Bits)
		}
		b.quiet(0)
	}
	german := browse(t, s.url, 1200, 800, speaks("de-DE,de"))
	german.do(chromedp.Navigate(s.url + "/fair/advent"))
	for _, sentence := range []string{"Höchstens 5 Ziehungen je Teilnehmer pro Tag.", "Eine Ziehung ohne Gewinn ergibt No luck.", "Chance auf Pin: 1 von 1.000.000.000.", "Tage beginnen nach der Zeitzone Europe/Berlin.", "Gesperrte Teilnehmer können nicht ziehen."} {
		german.says(sentence)
	}
	german.isGerman(source, "[data-rules]", "the rules in German")
	german.quiet(0)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/advent", `{"fair":false}`)
	absent("advent")
}
