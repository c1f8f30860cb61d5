package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
)

// released are the units that a place of the calendar shows.
type released struct{ Planned, Done int64 }

// calendar is the displayed calendar: the units of each row and prize, by the name of
// the row and the id of the prize. The prize "" is the sum of a row, and the row "sum"
// is the sum of all rows.
type calendar map[string]map[string]released

// withAdvent returns a service with a paused pool for an Advent calendar in the time zone
// of Berlin, which its agenda opens and closes. Its year is far in the future, so that no
// item becomes due.
func withAdvent(t *testing.T, flags ...string) *service {
	t.Helper()
	s := administeredBy(t, []string{"admin", "auditor", "draw"}, flags...)
	s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"advent","name":"Advent","state":"paused","currency":"EUR","rules":{"fallback":"none","win":"1/4","zone":"Europe/Berlin"},"prizes":[
		{"id":"mug","name":"Mug","value":"9.90"},{"id":"sled","name":"Sled","value":"49.90"},{"id":"gold","name":"Gold coin","value":"100.00"},{"id":"none","name":"No luck today","kind":"blank"}]}`)
	for at, state := range map[string]string{"2999-12-01T00:00:00+01:00": "open", "2999-12-25T00:00:00+01:00": "closed"} {
		s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", fmt.Sprintf(`{"at":%q,"state":%q}`, at, state))
	}
	return s
}

// agendaLine is a line of an answer: an item, or the visible form of hidden items.
type agendaLine struct {
	Item          int64
	At            time.Time
	Prize, Moment string
	Delta         int64
	Done          *int64
	Hidden        *struct {
		Prize    string
		Count    int64
		From, To *time.Time
	}
}

// agendaOf returns the agenda of a pool.
func agendaOf(t *testing.T, s *service, pool string) (lines []agendaLine) {
	t.Helper()
	for after := int64(0); ; {
		var page struct {
			Items []agendaLine
			Next  *int64
		}
		require.NoError(t, json.Unmarshal([]byte(s.admin(http.StatusOK, "GET", fmt.Sprintf("/admin/pools/%s/agenda?limit=1000&after=%d", pool, after), "")), &page))
		if lines = append(lines, page.Items...); page.Next == nil {
			return lines
		}
		after = *page.Next
	}
}

// calendarOf returns the calendar of days that the page must show for an agenda,
// without empty places.
func calendarOf(t *testing.T, zone string, lines []agendaLine) calendar {
	t.Helper()
	place, err := rules.ParseZone(zone)
	require.NoError(t, err)
	want := calendar{}
	add := func(row, prize string, n released) {
		for _, r := range []string{row, "sum"} {
			if want[r] == nil {
				want[r] = map[string]released{}
			}
			for _, p := range []string{prize, ""} {
				was := want[r][p]
				want[r][p] = released{was.Planned + n.Planned, was.Done + n.Done}
			}
		}
	}
	for _, line := range lines {
		switch {
		case line.Hidden != nil:
			row := "hidden"
			if line.Hidden.From != nil {
				if day := line.Hidden.From.In(place).Format(time.DateOnly); day == line.Hidden.To.Add(-time.Microsecond).In(place).Format(time.DateOnly) {
					row = day
				}
			}
			add(row, line.Hidden.Prize, released{Planned: line.Hidden.Count})
		case line.Prize+line.Moment != "":
			n := max(line.Delta, 1)
			if line.Done != nil {
				add(line.At.In(place).Format(time.DateOnly), line.Prize+line.Moment, released{Done: n})
			} else {
				add(line.At.In(place).Format(time.DateOnly), line.Prize+line.Moment, released{Planned: n})
			}
		}
	}
	return want
}

// grid is an expression for the displayed calendar, without empty places.
const grid = `Object.fromEntries([...document.querySelectorAll(".calendar tbody tr")].map((row) => [row.dataset.row,
	Object.fromEntries([...row.querySelectorAll("[data-planned]")].map((cell) => [cell.dataset.prize ?? "", { Planned: Number(cell.dataset.planned), Done: Number(cell.dataset.done) }])
		.filter(([, { Planned, Done }]) => Planned || Done))]).filter(([, cells]) => Object.keys(cells).length > 0))`

// agrees waits until the calendar of days equals the agenda, and checks its sums.
func (b *browser) agrees(s *service, pool string) calendar {
	b.t.Helper()
	want := calendarOf(b.t, "Europe/Berlin", agendaOf(b.t, s, pool))
	text, err := json.Marshal(want)
	require.NoError(b.t, err)
	const sorted = `((all) => JSON.stringify(all, (_, value) => (value && typeof value === "object" ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value)))`
	b.await(fmt.Sprintf(`%s(%s) === %s(%s)`, sorted, grid, sorted, text))
	return want
}

// opens opens a place of the calendar.
func (b *browser) opens(row, prize string) {
	b.t.Helper()
	find := fmt.Sprintf(`document.querySelector('.calendar tr[data-row="%s"] td[data-prize="%s"] button')`, row, prize)
	b.await(find)
	eval[bool](b, find+`.click() ?? true`)
	b.await(`document.querySelector("dialog[open]")`)
}

// spreads fills the calendar by a spread, after the page has shown what will be planned.
func (b *browser) spreads(says string, fields ...string) {
	b.t.Helper()
	b.press("Fill by spreading…")
	b.await(`document.querySelector("dialog[open]")`)
	for i := 0; i < len(fields); i += 2 {
		b.fill(fields[i], fields[i+1])
	}
	b.press("Fill") // the plan is shown first
	b.await(`document.querySelector("dialog .preview").textContent.includes("Nothing is planned yet.")`)
	require.Contains(b.t, eval[string](b, `document.querySelector("dialog .preview").innerText`), says)
	b.press("Fill")
	b.await(`document.querySelector("dialog h2").textContent === "Planned"`)
	b.press("Close")
	b.await(`!document.querySelector("dialog")`)
}

// TestUICalendar: units of three prizes are spread over the 24 days of an Advent
// calendar, evenly and at random. Then the calendar is edited by hand, and a day is
// removed. Each time the grid has the sums of the agenda.
func TestUICalendar(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	require.Contains(t, eval[string](b, `document.querySelector("main").innerText`), "Europe/Berlin, the zone of the rules")
	require.Equal(t, 25+1, eval[int](b, `document.querySelectorAll(".calendar tbody tr").length`), "the days from the opening to the close, and the sums")
	b.agrees(s, "advent")

	b.spreads("On 24 days, from Sun, 1 Dec 2999, 08:00 to", "Mug", "5", "Sled", "1", "These are", "day", "From", "8")
	want := b.agrees(s, "advent")
	require.Equal(t, released{Planned: 24 * 6}, want["sum"][""])
	require.Equal(t, released{Planned: 5}, want["2999-12-24"]["mug"])
	for _, line := range agendaOf(t, s, "advent") {
		if line.Prize != "" {
			require.Equal(t, 7, line.At.UTC().Hour(), "08:00 in Berlin")
		}
	}
	b.spreads("These are 24 spreads, one after another", "Gold coin", "48", "They are released", "daily")
	want = b.agrees(s, "advent")
	require.Equal(t, released{Planned: 2}, want["2999-12-24"]["gold"], "how many is known, and not when")
	require.NotContains(t, want, "hidden")
	require.Equal(t, "€7,185.60", eval[string](b, `document.querySelector(".calendar .sums [data-label=Value]").textContent`), "120 × 9.90, 24 × 49.90 and 48 × 100.00")

	b.opens("2999-12-06", "mug")
	b.fill("Units", "3")
	b.fill("Time", "17:00")
	eval[bool](b, `(document.querySelector("dialog [aria-label='Units at 08:00']").value = "50", true)`)
	b.press("Save")
	b.said("1 changed, 1 added")
	require.Equal(t, released{Planned: 53}, b.agrees(s, "advent")["2999-12-06"]["mug"])
	b.opens("2999-12-07", "sled")
	eval[bool](b, `(document.querySelector("dialog [aria-label='Units at 08:00']").value = "0", true)`)
	b.press("Save")
	b.said("1 removed")
	require.NotContains(t, b.agrees(s, "advent")["2999-12-07"], "sled")
	b.press("Add by hand…")
	b.fill("Prize", "sled")
	b.fill("Day", "2999-12-08")
	b.fill("Units", "7")
	b.press("Add")
	b.await(`!document.querySelector("dialog")`)
	require.Equal(t, released{Planned: 8}, b.agrees(s, "advent")["2999-12-08"]["sled"])

	b.press("Tue, 10 Dec 2999")
	b.await(`document.querySelector("h2").textContent === "Calendar: Tue, 10 Dec 2999"`)
	require.Equal(t, calendar{"08:00": {"mug": {Planned: 5}, "sled": {Planned: 1}, "": {Planned: 6}}, "hidden": {"gold": {Planned: 2}, "": {Planned: 2}},
		"sum": {"mug": {Planned: 5}, "sled": {Planned: 1}, "gold": {Planned: 2}, "": {Planned: 8}}}, eval[calendar](b, grid))
	b.press("Remove this day's plan…")
	b.says("8 units that are not done: 2 releases and 1 hidden list.")
	b.press("Remove")
	b.said("8 units were removed from the calendar.")
	b.press("All days")
	want = b.agrees(s, "advent")
	require.NotContains(t, want, "2999-12-10")
	require.Equal(t, map[string]released{"mug": {Planned: 120 + 48 - 5}, "sled": {Planned: 24 - 1 + 7 - 1}, "gold": {Planned: 46}, "": {Planned: 163 + 29 + 46}}, want["sum"])
	b.quiet(0)
}

// TestUICalendarFiles: a file is planned as a whole or not at all, and a moment that is
// planned by hand is hidden from the calendar's days at once.
func TestUICalendarFiles(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	b.press("Fill by a file…")
	b.choose("at;prize;delta;reason;moment\n2999-12-03T17:00:00+01:00;mug;4;eve;\n2999-12-03T18:00:00+01:00;tin;1;eve;\n")
	b.await(`document.querySelector("dialog .preview").textContent.includes('line 3: the pool has no prize "tin"')`)
	require.Empty(t, b.agrees(s, "advent"))
	b.choose("at;prize;delta;reason;moment\n2999-12-05T00:00:00+01:00;mug;5;eve;\n2999-12-03T17:00:00+01:00;mug;4;eve;\n;;;;\n2999-12-03T18:00:00+01:00;gold;;;true\n")
	b.says("9 units and 1 winning moment on 2 days, from Tue, 3 Dec 2999 to Thu, 5 Dec 2999. Nothing is planned yet.")
	require.Equal(t, []string{"Tue, 3 Dec 2999|4|1|4 Mug, 1 Gold coin", "Thu, 5 Dec 2999|5|0|5 Mug"},
		eval[[]string](b, `[...document.querySelectorAll("dialog .preview tbody tr")].map((row) => [...row.cells].map((cell) => cell.textContent).join("|"))`))
	require.Empty(t, b.agrees(s, "advent"))
	b.press("Fill")
	b.await(`document.querySelector("dialog h2").textContent === "Planned"`)
	b.press("Close")
	want := b.agrees(s, "advent")
	require.Equal(t, released{Planned: 4}, want["2999-12-03"]["mug"])
	require.Equal(t, released{Planned: 1}, want["hidden"]["gold"])

	b.opens("2999-12-04", "sled")
	b.fill("Units", "2")
	b.tick("Winning moment")
	b.press("Save")
	b.await(`document.querySelector("dialog h2").textContent === "Planned"`)
	b.says("2 releases are planned, in one list.")
	b.press("Close")
	want = b.agrees(s, "advent")
	require.Equal(t, released{Planned: 2}, want["hidden"]["sled"])
	require.NotContains(t, want, "2999-12-04")
	b.opens("hidden", "sled")
	b.tick("Remove all that is not done of this list")
	b.press("Save")
	b.said("1 removed")
	require.Equal(t, map[string]released{"gold": {Planned: 1}, "": {Planned: 1}}, b.agrees(s, "advent")["hidden"])
	b.quiet(1) // the file with an unknown prize
}

// TestUICalendarUndoes: if a spread is refused, the spreads before it are removed again.
func TestUICalendarUndoes(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	eval[bool](b, `(() => {
		const real = window.fetch, refusal = () => new Response('{"title":"Refused","detail":"planted"}', { status: 409, headers: { "Content-Type": "application/problem+json" } });
		let n = 0;
		window.fetch = (url, options) => (/agenda.spread/.test(url) && ++n === 3 ? Promise.resolve(refusal()) : real(url, options));
		return true;
	})()`)
	b.press("Fill by spreading…")
	b.fill("Gold coin", "24")
	b.fill("They are released", "daily")
	b.press("Preview")
	b.says("Nothing is planned yet.")
	b.press("Fill")
	b.says("planted")
	b.says("All that was planned before it was removed.")
	require.Empty(t, calendarOf(t, "Europe/Berlin", agendaOf(t, s, "advent")))
	require.Contains(t, s.admin(http.StatusOK, "GET", "/admin/pools/advent/log?acts=true", ""), `"removed":true`, "some were planned before")
	b.press("Fill") // the next try begins with a preview again
	b.says("Nothing is planned yet.")
	b.press("Fill")
	b.await(`document.querySelector("dialog h2").textContent === "Planned"`)
	b.press("Close")
	require.Equal(t, released{Planned: 24}, b.agrees(s, "advent")["sum"]["gold"])
	b.quiet(0)
}

// TestUICalendarHides: for units at random times, the calendar shows only their number
// until they are done. For planned moves, an auditor also sees only their number.
func TestUICalendarHides(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-05T17:00:00Z","prize":"mug","delta":4,"reason":"eve"}`)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	b.spreads("hidden from everybody", "Gold coin", "9", "They are released", "anytime")
	want := b.agrees(s, "advent")
	require.Equal(t, calendar{"2999-12-05": {"mug": {Planned: 4}, "": {Planned: 4}}, "hidden": {"gold": {Planned: 9}, "": {Planned: 9}},
		"sum": {"mug": {Planned: 4}, "gold": {Planned: 9}, "": {Planned: 13}}}, want)

	at := planSoon(t, func(at time.Time) outcome {
		body := fmt.Sprintf(`{"prize":"sled","units":2,"from":%q,"to":%q,"random":true}`, rfc(at), rfc(at.Add(time.Second)))
		status, answer, err := s.ask("POST", "/admin/pools/advent/agenda/spread", body, "Authorization", "Bearer admin")
		require.NoError(t, err)
		if status != http.StatusCreated {
			return outcome{code: exitFailure, message: answer}
		}
		return outcome{}
	})
	day := at.Add(500 * time.Millisecond)
	berlin, err := rules.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	b.await(`document.querySelector(".calendar .sums td[data-prize=sled]").dataset.done === "2"`)
	if day.Add(time.Second).In(berlin).Day() == day.Add(-time.Second).In(berlin).Day() {
		row := fmt.Sprintf(`document.querySelector('.calendar tr[data-row="%s"] td[data-prize=sled]')`, day.In(berlin).Format(time.DateOnly))
		b.visit("#/pools/advent", "Advent")
		b.visit("#/pools/advent/calendar", "Advent") // it begins today
		b.await(row + `?.dataset.done === "2"`)
	}

	auditor := browse(t, s.url, 1200, 900)
	auditor.signIn("auditor")
	auditor.await(`document.querySelectorAll(".pools li").length === 3`)
	auditor.visit("#/pools/advent/calendar", "Advent")
	auditor.says("1 planned move of stock is not shown: only admins see it.")
	require.Equal(t, map[string]released{"gold": {Planned: 9}, "sled": {Done: 2}, "": {Planned: 9, Done: 2}}, eval[calendar](auditor, grid)["sum"])
	require.False(t, auditor.offers("Add by hand…") || auditor.offers("Fill by spreading…"))
	auditor.opens("hidden", "gold")
	auditor.says("9 units, from Sun, 1 Dec 2999, 00:00 to Wed, 25 Dec 2999, 00:00, at hidden times.")
	require.False(t, auditor.offers("Save"))
	auditor.quiet(0)
	b.quiet(0)
}

