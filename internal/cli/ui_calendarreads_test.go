package cli

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// seesCalendar returns a browser that shows the calendar of the Advent pool.
func seesCalendar(t *testing.T, s *service) *browser {
	t.Helper()
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	return b
}

// intercepts makes the page's calls go through a function of the real fetch and their
// arguments.
func (b *browser) intercepts(by string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`((real) => { window.fetch = (url, options) => (%s)(real, url, options); return true; })(window.fetch)`, by))
}

// TestUIAgendaSeesMovesThatCancel: two moves of one prize at the same time, whose sum is 0,
// are shown as done after they were carried out.
func TestUIAgendaSeesMovesThatCancel(t *testing.T) {
	t.Parallel()
	s := administered(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 2`)
	b.visit("#/pools/summer/agenda", "Summer party")
	planSoon(t, func(at time.Time) outcome {
		file := fmt.Sprintf("at,prize,delta,reason\n%[1]s,hat,5,eve\n%[1]s,hat,-5,eve\n", rfc(at))
		status, answer, err := s.ask("POST", "/admin/pools/summer/agenda/import", file, "Authorization", "Bearer admin", "Content-Type", "text/csv")
		require.NoError(t, err)
		if status != http.StatusCreated {
			return outcome{code: exitFailure, message: answer}
		}
		return outcome{}
	})
	b.await(`document.querySelectorAll(".line time").length === 2`)
	b.await(`document.querySelectorAll(".line li.done").length === 2`)
	b.quiet(0)
}

// TestUICalendarNotWhole: if an agenda has more hidden lists than the calendar reads, the
// page says so. A list that is on several pages counts once.
func TestUICalendarNotWhole(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda/spread", `{"prize":"gold","units":9,"from":"2999-12-02T00:00:00Z","to":"2999-12-20T00:00:00Z","random":true}`)
	b := seesCalendar(t, s)
	b.agrees(s, "advent")
	const missing = `document.querySelector(".body").innerText.includes("only the first 5,000 are shown")`
	require.False(t, eval[bool](b, missing))
	b.visit("#/pools/advent", "Advent")
	b.intercepts(`async (real, url, options) => {
		if (!/part=hidden/.test(url)) return real(url, options);
		const page = await (await real(String(url).replace(/&after=\d+/, ""), options)).json();
		return new Response(JSON.stringify({ ...page, next: 1 }), { headers: { "Content-Type": "application/json" } });
	}`)
	b.visit("#/pools/advent/calendar", "Advent")
	b.await(missing)
	require.Equal(t, released{Planned: 9}, b.agrees(s, "advent")["hidden"]["gold"])
	b.quiet(0)
}

// TestUICalendarFollowsItsStates: the dates between which units are planned are those of the
// planned states, after a colleague has moved one, and after another has been carried out.
func TestUICalendarFollowsItsStates(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	opening := planSoon(t, func(at time.Time) outcome {
		status, answer, err := s.ask("POST", "/admin/pools/advent/agenda", fmt.Sprintf(`{"at":%q,"state":"open"}`, rfc(at.Add(5*time.Second))), "Authorization", "Bearer admin")
		require.NoError(t, err)
		if status != http.StatusCreated {
			return outcome{code: exitFailure, message: answer}
		}
		return outcome{}
	}).Add(5 * time.Second)
	b := seesCalendar(t, s)
	for _, line := range agendaOf(t, s, "advent") {
		if line.At.Month() == time.December && line.At.Year() == 2999 && line.At.Day() > 20 {
			s.admin(http.StatusNoContent, "DELETE", fmt.Sprintf("/admin/pools/advent/agenda/%d", line.Item), "")
		}
	}
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-20T00:00:00+01:00","state":"closed"}`)
	time.Sleep(time.Until(opening))
	b.await(`document.querySelector(".body").dataset.pool === "open"`)
	s.admin(http.StatusOK, "PATCH", "/admin/pools/advent", `{"state":"paused"}`)
	b.await(`document.querySelector(".body").dataset.pool === "paused"`)
	dates := func() [2]string {
		b.press("Fill by spreading…")
		b.await(`document.querySelector("dialog[open]")`)
		found := eval[[2]string](b, `[`+labelled("First day")+`.value, `+labelled("Last day")+`.value]`)
		b.press("Cancel")
		b.await(`!document.querySelector("dialog")`)
		return found
	}
	want := [2]string{"2999-12-01", "2999-12-19"}
	for begun := time.Now(); dates() != want && time.Since(begun) < 30*time.Second; { // until the page has read it
		time.Sleep(500 * time.Millisecond)
	}
	require.Equal(t, want, dates())
	b.quiet(0)
}
