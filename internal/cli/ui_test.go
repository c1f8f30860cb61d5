package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/servertest"
	"drawsvc/internal/stock/stocktest"
)

// administered returns a service on SQLite that has a token of each role, whose text is
// the role, and two pools.
func administered(t *testing.T) *service {
	t.Helper()
	return administeredBy(t, []string{"admin", "stock", "auditor", "draw"})
}

// administeredBy is like administered, with tokens of the given roles and further flags.
func administeredBy(t *testing.T, roles []string, flags ...string) *service {
	t.Helper()
	return administeredOn(t, stocktest.Migrated(t, "sqlite"), roles, flags...)
}

// administeredOn is like administeredBy, on a database that the test may change.
func administeredOn(t *testing.T, databaseURL string, roles []string, flags ...string) *service {
	t.Helper()
	s := servedOn(t, databaseURL, roles, flags...)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring draw","prizes":[
		{"id":"gold","name":"Gold coin","value":"19.90","stock":100},{"id":"silver","name":"Silver spoon","value":"2.50","stock":2000},
		{"id":"pin","name":"Enamel pin","value":"0.50","stock":30000},{"id":"none","name":"No luck today","kind":"blank"}],
		"rules":{"fallback":"none","win":"1/4","disclose":true}}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"summer","name":"Summer party","state":"paused","prizes":[{"id":"hat","name":"Straw hat","value":"12.00","stock":250}]}`)
	return s
}

// servedOn returns a service without pools on a database, with tokens of some roles.
func servedOn(t *testing.T, databaseURL string, roles []string, flags ...string) *service {
	t.Helper()
	servertest.Chromium(t)
	p := on(t, databaseURL)
	var entries []string
	for _, role := range roles {
		sum := sha256.Sum256([]byte(role))
		entries = append(entries, fmt.Sprintf(`{"name":"anna-%s","role":%q,"sha256":%q}`, role, role, hex.EncodeToString(sum[:])))
	}
	s := p.serve(append(flags, "--tokens", p.written("tokens.json", `{"tokens":[`+strings.Join(entries, ",")+`]}`))...)
	s.token = "admin"
	return s
}

// drawn makes callers draw at once, each the given number of times, and waits for them.
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

// shown returns remaining and issued of each prize, as the page shows them.
func (b *browser) shown() (found map[string][2]float64) {
	b.t.Helper()
	text := eval[string](b, `JSON.stringify(Object.fromEntries([...document.querySelectorAll("tr[data-prize]")].map((row) =>
		[row.dataset.prize, ["Remaining", "Issued"].map((name) => Number(row.querySelector("[data-label=" + name + "]").dataset.value))])))`)
	require.NoError(b.t, json.Unmarshal([]byte(text), &found))
	return found
}

// TestUINumbers: while draws continue, the page updates its numbers by itself. At the end
// they equal those of the audit.
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
	want["none"] = [2]float64{shown["none"][0], want["none"][1]} // an endless blank shows no remaining number
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

// TestUIRoles: the page offers each role the actions that the role allows. The service
// refuses all other actions, too.
func TestUIRoles(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	for token, says := range map[string]string{"wrong": "The access key is not valid.", "draw": "the token has the role draw"} {
		b.signIn(token)
		b.await(fmt.Sprintf(`document.querySelector("[role=alert]").textContent.includes(%q)`, says))
		require.Nil(t, eval[any](b, `sessionStorage.getItem("drawsvc-token")`))
	}
	all := []string{"Pause…", "Close…", "Add a prize…", "Rename or change value…", "Stock…", "Import…", "Audit"}
	for token, offered := range map[string][]string{"auditor": all[6:], "stock": all[4:], "admin": all} {
		b.signIn(token)
		b.await(`document.querySelectorAll(".pools li").length === 2`)
		require.Equal(t, token == "admin", b.offers("New campaign…"), token)
		b.visit("#/pools/spring", "Spring draw")
		require.Equal(t, token == "admin", b.offers("For players…") && b.offers("Shown as…"), token)
		for _, text := range all {
			require.Equal(t, strings.Contains(strings.Join(offered, ","), text), b.offers(text), "%s: %s", token, text)
		}
		b.visit("#/pools/spring/rules", "Spring draw")
		require.Equal(t, token == "admin", b.offers("Change the rules…"), token)
		b.visit("#/jobs", "Maintenance")
		require.Equal(t, token == "admin", b.offers("Run now…"), token)
		require.Equal(t, token == "admin", b.offers("Schedule…"), token)
		b.visit("#/pools/summer/proof", "Summer party") // paused
		require.Equal(t, token == "admin", b.offers("Make it provably fair…"), token)
		act := `fetch("admin/pools/spring", { method: "PATCH", headers: { Authorization: "Bearer %s", "Content-Type": "application/json" }, body: '{"name":"Spring draw"}' }).then((a) => a.status)`
		var status int
		b.do(chromedp.Evaluate(fmt.Sprintf(act, token), &status, chromedp.EvalAsValue, awaited))
		require.Equal(t, map[bool]int{true: 200, false: 403}[token == "admin"], status, token)
		b.visit("#/", "Campaigns")
		b.press("Sign out")
	}
	b.await(`document.querySelector(".sign-in")`)
	b.quiet(4) // the wrong token, the token of role draw, and two acts without the role
}
