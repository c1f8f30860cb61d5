package rules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// shop names the prizes of the rules that the tests put into words.
func shop() Telling {
	return Telling{Currency: "EUR", Name: NamesOf([]draw.Prize{{ID: "gold", Name: "Gold coin"}, {ID: "pin", Name: "Pin"}, {ID: "none", Name: "No luck"}})}
}

// stated puts a document into words.
func stated(t *testing.T, document string, how Telling) []string {
	t.Helper()
	r, err := Parse([]byte(document))
	require.NoError(t, err)
	return Words(r, how)
}

// TestWordsSayEveryRule: each member of a document has its sentence, and sentences for
// players contain no number that the rules do not disclose.
func TestWordsSayEveryRule(t *testing.T) {
	t.Parallel()
	const uniform = "Each draw takes one unit, at random: every unit that remains is equally likely."
	require.Equal(t, []string{uniform}, Words(nil, shop()))
	require.Contains(t, Words(Read([]byte(`{"later":1}`)), shop())[0], "cannot read")
	for document, want := range map[string]string{
		`{}`:                               uniform,
		`{"win":"1/20","fallback":"none"}`: "A draw takes a unit with a chance of 1 in 20 (5 %); every unit that remains is then equally likely.",
		`{"win":"2/3","fallback":"none"}`:  "A draw takes a unit with a chance of 2 in 3 (about 66.67 %); every unit that remains is then equally likely.",
		`{"fallback":"none"}`:              "A draw that gets nothing else gets “No luck”.",
		`{"odds":{"of":1000000,"prizes":{"gold":10,"pin":2500}},"fallback":"none"}`: "Each prize has a fixed chance, whatever remains of it: " +
			"“Gold coin” 10 in 1,000,000 (0.001 %) and “Pin” 2,500 in 1,000,000 (0.25 %).",
		`{"odds":{"of":2,"prizes":{"gold":1,"pin":0}},"fallback":"none"}`:                   "Each prize has a fixed chance, whatever remains of it: “Gold coin” 1 in 2 (50 %) and no chance for 1 of the prizes.",
		`{"guarantee":{"after":0,"prize":"pin"},"fallback":"none"}`:                         "A draw that wins nothing gets “Pin”, while stock lasts.",
		`{"guarantee":{"after":1,"prize":"pin"},"fallback":"none"}`:                         "After 1 draw without a win, the user's next draw gets “Pin” if it wins nothing else, while stock lasts.",
		`{"guarantee":{"after":1000,"prize":"pin"},"fallback":"none"}`:                      "After 1,000 draws in a row without a win, the user's next draw gets “Pin” if it wins nothing else, while stock lasts.",
		`{"limits":[{"of":"draws","max":3,"per":"day"}],"zone":"Europe/Berlin"}`:            "Each user draws at most 3 times a day.",
		`{"limits":[{"of":"draws","max":1,"per":"hour"}],"zone":"Europe/Berlin"}`:           "Hours, days, weeks from Monday and months are those of the time zone Europe/Berlin.",
		`{"limits":[{"of":"wins","max":2}],"fallback":"none"}`:                              "Each user wins at most twice in all.",
		`{"limits":[{"of":"prize","prize":"gold","max":1,"per":"168h"}],"fallback":"none"}`: "Each user wins “Gold coin” at most once within any 7 days.",
		`{"limits":[{"of":"prize","prize":"gold","max":1,"per":"90s"}],"fallback":"none"}`:  "A win beyond a limit is not given, and the chances of all others stay the same.",
		`{"budget":{"max":"1.00"},"fallback":"none"}`:                                       "A win beyond the budget is not given, and the chances of all others stay the same.",
		`{"limits":[{"of":"wins","max":1}],"budget":{"max":"1.00"},"fallback":"none"}`:      "A win beyond a limit or the budget is not given, and the chances of all others stay the same.",
		`{"budget":{"max":"50000.00","per":"week"},"fallback":"none"}`:                      "Prizes worth at most 50,000.00 EUR are given a week.",
		`{"budget":{"max":"0.05"},"fallback":"none"}`:                                       "Prizes worth at most 0.05 EUR are given in all.",
		`{"tickets":true}`:                     "A draw needs a ticket, and each ticket allows one draw.",
		`{"blocked":["u1"]}`:                   "1 user is blocked and cannot draw.",
		`{"blocked":["u1","u2"]}`:              "2 users are blocked and cannot draw.",
		`{"disclose":true}`:                    "Players may read the odds.",
		`{"tickets":false}`:                    "Players may not read the odds.",
		`{"claims":{"within":"720h"}}`:         "Prizes have to be claimed within 30 days; what is not claimed goes back into stock.",
		`{"low":[{"prize":"gold","below":5}]}`: "A warning is given when fewer than 5 units of “Gold coin” remain.",
		`{"claims":{"within":"1h","prizes":["pin"],"return":false}}`:      "“Pin” has to be claimed within 1 hour; what is not claimed is lost.",
		`{"claims":{"prizes":["pin","absent"]}}`:                          "“Pin” and “absent” have to be claimed.",
		`{"limits":[{"of":"draws","max":1,"per":"90s"}],"tickets":false}`: "Each user draws at most once within any 90 seconds.",
	} {
		require.Contains(t, stated(t, document, shop()), want, document)
	}
	require.NotContains(t, strings.Join(stated(t, `{"limits":[{"of":"draws","max":1}],"fallback":"none"}`, shop()), " "), "not given")
	momentous := shop()
	momentous.HasMoments = true
	const moments = "At winning moments, which nobody knows before, the next draw gets a prize, whatever the chances."
	require.Equal(t, []string{uniform, moments}, Words(nil, momentous))
	require.Contains(t, stated(t, `{"win":"1/20","fallback":"none"}`, momentous), moments)

	foreign := shop()
	foreign.Name = func(id string) string {
		return map[string]string{"gold": "זהב", "pin": "سنجاق", "none": "No luck"}[id]
	}
	require.Contains(t, stated(t, `{"odds":{"of":4,"prizes":{"gold":1,"pin":2}},"fallback":"none"}`, foreign)[0],
		": “\u2068זהב\u2069” 1 in 4 (25 %) and “\u2068سنجاق\u2069” 2 in 4 (50 %).", "else the chances stand before the names")

	players := shop()
	players.ToPlayers = true
	const secret = `"win":"1/20","fallback":"none","budget":{"max":"777.00"},"guarantee":{"after":19,"prize":"pin"},"blocked":["u1"],"low":[{"prize":"gold","below":33}]`
	hidden := strings.Join(stated(t, `{`+secret+`}`, players), " ")
	require.NotRegexp(t, `[0-9]|blocked user|u1`, hidden)
	require.NotRegexp(t, `wins nothing|becomes`, hidden, "the guarantee that players may not know may give a prize")
	require.Contains(t, hidden, "with a fixed chance")
	const daily = `"budget":{"max":"777.00","per":"day"},"fallback":"none"`
	require.NotContains(t, strings.Join(stated(t, `{`+daily+`}`, players), " "), "time zone", "the window of a budget that players may not know")
	require.Contains(t, strings.Join(stated(t, `{`+daily+`,"disclose":true}`, players), " "), "time zone")
	require.Regexp(t, `1 in 20.*777`, strings.Join(stated(t, `{`+secret+`}`, shop()), " "), "the operator's words would not pass")
	disclosed := strings.Join(stated(t, `{`+secret+`,"disclose":true}`, players), " ")
	for _, number := range []string{"1 in 20", "777.00 EUR", "After 19 draws"} {
		require.Contains(t, disclosed, number)
	}
	require.NotRegexp(t, `33|u1`, disclosed, "what only the operator uses")
	require.NotRegexp(t, `[0-9]`, strings.Join(stated(t, `{"odds":{"of":2,"prizes":{"gold":1}},"fallback":"none"}`, players), " "))
}

// TestWordsAreBounded: a document with all the prizes that it may name makes short
// sentences.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	shares := make([]string, draw.OddsMax)
	for i := range shares {
		shares[i] = fmt.Sprintf(`"p%d":1`, i)
	}
	all := stated(t, `{"odds":{"of":1000,"prizes":{`+strings.Join(shares, ",")+`}},"fallback":"none"}`, shop())
	require.Contains(t, all[0], " and 980 more prizes.")
	require.Less(t, len(strings.Join(all, " ")), 2000)
}
