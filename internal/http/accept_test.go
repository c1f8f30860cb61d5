package http

import (
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWishFor(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		accept string
		json   float64
		csv    float64
	}{
		{"*/*", 1, 1},
		{"", 1, 1},
		{"application/json", 1, 0},
		{"APPLICATION/JSON", 1, 0},
		{"application/json; charset=utf-8", 1, 0},
		{"application/*", 1, 0},
		{"text/*;q=0.3", 0, 0.3},
		{"text/csv, application/json;q=0.5", 0.5, 1},
		{"application/json;q=0", 0, 0},
		{"*/*, application/json;q=0", 0, 1},
		{"application/json;q=0, */*;q=0.1", 0, 0.1},
		{"*/*;q=0, application/*;q=0.2", 0.2, 0},
		{"application/*;q=0.2, application/json;q=0.7, */*;q=0.9", 0.7, 0.9},
		{"*/*;q=0", 0, 0},
		{"text/html, application/xml;q=0.9", 0, 0},
		{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 0.8, 0.8},
		{"application/json;q=x", 0, 0},
		{"application/json;q=1.000", 1, 0},
		{" application/json ,text/html", 1, 0},
		{"json", 1, 1}, // not a media type: treated like a missing header
		{";;;, /", 1, 1},
		{"json, text/csv", 0, 1},
	} {
		h := nethttp.Header{"Accept": {tc.accept}}
		require.InDelta(t, tc.json, wishFor(typeJSON, h).weight, 1e-9, tc.accept)
		require.InDelta(t, tc.csv, wishFor(typeCSV, h).weight, 1e-9, tc.accept)
	}
	lines := nethttp.Header{"Accept": {"text/html", "application/json;q=0.4"}}
	require.InDelta(t, 0.4, wishFor(typeJSON, lines).weight, 1e-9, "several lines are one list")
	require.InDelta(t, 1, wishFor(typeJSON, nethttp.Header{}).weight, 1e-9)
}

// TestNotAcceptable runs over the table of calls: a caller that accepts no type of a
// call's answers gets 406, and the call does nothing. A caller that accepts one of the
// types gets that type.
func TestNotAcceptable(t *testing.T) {
	t.Parallel()
	for i, r := range newServer(t, &fake{}).routes() {
		ask := func(f *fake, accept string) *nethttp.Response {
			e := calls()[i]
			q := e.request("Authorization", "Bearer "+adminToken, "Accept", accept)
			return do(newServer(t, f), q).Result()
		}
		for _, accept := range []string{"image/png", "text/html, application/xml;q=0.9", "*/*;q=0", "application/json;q=0, text/plain;q=0, text/csv;q=0, text/event-stream;q=0, application/x-ndjson;q=0"} {
			f := &fake{}
			answer := ask(f, accept)
			if len(r.answers) == 0 {
				require.Less(t, answer.StatusCode, 300, r.path)
				continue
			}
			p := problemIn(t, answer)
			require.Equal(t, 406, answer.StatusCode, "%s %s: %s", r.method, r.path, accept)
			require.Equal(t, "not-acceptable", p.Code)
			require.Contains(t, p.Detail, r.answers[0])
			require.Equal(t, r.draws(), p.Outcome == "none")
			require.Nil(t, f.last(), "%s %s did something", r.method, r.path)
		}
		for _, mediaType := range r.answers {
			family, _, _ := strings.Cut(mediaType, "/")
			for _, accept := range []string{mediaType, "image/png, " + mediaType + ";q=0.1", family + "/*", "image/png, */*;q=0.1", "application/problem+json, " + mediaType} {
				answer := ask(&fake{}, accept)
				require.Less(t, answer.StatusCode, 300, "%s %s: %s", r.method, r.path, accept)
				if accept == mediaType || len(r.answers) == 1 {
					require.True(t, strings.HasPrefix(answer.Header.Get("Content-Type"), mediaType), "%s %s: %s: %s", r.method, r.path, accept, answer.Header)
				}
			}
		}
	}
}

// TestAcceptAfterTheToken: without a token, a caller does not learn the media types of
// a call's answers.
func TestAcceptAfterTheToken(t *testing.T) {
	t.Parallel()
	r := request("GET", "/admin/pools", "", "Accept", "image/png")
	require.Equal(t, "unauthorized", problemIn(t, do(newServer(t, &fake{}), r).Result()).Code)
}

// TestUsualAcceptCostsNothing: the usual headers of POST /draw are not parsed.
func TestUsualAcceptCostsNothing(t *testing.T) {
	draws := newServer(t, &fake{}).routes()[0]
	for _, accept := range []string{"", "*/*", "application/json"} {
		h := httptest.NewRequest(nethttp.MethodPost, drawPath, nil).Header
		if accept != "" {
			h.Set("Accept", accept)
		}
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = draws.checkAccept(h) }), accept)
	}
}
