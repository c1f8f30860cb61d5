package prizefile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
)

// TestReadSteps: a file of steps is read as spreadsheets write it, and errors name bad
// lines. A separator within a text must not truncate the text silently.
func TestReadSteps(t *testing.T) {
	t.Parallel()
	steps, encoding, err := ReadSteps(strings.NewReader("\uFEFFReturn;TO;award;Reason;reference\r\n;Fulfilled;7;;\"a;b\"\r\n;;;;\r\nTRUE;voided;9;fraud;;;\r\n;claimed;11\r\n"))
	require.NoError(t, err)
	require.Equal(t, draw.EncodingUTF8, encoding)
	require.Equal(t, []draw.WantedStep{
		{Award: 7, What: draw.StepFulfilled, Reference: "a;b", Line: 2},
		{Award: 9, What: draw.StepVoided, Reason: "fraud", Return: true, Line: 4},
		{Award: 11, What: draw.StepClaimed, Line: 5},
	}, steps)
	for file, says := range map[string]string{
		"":                                    "line 1: must be the header award,to[,reference,reason,return]",
		"award,reference\n":                   "line 1: must be the header",
		"award,to\n":                          "line 1: is all that the file has",
		"award,to\n7,sent\n":                  "line 2: to must be claimed",
		"award,to\n7,expired\n":               "line 2: to must be claimed",
		"award,to\n7,claimed\n7,fulfilled\n":  "line 3: the award 7 is in line 2 already",
		"award,to\nseven,claimed\n":           "line 2: award must be a version",
		"award,to,return\n7,claimed,true\n":   "line 2: return is for to voided",
		"award,to,return\n7,voided,yes\n":     "line 2: return must be true or false",
		"award,to\n7,fulfilled,DHL 1\n":       "line 2: has 3 columns instead of 2",
		"award,to,reference\n7,fulfilled,a,b": "line 2: has 4 columns instead of 3; quote a field that holds the separator",
	} {
		_, _, err := ReadSteps(strings.NewReader(file))
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), file)
		require.ErrorContains(t, err, says)
	}
}
