package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestForPlayersHidesWhatWordsHide: members that only the operator uses are left out, and
// blocked users are never named. A member that the rules do not disclose is true, or is
// left out.
func TestForPlayersHidesWhatWordsHide(t *testing.T) {
	t.Parallel()
	const limited = `"limits":[{"of":"draws","max":3,"per":"day"}]`
	const both = `"blocked":["mallory"],"low":[{"prize":"gold","below":5}],"claims":{"within":"1h"}`
	for document, want := range map[string]string{
		`{}`: `{}`,
		`{"win":"1/20","fallback":"none","guarantee":{"after":3,"prize":"pin"},` + limited + `,"budget":{"max":"777.00"},` + both + `}`: `{"win":true,"fallback":"none",` + limited + `,"budget":true,"blocked":true,"claims":{"within":"1h"}}`,
		`{"win":"1/20","fallback":"none","guarantee":{"after":3,"prize":"pin"},"budget":{"max":"777.00"},` + both + `,"disclose":true}`: `{"win":"1/20","fallback":"none","guarantee":{"after":3,"prize":"pin"},"budget":{"max":"777.00"},"blocked":true,"claims":{"within":"1h"}}`,
		`{"odds":{"of":2,"prizes":{"gold":1}},"fallback":"none"}`:                                                                       `{"odds":true,"fallback":"none"}`,
		`{"odds":{"of":2,"prizes":{"gold":1}},"fallback":"none","disclose":true}`:                                                       `{"odds":{"of":2,"prizes":{"gold":1}},"fallback":"none"}`,
		`{"win":"3/3","tickets":true,"zone":"Europe/Berlin"}`:                                                                           `{"win":"3/3","zone":"Europe/Berlin","tickets":true}`,
		`{"blocked":[]}`: `{}`,
	} {
		r, err := Parse([]byte(document))
		require.NoError(t, err)
		shown, err := ForPlayers(r)
		require.NoError(t, err)
		require.Equal(t, want, string(shown), document)
	}
	none, err := ForPlayers(nil)
	require.NoError(t, err)
	require.Equal(t, "{}", string(none))
	unreadable, err := ForPlayers(Read([]byte(`{"later":1}`)))
	require.NoError(t, err)
	require.Equal(t, "null", string(unreadable))
}
