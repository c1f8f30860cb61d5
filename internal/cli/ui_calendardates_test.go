package cli

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw/rules"
)

// TestUICalendarOfZones: the functions for dates return the same first instant of each
// day of a zone, and the same hours of its clocks, as Go's table of zones. A spread
// over such days has the requested units, in the chosen hours.
func TestUICalendarOfZones(t *testing.T) {
	t.Parallel()
	b := browse(t, administered(t).url, 800, 600)
	b.await(`document.querySelector(".sign-in")`)
	b.do(chromedp.Evaluate(`Promise.all([import("./ui/zone.js"), import("./ui/spreads.js")]).then(([dates, spreads]) => { Object.assign(window, { dates, spreads }); return true; })`, nil, awaited))
	others := 0 // how many days the broken double gets wrong: it is a calendar whose days all have 24 hours
	for zone, days := range map[string][]string{
		"Europe/Berlin": {"2026-03-28", "2026-03-29", "2026-10-25", "2026-12-24"}, "America/New_York": {"2026-03-08", "2026-11-01"},
		"America/Havana": {"2026-03-08", "2026-11-01"}, "Australia/Lord_Howe": {"2026-04-05", "2026-10-04"}, "Asia/Kathmandu": {"2026-06-30"}, "UTC": {"2028-02-29"},
	} {
		for _, date := range days {
			shown := eval[struct {
				From, To int64
				Hours    []struct {
					From int64
					Name string
				}
			}](b, fmt.Sprintf(`(({ from, to }) => ({ from, to, hours: dates.hoursOf(%[1]q, { from, to }) }))(dates.dayOf(%[1]q, %[2]q))`, zone, date))
			minutes := minutesOf(t, zone, date)
			require.Equal(t, minutes[0].UnixMilli(), shown.From, "%s %s", zone, date)
			require.Equal(t, minutes[len(minutes)-1].Add(time.Minute).UnixMilli(), shown.To, "%s %s", zone, date)
			if len(minutes) != 24*60 {
				others++
			}
			var hours []int64
			for i, at := range minutes {
				if i == 0 || at.Format("15 -0700") != minutes[i-1].Format("15 -0700") {
					hours = append(hours, at.UnixMilli())
				}
			}
			require.Len(t, shown.Hours, len(hours), "%s %s", zone, date)
			names := map[string]bool{}
			for i, hour := range shown.Hours {
				require.Equal(t, hours[i], hour.From, "%s %s %s", zone, date, hour.Name)
				names[hour.Name] = true
			}
			require.Len(t, names, len(hours), "%s %s: each hour has a name of its own", zone, date)
		}
	}
	require.Equal(t, 8, others)
	// Friday to Sunday, from 1 to 5 o'clock, at the end of summer time: four hours on each
	// day, but five on the Sunday.
	const plan = `JSON.stringify((({ spreads: some, items }) => [some.length, items.length, [...some, ...items].reduce((sum, of) => sum + (of.units ?? of.delta), 0),
		[...some, ...items].map((of) => (of.from ?? of.at)).map((at) => new Date(at).toISOString().slice(8, 13)).join(" ")])(spreads.planOf({
			zone: "Europe/Berlin", how: %q, wanted: [{ prize: "mug", units: 101 }], reason: "r",
			windows: spreads.windowsOf({ zone: "Europe/Berlin", from: "2026-10-22", to: "2026-10-26", weekdays: [5, 6, 0], first: 1, last: 5 }),
		})))`
	const starts, hours = "22T23 23T23 24T23", "22T23 23T00 23T01 23T02 23T23 24T00 24T01 24T02 24T23 25T00 25T01 25T02 25T03"
	for how, want := range map[string]string{
		"day": `[0,3,101,"` + starts + `"]`, "hour": `[0,13,101,"` + hours + `"]`, "daily": `[3,0,101,"` + starts + `"]`, "anytime": `[3,0,101,"` + starts + `"]`,
	} {
		require.JSONEq(t, want, eval[string](b, fmt.Sprintf(plan, how)), how)
	}
	b.quiet(0)
}

