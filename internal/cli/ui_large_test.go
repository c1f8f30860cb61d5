package cli

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/stock/stocktest"
)

// rowsMax is the maximum number of rows that a view of the page shows at first.
const rowsMax = 250

// larged returns a service with many pools. The first one in the stream has 1,000 prizes
// and many awards.
func larged(t *testing.T) *service {
	t.Helper()
	url := stocktest.Migrated(t, "sqlite")
	s := administeredOn(t, url, []string{"admin", "draw"})
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"large","name":"Large","prizes":[{"id":"none","name":"No luck","kind":"blank"}]}`)
	var file strings.Builder
	file.WriteString("prize,name,value,stock\n")
	for n := range 999 {
		fmt.Fprintf(&file, "prize-%d,Prize %d,1.00,100\n", n, n)
	}
	status, body, err := s.ask("POST", "/admin/pools/large/import", file.String(), "Authorization", "Bearer admin", "Content-Type", "text/csv")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	s.admin(http.StatusOK, "PUT", "/admin/pools/large/rules", `{"fallback":"none","budget":{"max":"900000.00"},"claims":{"within":"8760h"},"limits":[{"of":"draws","max":100,"per":"day"}]}`)
	db, err := sql.Open("sqlite", "file:"+strings.TrimPrefix(url, "sqlite:")+"?_pragma=busy_timeout(60000)")
	require.NoError(t, err)
	require.NoError(t, stocktest.Large{Pool: "large", Prizes: 999, Awards: 20_000, Users: 1000, Stepped: 3000, Days: 30}.Fill(t.Context(), db))
	require.NoError(t, db.Close())
	for n := range 120 {
		s.admin(http.StatusCreated, "POST", "/admin/pools", fmt.Sprintf(`{"id":"pool-%03d","name":"Pool %d","prizes":[{"id":"hat","name":"Hat","value":"1.00","stock":5}]}`, n, n))
	}
	return s
}

// requests is an expression for the number of calls that the page has made, without the
// reads of jobs, which it makes once a minute.
const requests = `performance.getEntriesByType("resource").filter((e) => e.name.includes("/admin/") && !e.name.includes("/admin/jobs")).length`

// judgeIdle returns how many calls a page makes while nothing happens.
func (b *browser) judgeIdle(during time.Duration) error {
	b.t.Helper()
	before := eval[int](b, requests)
	time.Sleep(during)
	if n := eval[int](b, requests) - before; n > 0 {
		return fmt.Errorf("an idle page made %d calls", n)
	}
	return nil
}

// TestUILargePool: with many pools, prizes and awards each view shows a part of its list
// at first, and the rest can be found. The page of such a pool makes no call while nobody
// draws, but shows each draw. The broken double reads the pool again and again, like a
// poll.
func TestUILargePool(t *testing.T) {
	t.Parallel()
	s := larged(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 100`)
	for _, section := range []string{"", "/awards", "/log", "/rules", "/calendar", "/agenda", "/files", "/manage"} {
		b.visit("#/pools/large"+section, "Large")
		rows := eval[int](b, `document.querySelectorAll("main tr, main li").length`)
		require.LessOrEqual(t, rows, rowsMax, "section %q", section)
	}
	b.visit("#/pools/large", "Large")
	require.Equal(t, 100, eval[int](b, `document.querySelectorAll("tr[data-prize]").length`))
	b.says("The first 100 of 1,000.")
	find := func(word string) {
		b.t.Helper()
		eval[bool](b, fmt.Sprintf(`(() => { const find = document.querySelector("[aria-label='Find a prize']"); find.value = %q; return find.dispatchEvent(new Event("input")); })()`, word))
	}
	find("prize 998")
	b.await(`[...document.querySelectorAll("tr[data-prize]")].map((row) => row.dataset.prize).join() === "prize-998"`)
	find("no such prize")
	b.await(`!document.querySelector("tr[data-prize]") && document.body.innerText.includes("No prize found.")`)
	find("")

	b.await(`document.querySelector(".chart.stock .line")?.getAttribute("d")`) // the charts are read
	time.Sleep(2 * time.Second)
	require.NoError(t, b.judgeIdle(12*time.Second))
	poll := `fetch("admin/pools/large", { headers: { Authorization: "Bearer admin" } }).then((a) => a.text()).then(() => true)`
	eval[bool](b, `(setTimeout(() => `+poll+`, 500), true)`)
	require.ErrorContains(t, b.judgeIdle(3*time.Second), "made 1 calls")
	before := eval[float64](b, `Number(document.querySelector("[data-figure=issued]").dataset.value)`)
	status, body, err := s.ask("POST", "/draw", `{"pool":"large","user":"someone"}`, "Authorization", "Bearer draw")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, body)
	b.await(fmt.Sprintf(`Number(document.querySelector("[data-figure=issued]").dataset.value) === %v`, before+1))

	const shown = `[...document.querySelectorAll("tr[data-prize] b")].map((name) => name.textContent).join()`
	s.admin(http.StatusOK, "PATCH", "/admin/pools/large/prizes/prize-998", `{"display":{"name":"Silver spoon"}}`)
	find("silver spoon")
	require.Empty(t, eval[string](b, shown), "it moves no version")
	eval[bool](b, `(() => { const now = Date.now; Date.now = () => now() + 61_000; return true; })()`)
	b.await(shown + ` === "Silver spoon"`)
	b.quiet(0)
}
