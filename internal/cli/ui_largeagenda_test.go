package cli

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestUILargeAgenda: an agenda of 100,000 moves of stock, and of states that were planned
// after them, is shown around the present. No view reads all of its items, and none
// misses the planned states.
func TestUILargeAgenda(t *testing.T) {
	t.Parallel()
	const items, days, callsMax = 100_000, 24, 30
	s := administered(t)
	var file strings.Builder
	file.WriteString("at,prize,delta,reason\n")
	first := time.Date(2999, 12, 1, 0, 0, 0, 0, time.UTC)
	for n := range items { // the last line is the first one that is due
		fmt.Fprintf(&file, "%s,hat,1,advent\n", first.Add(time.Duration(items-n)*(days*24*time.Hour/items)).Format(time.RFC3339))
	}
	status, answer, err := s.ask("POST", "/admin/pools/summer/agenda/import", file.String(), "Authorization", "Bearer admin", "Content-Type", "text/csv")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, status, answer)
	for at, state := range map[string]string{"2999-11-30T12:00:00Z": "open", "2999-12-26T12:00:00Z": "closed"} {
		s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", fmt.Sprintf(`{"at":%q,"state":%q}`, at, state))
	}
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	eval[bool](b, `(performance.setResourceTimingBufferSize(10000), true)`) // otherwise later calls are not counted
	views := func(section string) error {
		before := eval[int](b, requests)
		b.visit("#/pools/summer"+section, "Summer party")
		b.says("opens 30 Nov 2999")
		b.says("closes 26 Dec 2999")
		if n := eval[int](b, requests) - before; n > callsMax {
			return fmt.Errorf("section %q made %d calls", section, n)
		}
		return nil
	}
	const moments = "At winning moments, which nobody knows before"
	require.NoError(t, views("/rules"))
	require.NotContains(t, eval[string](b, `document.querySelector("main").innerText`), moments)
	s.admin(http.StatusCreated, "POST", "/admin/pools/summer/agenda", `{"at":"2999-12-24T12:00:00Z","moment":"hat"}`)
	for _, section := range []string{"", "/calendar", "/rules", "/agenda"} {
		require.NoError(t, views(section))
		if section == "/rules" {
			b.says(moments)
		}
	}
	const entries = `document.querySelectorAll(".line time").length`
	require.Equal(t, 100, eval[int](b, entries))
	require.Contains(t, eval[string](b, `document.querySelector(".line .now + li").textContent`), "the campaign becomes open")
	b.press("Show later")
	b.await(entries + ` === 200`)
	require.Equal(t, "2999-12-01T00:01:22.000000Z", eval[string](b, `[...document.querySelectorAll(".line time")][4].dateTime`))
	b.quiet(0)
}
