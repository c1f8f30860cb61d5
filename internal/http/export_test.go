package http

import (
	"bytes"
	"context"
	"encoding/csv"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/shopspring/decimal"
	"github.com/stretchr/testify/require"

	"drawsvc/client"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// TestExportHeedsLimitAndFilters: CSV has the same rows as JSON, also over many pages.
func TestExportHeedsLimitAndFilters(t *testing.T) {
	t.Parallel()
	_, s := newGrowing(t, 2500)
	versions := func(query string) []string {
		w := do(s, asAdmin("GET", "/admin/pools/p/awards"+query, "", "Accept", "text/csv"))
		require.Equal(t, 200, w.Code, w.Body)
		rows, err := csv.NewReader(w.Body).ReadAll()
		require.NoError(t, err)
		var found []string
		for _, row := range rows[1:] {
			found = append(found, row[0])
		}
		return found
	}
	require.Equal(t, []string{"1", "2", "3"}, versions("?limit=3"))
	require.Equal(t, []string{"1999", "2000"}, versions("?after=1998&limit=2"))
	require.Len(t, versions("?limit=1000"), 1000)
	require.Greater(t, len(versions("")), 2000)
	for _, query := range []string{"?limit=0", "?limit=1001", "?limit=x", "?user=", "?prize=GOLD"} {
		w := do(s, asAdmin("GET", "/admin/pools/p/awards"+query, "", "Accept", "text/csv"))
		require.Equal(t, "invalid-request", problemIn(t, w.Result()).Code, query)
	}
}

// TestExportSearches: an export continues after each part of the log that a search went
// through.
func TestExportSearches(t *testing.T) {
	t.Parallel()
	f := &fake{awards: manyAwards(7)}
	s := newServer(t, f, func(c *Config) { c.Store = &growing{fakeStore: fakeStore{f}} })
	w := do(s, asAdmin("GET", "/admin/pools/p/awards?user=u1&prize=gold", "", "Accept", "text/csv"))
	require.Equal(t, 200, w.Code)
	var asked []any
	for after := int64(0); after < 7; after += 3 {
		asked = append(asked, [4]any{"p", draw.AwardFilter{UserID: "u1", PrizeID: "gold"}, after, api.PageMax})
	}
	require.Equal(t, asked, f.asked, "the fake's search goes through three versions")
}

// TestExportsOverHTTP: the service's client reads exactly the rows of the store.
func TestExportsOverHTTP(t *testing.T) {
	t.Parallel()
	f := &fake{awards: []draw.Award{award("d1", "u1")}}
	f.awards[0].Blank = true
	server := httptest.NewServer(newServer(t, f).Handler())
	defer server.Close()
	admin, store := adminOf(server), fakeStore{f}

	awards, err := admin.Awards(t.Context(), "p", &draw.AwardFilter{}, 5)
	require.NoError(t, err)
	require.Equal(t, api.Awards{Awards: []api.Award{api.ShowAward(&f.awards[0])}, End: api.End{Cursor: 1234}}, awards)
	wanted := draw.AwardFilter{UserID: "u 1", PrizeID: "gold", DrawID: "d/1"}
	_, err = admin.Awards(t.Context(), "p", &wanted, 5)
	require.NoError(t, err)
	require.Contains(t, f.asked, [4]any{"p", wanted, int64(5), api.PageMax})

	moves, err := admin.Moves(t.Context(), "p", 0)
	require.NoError(t, err)
	want, err := store.Moves(t.Context(), "p", 0, 10)
	require.NoError(t, err)
	require.Equal(t, api.ShowEach(want, api.ShowMove), moves.Moves)

	lines, err := admin.Statements(t.Context(), "p", "2026-03-01")
	require.NoError(t, err)
	stated, _, err := fakeStore{f}.Statements(t.Context(), "p", "2026-03-01", 10)
	require.NoError(t, err)
	require.Equal(t, api.ShowEach(stated, api.ShowStatement), lines.Statements)
	require.Equal(t, 5, strings.Count(written(t, lines.Statements), "\n"))
}

// adminOf returns a client with the admin token.
func adminOf(server *httptest.Server) *api.Client {
	return api.NewClient(&api.Remote{Client: &client.Client{URL: server.URL, Token: adminToken, HTTP: server.Client()}})
}

func written(t *testing.T, lines []api.Statement) string {
	t.Helper()
	var out bytes.Buffer
	rows := api.NewStatementRows(&out)
	for i := range lines {
		rows.Write(&lines[i])
	}
	require.NoError(t, rows.Flush())
	return out.String()
}

// TestStatementsOfGreatWorth: the sum of a day may have more digits than the value of
// one unit can have.
func TestStatementsOfGreatWorth(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newServer(t, &fake{}, func(c *Config) { c.Store = wealthy{c.Store} }).Handler())
	defer server.Close()
	lines, err := adminOf(server).Statements(t.Context(), "p", "")
	require.NoError(t, err)
	require.Equal(t, "12345678901234567.89", lines.Statements[0].Value)
}

// wealthy has a day with a large sum.
type wealthy struct{ Store }

func (wealthy) Statements(context.Context, string, string, int) ([]job.Line, string, error) {
	return []job.Line{{Day: "2026-03-01", Prize: "gold", Issued: 1, Value: decimal.RequireFromString("12345678901234567.89"), ToVersion: 2}}, "", nil
}