// TestUICalendarAccess: axe-core finds no violation in the calendar and its dialogs, in
// light colours on a desktop and in dark colours on a phone. Nothing is wider than the
// phone. The grid is one stop for the Tab key, and the arrow keys reach all its cells.
func TestUICalendarAccess(t *testing.T) {
	t.Parallel()
	source := axe(t)
	s := withAdvent(t)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda", `{"at":"2999-12-05T17:00:00Z","prize":"mug","delta":4,"reason":"eve"}`)
	s.admin(http.StatusCreated, "POST", "/admin/pools/advent/agenda/spread", `{"prize":"gold","units":9,"from":"2999-12-03T17:00:00Z","to":"2999-12-08T17:00:00Z","random":true}`)
	for scheme, width := range map[string]int{"light": 1200, "dark": 390} {
		b := browse(t, s.url, width, 800, inScheme(scheme))
		b.signIn("admin")
		b.await(`document.querySelectorAll(".pools li").length === 3`)
		b.visit("#/pools/advent/calendar", "Advent")
		narrow := func(about string) {
			t.Helper()
			b.accessible(source, scheme+": "+about)
			b.fits(scheme + ": " + about)
			require.Empty(t, eval[string](b, contrast), "%s: %s", scheme, about)
		}
		narrow("days")
		b.press("Fill by spreading…")
		b.fill("Mug", "24")
		b.press("Preview")
		b.says("Nothing is planned yet.")
		narrow("filling")
		b.press("Cancel")
		b.asks(source, "Fill by a file…", "Cancel")
		b.asks(source, "Add by hand…", "Cancel")
		b.opens("2999-12-05", "mug")
		narrow("a place")
		b.press("Cancel")
		b.opens("hidden", "gold")
		narrow("hidden units")
		b.press("Cancel")
		b.press("Thu, 5 Dec 2999")
		b.await(`document.querySelectorAll(".calendar tbody tr").length === 25`)
		narrow("hours")
		b.asks(source, "Remove this day's plan…", "Cancel")
		b.press("All days")
		b.await(`document.activeElement.textContent === "Thu, 5 Dec 2999"`)
		require.Equal(t, 1, eval[int](b, `document.querySelectorAll(".calendar [tabindex='0']").length`))
		require.Equal(t, 0, eval[int](b, `document.querySelectorAll(".calendar button:not([tabindex])").length`))
		b.do(chromedp.KeyEvent(kb.ArrowRight + kb.ArrowRight + kb.ArrowDown + kb.ArrowLeft + kb.ArrowUp + kb.Enter))
		b.await(`document.querySelector("dialog h2")?.textContent === "Mug, Thu, 5 Dec 2999"`)
		b.do(chromedp.KeyEvent(kb.Escape))
		b.await(`!document.querySelector("dialog") && document.activeElement.closest("td")?.dataset.planned === "4"`)
		b.quiet(0)
	}
}

// TestUIPicturesOfTheCalendar: the picture of the calendar can be created.
func TestUIPicturesOfTheCalendar(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	b := browse(t, s.url, 1100, 800, inScheme("light"))
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	b.visit("#/pools/advent/calendar", "Advent")
	b.spreads("On 24 days", "Mug", "50", "Sled", "1", "These are", "day", "From", "8")
	b.spreads("hidden from everybody", "Gold coin", "6", "They are released", "anytime")
	b.agrees(s, "advent")
	b.takes("admin-calendar.png")
}
