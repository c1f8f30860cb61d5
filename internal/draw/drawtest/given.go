package drawtest

import (
	"time"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"drawsvc/internal/draw"
	"drawsvc/internal/draw/rules"
)

// Campaign returns the prizes of a pool for tests of rules: wins, a blank, and the
// endless blank "none".
func Campaign() []draw.Prize {
	return []draw.Prize{
		{ID: "gold", Name: "Gold", Value: decimal.New(5000, -2), Stocked: 10},
		{ID: "silver", Name: "Silver", Value: decimal.New(500, -2), Stocked: 90},
		{ID: "bronze", Name: "Bronze", Stocked: 1000},
		{ID: "lost", Name: "Lost", Kind: draw.KindBlank, Stocked: 900},
		{ID: "none", Name: "None", Kind: draw.KindBlank, Stocked: draw.EndlessStock},
	}
}

// Whole is a rules document with every member, which fits the prizes of a [Campaign].
const Whole = `{ "win":"1/50", "fallback":"none", "guarantee":{"after":9,"prize":"bronze"},
  "limits":[{"of":"draws","max":3,"per":"day"}, {"of":"wins","max":1}, {"of":"prize","prize":"gold","max":1,"per":"168h"}],
  "budget":{"max":"5000.00","per":"day"}, "zone":"Europe/Berlin", "tickets":true, "blocked":["u7"], "disclose":true,
  "low":[{"prize":"gold","below":5}] }`

// Rules reads a rules document, which must be valid.
func Rules(t rapid.TB, document string) *draw.Rules {
	t.Helper()
	r, err := rules.Parse([]byte(document))
	require.NoError(t, err)
	return r
}

// Per reads a length of time, which must be valid.
func Per(t rapid.TB, text string) draw.Per {
	t.Helper()
	p, err := draw.ParsePer("per", text)
	require.NoError(t, err)
	return p
}

// Zone reads the name of a time zone, which must be valid.
func Zone(t rapid.TB, name string) *time.Location {
	t.Helper()
	z, err := rules.ParseZone(name)
	require.NoError(t, err)
	return z
}

// Windows returns the names of the calendar's windows.
func Windows() []string { return []string{"hour", "day", "week", "month"} }

// OddZones returns zones that change their clocks by half an hour, at midnight,
// backwards over midnight, or by a whole day, and zones with an offset of half an hour.
func OddZones() []string {
	return []string{
		"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "America/Sao_Paulo",
		"America/Havana", "Pacific/Apia", "Africa/Casablanca", "Asia/Beirut", "America/Asuncion", "Africa/Cairo", "Pacific/Chatham",
	}
}

// Invalid requires an error of CodeInvalidRequest whose text contains says.
func Invalid(t rapid.TB, err error, says string) {
	t.Helper()
	require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, says)
}