// minutesOf returns the minutes of a day of a zone, found one by one.
func minutesOf(t *testing.T, zone, date string) (all []time.Time) {
	t.Helper()
	place, err := rules.ParseZone(zone)
	require.NoError(t, err)
	noon, err := time.Parse(time.DateOnly, date)
	require.NoError(t, err)
	for at := noon.Add(-24 * time.Hour); at.Before(noon.Add(48 * time.Hour)); at = at.Add(time.Minute) {
		if local := at.In(place); local.Format(time.DateOnly) == date {
			all = append(all, local)
		}
	}
	return all
}

// TestUICalendarDays: days of 23 and 25 hours have as many rows, and an item at a time
// that occurs twice is planned in the hour that was opened.
func TestUICalendarDays(t *testing.T) {
	t.Parallel()
	s := withAdvent(t)
	berlin, err := rules.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	b := browse(t, s.url, 1200, 900)
	b.signIn("admin")
	b.await(`document.querySelectorAll(".pools li").length === 3`)
	for _, month := range []time.Month{time.March, time.October} {
		day := time.Date(2998, month+1, 1, 12, 0, 0, 0, berlin)
		for day = day.AddDate(0, 0, -1); day.Weekday() != time.Sunday; {
			day = day.AddDate(0, 0, -1)
		}
		id := fmt.Sprintf("m%d", month)
		s.admin(http.StatusCreated, "POST", "/admin/pools", fmt.Sprintf(`{"id":%q,"name":%q,"state":"paused","rules":{"fallback":"none","zone":"Europe/Berlin"},"prizes":[{"id":"mug","name":"Mug","value":"9.90"},{"id":"none","name":"No luck","kind":"blank"}]}`, id, id))
		s.admin(http.StatusCreated, "POST", "/admin/pools/"+id+"/agenda", fmt.Sprintf(`{"at":%q,"state":"open"}`, rfc(day.AddDate(0, 0, -1))))
		s.admin(http.StatusCreated, "POST", "/admin/pools/"+id+"/agenda", fmt.Sprintf(`{"at":%q,"state":"closed"}`, rfc(day.AddDate(0, 0, 2))))
		b.visit("#/pools/"+id+"/calendar", id)
		hours := map[time.Month]int{time.March: 23, time.October: 25}[month]
		date := day.Format(time.DateOnly)
		b.spreads("On one day", "Mug", fmt.Sprint(hours), "They are released", "hour", "First day", date, "Last day", date)
		require.Equal(t, released{Planned: int64(hours)}, b.agrees(s, id)[date]["mug"])
		b.press(day.Format("Mon, 2 Jan 2006"))
		b.await(fmt.Sprintf(`document.querySelectorAll(".calendar tbody tr").length === %d + 1`, hours))
		for row, cells := range eval[calendar](b, grid) {
			if row != "sum" {
				require.Equal(t, released{Planned: 1}, cells["mug"], "one at each hour: %s", row)
			}
		}
		if month == time.March {
			require.False(t, eval[bool](b, `[...document.querySelectorAll(".calendar tr")].some((row) => row.dataset.row === "02:00")`))
			continue
		}
		b.opens("02:00 +01:00", "mug")
		b.fill("Units", "4")
		b.fill("Time", "02:30")
		b.press("Save")
		b.said("1 added")
		lines := agendaOf(t, s, id)
		require.Equal(t, date+"T01:30:00Z", lines[len(lines)-1].At.UTC().Format(time.RFC3339), "02:30 for the second time")
		b.await(`document.querySelector('.calendar tr[data-row="02:00 +01:00"] td').dataset.planned === "5"`)
		require.Equal(t, "02:00 +01:00", eval[string](b, `document.activeElement.closest("tr")?.dataset.row ?? ""`), "the keyboard is where it was")
		b.opens("03:00", "mug")
		b.fill("Units", "4")
		b.fill("Time", "02:30")
		b.press("Save")
		b.says("do not show 02:30 in 03:00")
		b.press("Cancel")
	}
	b.quiet(0)
}
