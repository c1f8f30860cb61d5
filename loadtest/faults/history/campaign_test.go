package history

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noon is the time of the first entry.
var noon = time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)

func second(n int) time.Time { return noon.Add(time.Duration(n) * time.Second) }

func changed(version int64, at int, what, body string) Entry {
	return Entry{Kind: "change", Version: version, At: second(at), What: what, Body: json.RawMessage(body)}
}

func awarded(version int64, at int, user, prize, value string) Entry {
	return Entry{Kind: "award", Version: version, At: second(at), User: user, Prize: prize, Value: value, Win: prize != "none"}
}

func momentTaken(e Entry) Entry {
	e.Redirect = &struct{ Why string }{"moment"}
	return e
}

// season returns a lawful log and its agenda: u1 has won all that the limits allow, and
// the budget is spent.
func season() ([]Entry, []Item) {
	return []Entry{
			changed(1, 0, "created", `{"state":"open"}`),
			changed(2, 0, "rules", `{"rules":{"fallback":"none","zone":"Europe/Berlin","budget":{"max":"3.00","per":"day"},
				"limits":[{"of":"draws","max":2,"per":"day"},{"of":"prize","prize":"gold","max":1,"per":"10s"}]}}`),
			awarded(3, 1, "u1", "gold", "1.00"),
			awarded(4, 2, "u1", "none", "0.00"),
			{Kind: "move", Version: 5, At: second(4), Prize: "gold", Delta: 1, Reason: "r1"},
			changed(6, 5, "state", `{"state":"paused"}`),
			changed(7, 6, "state", `{"state":"open"}`),
			awarded(8, 7, "u2", "gold", "2.00"),
			awarded(9, 13*3600, "u1", "gold", "1.00"), // the next day in Berlin
			{Kind: "move", Version: 10, At: second(13*3600 + 1), Prize: "car", Delta: 1, Reason: "moment"},
			momentTaken(awarded(11, 13*3600+2, "u3", "car", "2.00")),
			{Kind: "move", Version: 12, At: second(13*3600 + 3), Prize: "car", Delta: 1, Reason: "moment"},
			awarded(13, 13*3600+4, "u4", "none", "0.00"), // the budget withholds the moment
			momentTaken(awarded(14, 37*3600, "u4", "car", "2.00")),
		}, []Item{
			{Item: 1, At: second(3), Prize: "gold", Delta: 1, Reason: "r1", Done: 5},
			{Item: 2, At: second(6), State: "open", Done: 7},
			{Item: 3, At: second(5), State: "paused", Done: 6},
			{Item: 4, At: second(200000), State: "closed"},
			{Item: 5, At: second(13*3600 + 1), Moment: "car", Done: 10},
			{Item: 6, At: second(13*3600 + 3), Moment: "car", Done: 12},
		}
}

func judgedCampaign(log []Entry, agenda []Item, now time.Time) (broken []string) {
	var v Verdict
	Campaign(&v, "spring", log, agenda, now)
	for _, violation := range v.Violations {
		broken = append(broken, violation.Rule)
	}
	return broken
}

func TestALawfulCampaignBreaksNothing(t *testing.T) {
	log, agenda := season()
	require.Empty(t, judgedCampaign(log, agenda, second(160000)))
}

func TestEveryRuleOfACampaignCanBeBroken(t *testing.T) {
	now := second(160000)
	for name, c := range map[string]struct {
		rule  string
		sever func(log []Entry, agenda []Item)
	}{
		"a draw too many":          {LimitPassed, func(log []Entry, _ []Item) { log[8].At = second(36000) }},
		"a prize too soon":         {LimitPassed, func(log []Entry, _ []Item) { log[3].User, log[7].User, log[7].At = "u3", "u1", second(11) }},
		"a cent too much":          {BudgetPassed, func(log []Entry, _ []Item) { log[7].Value = "2.01" }},
		"a draw past an item":      {DuePassed, func(log []Entry, _ []Item) { log[3].At = second(3) }},
		"a draw past an open item": {DuePassed, func(_ []Entry, agenda []Item) { agenda[3].At = second(40000) }},
		"an item before its time":  {ItemOnce, func(_ []Entry, agenda []Item) { agenda[0].At = second(5) }},
		"items out of order":       {ItemOnce, func(_ []Entry, agenda []Item) { agenda[1].Done, agenda[2].Done = 6, 7 }},
		"an item that is another":  {ItemOnce, func(log []Entry, _ []Item) { log[4].Delta = 2 }},
		"an item done twice":       {ItemOnce, func(log []Entry, _ []Item) { log[7].Kind, log[7].Reason = "move", "r1" }},
		"an item left":             {ItemUndone, func(_ []Entry, agenda []Item) { agenda[3].At = second(159000) }},
		"a clock that is followed": {TimeFell, func(log []Entry, _ []Item) { log[3].At = second(0) }},
		"a moment not given":       {MomentPassed, func(log []Entry, _ []Item) { log[10].Prize, log[10].Value, log[10].Redirect = "none", "0.00", nil }},
		"a moment given twice":     {MomentPassed, func(log []Entry, _ []Item) { log[12].Redirect = momentTaken(Entry{}).Redirect }},
		"a moment of another":      {ItemOnce, func(log []Entry, _ []Item) { log[9].Prize = "gold" }},
		"a draw in the pause":      {DrewClosed, func(log []Entry, _ []Item) { log[6].Body = json.RawMessage(`{"state":"paused"}`) }},
	} {
		log, agenda := season()
		c.sever(log, agenda)
		require.Contains(t, judgedCampaign(log, agenda, now), c.rule, name)
	}
}

// TestWindows tests windows by the clock of a time zone, and rolling windows.
func TestWindows(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	at := func(text string) time.Time {
		found, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return found
	}
	for _, c := range []struct {
		per, first, last string
		isIn             bool
	}{
		{"", "2000-01-01T00:00:00Z", "2026-01-01T00:00:00Z", true},
		{"hour", "2026-10-25T00:30:00Z", "2026-10-25T00:59:00Z", true},
		{"hour", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", false}, // the hour that occurs twice when the clocks change
		{"day", "2026-12-23T22:59:59Z", "2026-12-23T23:00:00Z", false},  // midnight in Berlin
		{"day", "2026-12-23T23:00:00Z", "2026-12-24T22:59:59Z", true},
		{"week", "2026-12-20T22:59:59Z", "2026-12-20T23:00:00Z", false}, // Sunday, Monday
		{"month", "2026-12-01T00:00:00Z", "2026-12-31T22:59:59Z", true},
		{"10s", "2026-12-01T00:00:00Z", "2026-12-01T00:00:10Z", true},
		{"10s", "2026-12-01T00:00:00Z", "2026-12-01T00:00:10.000001Z", false},
	} {
		require.Equal(t, c.isIn, isWithin(at(c.first), at(c.last), c.per, berlin), "%+v", c)
	}
}
