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

// TestUICalendarAfterAFailedRead: if the hours of a day cannot be read, the calendar stays
// at its days, also when it is read again.
func TestUICalendarAfterAFailedRead(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	b := seesCalendar(t, s)
	b.intercepts(`(real, url, options) => (window.fails && /agenda.sums/.test(url)
		? Promise.resolve(new Response('{"title":"Refused","detail":"planted"}', { status: 503, headers: { "Content-Type": "application/problem+json" } })) : real(url, options))`)
	eval[bool](b, `(window.fails = true)`)
	b.press("Tue, 10 Dec 2999")
	b.await(`document.querySelector("#messages").textContent.includes("planted")`)
	eval[bool](b, `(window.fails = false, true)`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-11T17:00:00Z","prize":"mug","delta":4,"reason":"eve"}`)
	b.await(`document.querySelectorAll(".calendar [data-planned='4']").length > 0`)
	require.Equal(t, "Calendar", eval[string](b, `document.querySelector(".body h2").textContent`))
	require.Equal(t, released{Planned: 4}, b.agrees(s, "advent")["2999-12-11"]["mug"])
	b.quiet(0)
}

// TestUICalendarOpensOneDialog: a second click opens nothing while the first one reads what
// its dialog shows.
func TestUICalendarOpensOneDialog(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-11T17:00:00Z","prize":"mug","delta":4,"reason":"eve"}`)
	b := seesCalendar(t, s)
	b.await(`document.querySelector(".calendar [data-planned='4']")`)
	b.intercepts(`(real, url, options) => (window.held && /part=due&(prize|kind=stock)/.test(url) ? new Promise((resolve) => { window.held.push(() => resolve(real(url, options))); }) : real(url, options))`)
	twice := func(button, other string) {
		t.Helper()
		eval[bool](b, `(window.held = [], true)`)
		eval[bool](b, fmt.Sprintf(`((button) => { button.click(); button.click(); (%s)?.click(); return button.disabled; })(%s)`, other, button))
		b.await(`window.held.length > 0`)
		require.True(t, eval[bool](b, `(`+button+`).disabled`))
		require.Equal(t, 1, eval[int](b, `window.held.length`))
		eval[bool](b, `(window.held.forEach((go) => go()), window.held = null, true)`)
		b.await(`document.querySelector("dialog[open]")`)
		require.Equal(t, 1, eval[int](b, `document.querySelectorAll("dialog").length`))
		require.False(t, eval[bool](b, `(`+button+`).disabled`))
		b.press("Cancel")
		b.await(`!document.querySelector("dialog")`)
	}
	twice(`document.querySelector('.calendar tr[data-row="2999-12-11"] td[data-prize=mug] button')`, `document.querySelector('.calendar tr[data-row="2999-12-12"] td[data-prize=mug] button')`)
	b.press("Wed, 11 Dec 2999")
	b.await(`document.querySelector(".body h2").textContent === "Calendar: Wed, 11 Dec 2999"`)
	twice(`document.querySelector(".body button.danger")`, `null`)
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
