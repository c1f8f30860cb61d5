package prizefile

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

func TestReadAgenda(t *testing.T) {
	items, encoding, err := ReadAgenda(strings.NewReader("\uFEFFPrize;at;DELTA;reason\r\ngold;2999-01-01T01:00:00+01:00;5;\"a; b\"\r\n;;;\r\nsilver;2999-01-01T00:00:00.5Z;-1;back\r\n"))
	require.NoError(t, err)
	require.Equal(t, []draw.Item{
		{At: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Kind: draw.ItemStock, Line: 2, Stock: draw.Stocking{PrizeID: "gold", Delta: 5, Reason: "a; b"}},
		{At: time.Date(2999, 1, 1, 0, 0, 0, 500_000_000, time.UTC), Kind: draw.ItemStock, Line: 4, Stock: draw.Stocking{PrizeID: "silver", Delta: -1, Reason: "back"}},
	}, items)
	require.Equal(t, draw.EncodingUTF8, encoding)
	items, encoding, err = ReadAgenda(strings.NewReader("Gewinn;Zeitpunkt;Anzahl;Grund;;\ngold;2999-01-01T00:00:00Z;5;f\xfcr Kunden;;\n"))
	require.NoError(t, err)
	require.Equal(t, "für Kunden", items[0].Stock.Reason)
	require.Equal(t, draw.EncodingWindows1252, encoding)

	for file, says := range map[string]string{
		"":                            "line 1: must be the header at,prize,delta,reason",
		"at,prize,delta\n":            "line 1: must be the header",
		"at,prize,delta,reason,why\n": "line 1: must be the header",
		"at,prize,delta,reason\n1 May,gold,1,r\n": `line 2: at must be a time of RFC 3339, such as 2026-12-24T17:00:00Z, not "1 May"`,
		"at,prize,delta,reason\n2999-01-01T00:00:00Z,gold,1,r\n2999-01-01T00:00:00Z,gold,0,r\n2999-01-01T00:00:00Z,gold,one,r\n2999-01-01T00:00:00Z,gold,1\n": "line 3: delta must be a whole number from -1000000000000 to 1000000000000, and not 0; " +
			`line 4: delta must be a whole number, not "one"; line 5: has 3 columns instead of 4`,
		"at,prize,delta,reason\n2999-01-01T00:00:00Z,gold,1,\n": "line 2: reason is missing",
		"at,prize,delta,reason\n\"2999":                         "line 2: has a quote that is not closed",
	} {
		_, _, err := ReadAgenda(strings.NewReader(file))
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), file)
		require.Contains(t, err.Error(), says)
		require.Contains(t, err.Error(), "nothing was imported")
	}
	long := "at,prize,delta,reason\n" + strings.Repeat("2999-01-01T00:00:00Z,gold,1,r\n", draw.AgendaMax)
	items, _, err = ReadAgenda(strings.NewReader(long))
	require.NoError(t, err)
	require.Len(t, items, draw.AgendaMax)
	_, _, err = ReadAgenda(strings.NewReader(long + "2999-01-01T00:00:00Z,gold,1,r\n"))
	require.ErrorContains(t, err, "line 100002: is more than the 100000 items")
}

// TestReadAgendaOfMoments: a line with true in the column moment is a moment: one unit,
// without a reason in the file.
func TestReadAgendaOfMoments(t *testing.T) {
	t.Parallel()
	const header, at = "at;prize;delta;reason;Moment\n", "2999-01-01T00:00:00Z"
	items, _, err := ReadAgenda(strings.NewReader(header + at + ";gold;;;true\n" + at + ";gold;1;;true\n" + at + ";gold;5;more;\n" + at + ";gold;5;more;false\n"))
	require.NoError(t, err)
	moment := draw.Item{At: time.Date(2999, 1, 1, 0, 0, 0, 0, time.UTC), Kind: draw.ItemMoment, Stock: draw.MomentOf("gold")}
	move := draw.Item{At: moment.At, Kind: draw.ItemStock, Stock: draw.Stocking{PrizeID: "gold", Delta: 5, Reason: "more"}}
	want := []draw.Item{moment, moment, move, move}
	for i := range want {
		want[i].Line = i + 2
	}
	require.Equal(t, want, items)
	for fields, says := range map[string]string{
		";gold;2;;true":   `line 2: the delta of a moment is 1 or empty, not "2"`,
		";gold;;why;true": `line 2: the reason of a moment is empty, not "why"`,
		";gold;1;r;yes":   `line 2: moment must be true or empty, not "yes"`,
	} {
		_, _, err := ReadAgenda(strings.NewReader(header + at + fields + "\n"))
		require.ErrorContains(t, err, says)
	}
}
