package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// planted is what callers may send as a name, a user or a reason, to have it run.
const planted = `<script>window.planted=1</script><img src=x onerror="window.planted=1">`

// administered is a service on SQLite that has a token of each role, whose text
// is the role, and two pools.
func administered(t *testing.T) *service {
	t.Helper()
	servertest.NeedPrograms(t, "chromium", "chromium")
	p := on(t, stocktest.URL(t, "sqlite"))
	var entries []string
	for _, role := range []string{"admin", "stock", "auditor", "draw"} {
		sum := sha256.Sum256([]byte(role))
		entries = append(entries, fmt.Sprintf(`{"name":"anna-%s","role":%q,"sha256":%q}`, role, role, hex.EncodeToString(sum[:])))
	}
	s := p.serve("--tokens", p.written("tokens.json", `{"tokens":[`+strings.Join(entries, ",")+`]}`))
	s.token = "admin"
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring draw","prizes":[
		{"id":"gold","name":"Gold coin","value":"19.90","stock":100},{"id":"silver","name":"Silver spoon","value":"2.50","stock":2000},
		{"id":"pin","name":"Enamel pin","value":"0.50","stock":30000},{"id":"none","name":"No luck today","kind":"blank"}],
		"rules":{"fallback":"none","win":"1/4","disclose":true}}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"summer","name":"Summer party","state":"paused","prizes":[{"id":"hat","name":"Straw hat","value":"12.00","stock":250}]}`)
	return s
}

// drawn has callers draw at once, each so often, and waits for them.
func (s *service) drawn(callers, each int) {
	s.tb.Helper()
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range each {
				status, body, err := s.ask("POST", "/draw", fmt.Sprintf(`{"pool":"spring","user":"user-%d"}`, (caller*each+i)%97), "Authorization", "Bearer draw")
				if err != nil || status != http.StatusOK {
					s.tb.Errorf("draw: %d %s %v", status, body, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// shown are remaining and issued of each prize, as the page shows them.
func (b *browser) shown() (found map[string][2]float64) {
	b.t.Helper()
	text := eval[string](b, `JSON.stringify(Object.fromEntries([...document.querySelectorAll("tr[data-prize]")].map((row) =>
		[row.dataset.prize, ["Remaining", "Issued"].map((name) => Number(row.querySelector("[data-label=" + name + "]").dataset.value))])))`)
	require.NoError(b.t, json.Unmarshal([]byte(text), &found))
	return found
}

// TestUINumbers: while draws go on the page follows without being asked, and at
// the end its numbers are those of the audit.
func TestUINumbers(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("auditor")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	drawing := make(chan struct{})
	go func() { defer close(drawing); s.drawn(8, 250) }()
	b.await(`Number(document.querySelector("[data-figure=issued]").dataset.value) > 0`)
	b.await(`parseFloat(document.querySelector("[data-figure=rate]").textContent) > 0`)
	b.await(`/ends in/.test(document.querySelector("[data-figure=end]").textContent)`)
	<-drawing

	var audit struct {
		OK     bool
		Prizes []struct {
			Prize             string
			Issued, Remaining float64
		}
	}
	require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", "/admin/pools/spring/audit", "")), &audit))
	require.True(t, audit.OK)
	want, awards := map[string][2]float64{}, 0.0
	for _, p := range audit.Prizes {
		want[p.Prize] = [2]float64{p.Remaining, p.Issued}
		awards += p.Issued
	}
	require.EqualValues(t, 8*250, awards)
	b.await(fmt.Sprintf(`[...document.querySelectorAll("[data-label=Issued]")].reduce((sum, cell) => sum + Number(cell.dataset.value), 0) === %v`, awards))
	shown := b.shown()
	want["none"] = [2]float64{shown["none"][0], want["none"][1]} // an endless one shows no number of what remains
	require.Equal(t, want, shown)
	finite := want["gold"][0] + want["silver"][0] + want["pin"][0]
	require.InDelta(t, finite, eval[float64](b, `Number(document.querySelector("[data-figure=remaining]").dataset.value)`), 0)
	require.NotEmpty(t, eval[string](b, `document.querySelector(".chart.stock .line").getAttribute("d")`))

	deaf := browse(t, s.url, 1200, 900, network.SetBlockedURLs([]string{"*/admin/events"}))
	deaf.signIn("auditor")
	deaf.await(`document.querySelector("main h1")`)
	deaf.visit("#/pools/spring", "Spring draw")
	require.Equal(t, shown, deaf.shown())

	b.press("Audit")
	b.await(`document.querySelector("dialog [data-ok=true]")`)
	require.Equal(t, "2006", eval[string](b, `document.querySelector("dialog [data-ok]").dataset.version`))
	b.press("Close")
	s.drawn(1, 20)
	b.await(fmt.Sprintf(`[...document.querySelectorAll("[data-label=Issued]")].reduce((sum, cell) => sum + Number(cell.dataset.value), 0) === %v`, awards+20))
	require.Equal(t, shown, deaf.shown(), "a page without its stream shows what was")
	b.quiet(0)
}

// TestUIRoles: each role is offered what it may do. What is not offered is
// refused by the service too.
func TestUIRoles(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	for token, says := range map[string]string{"wrong": "The token is not valid.", "draw": "the token has the role draw"} {
		b.signIn(token)
		b.await(fmt.Sprintf(`document.querySelector("[role=alert]").textContent.includes(%q)`, says))
		require.Nil(t, eval[any](b, `sessionStorage.getItem("drawsvc-token")`))
	}
	all := []string{"Pause…", "Close…", "Add a prize…", "Correct…", "Stock…", "Import…", "Audit"}
	for token, offered := range map[string][]string{"auditor": all[6:], "stock": all[4:], "admin": all} {
		b.signIn(token)
		b.await(`document.querySelectorAll(".pools li").length === 2`)
		require.Equal(t, token == "admin", b.offers("New pool…"), token)
		b.visit("#/pools/spring", "Spring draw")
		for _, text := range all {
			require.Equal(t, strings.Contains(strings.Join(offered, ","), text), b.offers(text), "%s: %s", token, text)
		}
		b.visit("#/pools/spring/rules", "Spring draw")
		require.Equal(t, token == "admin", b.offers("Change the rules…"), token)
		b.visit("#/jobs", "Jobs")
		require.Equal(t, token == "admin", b.offers("Run now…"), token)
		act := `fetch("admin/pools/spring", { method: "PATCH", headers: { Authorization: "Bearer %s", "Content-Type": "application/json" }, body: '{"name":"Spring draw"}' }).then((a) => a.status)`
		var status int
		b.do(chromedp.Evaluate(fmt.Sprintf(act, token), &status, chromedp.EvalAsValue, awaited))
		require.Equal(t, map[bool]int{true: 200, false: 403}[token == "admin"], status, token)
		b.visit("#/", "Pools")
		b.press("Sign out")
	}
	b.await(`document.querySelector(".sign-in")`)
	b.quiet(4) // the wrong token, that of draws, and two who would act
}

// TestUIActs: every act asks before, says what came of it, and is in the log with
// the name of its token.
func TestUIActs(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/spring", "Spring draw")
	said := func(part string) {
		t.Helper()
		b.await(fmt.Sprintf(`document.getElementById("messages").textContent.includes(%q)`, part))
	}
	b.press("Close…")
	b.await(`document.querySelector("dialog[open]").textContent.includes("Closing is final")`)
	b.press("Cancel")
	b.press("Pause…")
	b.press("Pause")
	said("The pool is paused.")
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), `"state":"paused"`)
	b.press("Open…")
	b.press("Open")
	said("The pool is open.")

	b.press("Stock…") // of the first prize
	b.fill("Units", "25")
	b.fill("Reason", "restock")
	b.press("Move the stock")
	said("Gold coin: +25, 125 remain.")
	b.press("Stock…")
	b.fill("What", "-1")
	b.fill("Units", "1000")
	b.fill("Reason", "too many")
	b.press("Move the stock")
	b.await(`document.querySelector("dialog [role=alert]").textContent.includes("below")`)
	b.fill("Units", "5")
	b.press("Move the stock")
	said("Gold coin: -5, 120 remain.")
	b.await(`document.querySelector("[data-prize=gold] [data-label=Remaining]").dataset.value === "120"`)

	b.press("Import…")
	b.fill("Or its text", "prize,name,value,stock\ngold,,,many\nNEW,New,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelectorAll("dialog .lines li").length >= 2`)
	require.Regexp(t, `line 2: stock must be .*line 3: prize id`, eval[string](b, `document.querySelector("dialog .lines").textContent`))
	b.fill("Or its text", "prize,name,value,stock\ngold,,,10\ncup,Tin cup,1.00,5\n")
	b.press("Preview")
	b.await(`document.querySelector("dialog .preview").textContent.includes("15 units; 1 new prizes, 1 restocked")`)
	require.NotContains(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", ""), "Tin cup", "a preview writes nothing")
	b.press("Import")
	said("Imported: 15 units")
	b.await(`document.querySelector("[data-prize=cup] [data-label=Remaining]").dataset.value === "5"`)

	b.visit("#/pools/spring/rules", "Spring draw")
	b.await(`document.body.textContent.includes("a win has 25 %")`)
	b.press("Change the rules…")
	b.fill("The whole document", `{"fallback":"none","win":"1/2"}`)
	b.press("Put in force")
	said("The rules are in force.")
	b.await(`document.body.textContent.includes("a win has 50 %")`)
	b.press("Simulate")
	b.await(`document.body.textContent.includes("20,000 draws")`)

	b.visit("#/pools/spring/log", "Spring draw")
	b.await(`document.querySelectorAll("table tbody tr").length >= 10`)
	log := eval[string](b, `document.querySelector("table").innerText`)
	for _, part := range []string{"anna-admin", "restock", "+25", "-5", "put in force"} {
		require.Contains(t, log, part)
	}
	b.visit("#/jobs", "Jobs")
	b.await(`document.querySelector("[data-job=audit]")`)
	b.press("Run now…")
	b.press("Run")
	said("was requested.")
	b.quiet(2) // the withdrawal and the file
}

