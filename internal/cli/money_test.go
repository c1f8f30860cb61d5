package cli

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keysOf returns the keys of the draws on a page of awards, and checks the number of
// lines in its CSV.
func (s *service) keysOf(query url.Values) (keys []string) {
	s.tb.Helper()
	path := "/admin/pools/spring/awards?" + query.Encode()
	page := members(s.tb, s.admin(http.StatusOK, "GET", path, ""))
	require.Nil(s.tb, page["next"])
	for _, a := range page["awards"].([]any) {
		keys = append(keys, a.(map[string]any)["draw"].(string))
	}
	_, csv, err := s.ask("GET", path, "", "Authorization", "Bearer "+s.token, "Accept", "text/csv")
	require.NoError(s.tb, err)
	require.Equal(s.tb, 1+len(keys), strings.Count(csv, "\n"), "the CSV has the same rows: %s", csv)
	return keys
}

// TestBudgetFromOutside: for a used-up budget, the outputs show the value that was given,
// and why, since when and until when nothing can be won. Searches by wins and times find
// the rows.
func TestBudgetFromOutside(t *testing.T) {
	each(t, func(t *testing.T, database string) {
		s := on(t, database).serve()
		s.admin(http.StatusCreated, "POST", "/admin/pools", `{"id":"spring","name":"Spring","currency":"EUR",
			"rules":{"fallback":"none","budget":{"max":"45.00","per":"month"}},
			"prizes":[{"id":"gold","name":"Gold","value":"19.90","stock":5},{"id":"none","name":"None","kind":"blank"}]}`)
		shown := func() map[string]any { return members(t, s.admin(http.StatusOK, "GET", "/admin/pools/spring", "")) }
		require.NotContains(t, shown(), "nothing")
		at := []string{}
		for _, key := range []string{"one", "two", "three", "four"} {
			status, body, err := s.draw("spring", "u1", key)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, status, body)
			at = append(at, onlyAward(t, body)["at"].(string))
			require.Equal(t, []bool{len(at) <= 2}, wins(t, body))
		}
		pool := shown()
		budget, nothing := pool["budget"].(map[string]any), pool["nothing"].(map[string]any)
		resets := budget["resets_at"].(string)
		require.Equal(t, map[string]any{"max": "45.00", "per": "month", "spent": "39.80", "left": "5.20", "resets_at": resets}, budget)
		require.Greater(t, resets, at[3])
		require.Contains(t, nothing["detail"], "budget used up since ")
		delete(nothing, "detail")
		require.Equal(t, map[string]any{"why": "budget", "since": at[1], "until": resets}, nothing)
		gold, none := pool["prizes"].([]any)[0].(map[string]any), pool["prizes"].([]any)[1].(map[string]any)
		require.Equal(t, []any{"39.80", "0.00", "EUR"}, []any{gold["given"], none["given"], pool["currency"]})

		for _, c := range []struct {
			win, from, to string
			want          []string
		}{
			{want: []string{"one", "two", "three", "four"}},
			{win: "true", want: []string{"one", "two"}},
			{from: at[1], want: []string{"two", "three", "four"}},
			{to: at[1], want: []string{"one"}},
			{from: at[1], to: at[3], want: []string{"two", "three"}},
			{win: "true", from: at[1], to: at[3], want: []string{"two"}},
			{win: "true", from: at[2]},
			{to: at[0]},
		} {
			query := url.Values{}
			for name, value := range map[string]string{"win": c.win, "from": c.from, "to": c.to} {
				if value != "" {
					query.Set(name, value)
				}
			}
			require.Equal(t, c.want, s.keysOf(query), "%v", query)
		}
		s.admin(http.StatusOK, "PUT", "/admin/pools/spring/rules", `{"fallback":"none","budget":{"max":"60.00","per":"month"}}`)
		require.NotContains(t, shown(), "nothing", "a third gold may be won")
	})
}