// TestUIAgenda: what is planned is on a time line, where the service has agendas;
// elsewhere the page does not speak of them.
func TestUIAgenda(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer", "Summer party")
	link := `[...document.querySelectorAll(".sections a")].some((a) => a.textContent === "Agenda")`
	_, description, err := s.ask("GET", "/openapi.json", "")
	require.NoError(t, err)
	if !strings.Contains(description, "/admin/pools/{pool}/agenda") {
		require.False(t, eval[bool](b, link))
		b.quiet(0)
		return
	}
	require.True(t, eval[bool](b, link))
	b.visit("#/pools/summer/agenda", "Summer party")
	b.press("Add to it…")
	b.fill("When", "2999-12-31T23:59:00")
	b.press("Add")
	b.await(`document.querySelector(".line").textContent.includes("the pool becomes open")`)
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/summer/agenda", ""), `"state":"open"`)
	b.press("Remove…")
	b.press("Remove")
	b.await(`!document.querySelector(".line").textContent.includes("the pool becomes open")`)
	b.quiet(0)
}

// TestUIPlants: what callers send is shown as it is, and never runs.
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
	for _, section := range []string{"", "/awards", "/rules", "/log"} {
		b.visit("#/pools/evil"+section, planted)
		if section == "/awards" {
			b.await(`[...document.querySelectorAll("td")].some((cell) => cell.textContent.includes("<script>"))`)
			eval[bool](b, fmt.Sprintf(`(() => { const q = document.querySelector(".search input"); q.value = %q; q.form.requestSubmit(); return true; })()`, planted))
			b.await(`/^1 found/.test(document.querySelector(".body [role=status]")?.textContent)`)
		}
	}
	require.Nil(t, eval[any](b, `window.planted ?? null`))
	require.Zero(t, eval[int](b, `document.querySelectorAll("#app script, #app img").length`))
	b.quiet(0)
}

// TestUIPlantsCatches: what is planted does run where a page makes markup of it,
// and the policy of the admin page has the browser refuse that.
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

// TestUIOnAPhone: no view is wider than a small screen, in both colour schemes,
// and text stands out from what is behind it.
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
		b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		for _, view := range [][2]string{{"#/", "Pools"}, {"#/pools/spring", "Spring draw"}, {"#/pools/spring/awards", "Spring draw"}, {"#/pools/spring/rules", "Spring draw"}, {"#/pools/spring/log", "Spring draw"}, {"#/jobs", "Jobs"}} {
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
}

// contrast lists the texts whose contrast is below 4.5, which WCAG AA asks for.
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

// TestUIKeyboard: a pool is opened and paused by keys alone.
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
