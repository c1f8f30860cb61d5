package http

import (
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
)

// example is a request that a route accepts.
type example struct {
	need                 role
	method, target, body string
}

func (e *example) request(headers ...string) *nethttp.Request {
	path := e.target
	if e.method == "DELETE" && strings.HasSuffix(path, "/codes") {
		path += "?count=1" // a required parameter
	}
	r := request(e.method, path, e.body, headers...)
	if strings.HasSuffix(e.target, "/import") {
		r.Header.Set("Content-Type", "text/csv")
	}
	if (strings.HasSuffix(e.target, "/proof/checkpoint") || strings.HasSuffix(e.target, "/codes")) && e.body != "" {
		r.Header.Set("Content-Type", "text/plain")
	}
	return r
}

// calls returns all calls, each with a valid body and the role that it needs. The table
// of routes is checked against it.
func calls() []example {
	return []example{
		{roleDraw, "POST", "/draw", `{"pool":"p","user":"u"}`},
		{roleDraw, "POST", "/pools/p/draws", `{"user":"u"}`},
		{roleDraw, "GET", "/pools/p", ""},
		{roleDraw, "GET", "/pools/p/draws/d", ""},
		{roleDraw, "GET", "/pools/p/draws/d/receipt", ""},
		{roleDraw, "POST", "/pools/p/draws/d/claim", `{"user":"u1"}`},
		{roleDraw, "GET", "/pools/p/odds", ""},
		{roleDraw, "GET", "/pools/p/users/u1", ""},
		{roleDraw, "GET", "/pools/p/users/u1/awards", ""},
		{roleFeed, "GET", "/admin/awards", ""},
		{roleReader, "GET", "/admin/self", ""},
		{roleAuditor, "GET", "/admin/events", ""},
		{roleDraw, "GET", "/pools/p/proof/commitment", ""},
		{roleDraw, "GET", "/pools/p/proof/key", ""},
		{roleDraw, "GET", "/pools/p/proof/checkpoint", ""},
		{roleDraw, "GET", "/pools/p/proof/reveal", ""},
		{roleDraw, "GET", "/pools/p/proof/log", ""},
		{roleAdmin, "POST", "/admin/pools", `{"id":"p","name":"P","prizes":[]}`},
		{roleReader, "GET", "/admin/pools", ""},
		{roleReader, "GET", "/admin/pools/p", ""},
		{roleAdmin, "PATCH", "/admin/pools/p", `{"state":"open"}`},
		{roleAdmin, "DELETE", "/admin/pools/p", ""},
		{roleAdmin, "POST", "/admin/pools/p/copy", `{"id":"q","name":"Q","days":7}`},
		{roleAdmin, "POST", "/admin/pools/p/prizes", `{"id":"a","name":"A","stock":1}`},
		{roleAuditor, "GET", "/admin/pools/p/prizes", ""},
		{roleAdmin, "PATCH", "/admin/pools/p/prizes/a", `{"name":"A"}`},
		{roleStock, "POST", "/admin/pools/p/prizes/a/stock", `{"delta":1,"reason":"r"}`},
		{roleAdmin, "POST", "/admin/pools/p/prizes/a/codes", "AAAA-1111"},
		{roleReader, "GET", "/admin/pools/p/prizes/a/codes", ""},
		{roleAdmin, "DELETE", "/admin/pools/p/prizes/a/codes", ""},
		{roleStock, "POST", "/admin/pools/p/import", "prize,name,value,stock"},
		{roleReader, "GET", "/admin/pools/p/awards", ""},
		{roleReader, "GET", "/admin/pools/p/awards/7", ""},
		{roleFulfil, "POST", "/admin/pools/p/awards/7/code", ""},
		{roleFulfil, "POST", "/admin/pools/p/steps", `{"award":7,"to":"fulfilled"}`},
		{roleReader, "GET", "/admin/pools/p/steps", ""},
		{roleAuditor, "GET", "/admin/pools/p/moves", ""},
		{roleAuditor, "GET", "/admin/pools/p/log", ""},
		{roleAdmin, "PUT", "/admin/pools/p/rules", `{}`},
		{roleAdmin, "POST", "/admin/pools/p/rules", `{}`},
		{roleAuditor, "GET", "/admin/pools/p/rules", ""},
		{roleAdmin, "DELETE", "/admin/pools/p/rules", ""},
		{roleAdmin, "POST", "/admin/pools/p/commitment", `{}`},
		{roleAuditor, "GET", "/admin/pools/p/commitment", ""},
		{roleAdmin, "POST", "/admin/pools/p/skip", `{"to":9}`},
		{roleAdmin, "POST", "/admin/pools/p/reveal", ""},
		{roleAdmin, "POST", "/admin/pools/p/proof", ""},
		{roleAdmin, "PUT", "/admin/pools/p/proof/checkpoint", "the note\n"},
		{roleAdmin, "DELETE", "/admin/pools/p/users/u1", ""},
		{roleAuditor, "GET", "/admin/pools/p/odds", ""},
		{roleAuditor, "GET", "/admin/pools/p/simulation", ""},
		{roleAdmin, "POST", "/admin/pools/p/simulation", `{}`},
		{roleAuditor, "GET", "/admin/pools/p/audit", ""},
		{roleAuditor, "GET", "/admin/pools/p/statements", ""},
		{roleAdmin, "POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","state":"open"}`},
		{roleAdmin, "POST", "/admin/pools/p/agenda/import", "at,prize,delta,reason"},
		{roleAdmin, "POST", "/admin/pools/p/agenda/spread", `{"prize":"gold","units":1,"from":"2999-01-01T00:00:00Z","to":"2999-01-02T00:00:00Z","random":true}`},
		{roleAuditor, "GET", "/admin/pools/p/agenda", ""},
		{roleAuditor, "GET", "/admin/pools/p/agenda/sums", ""},
		{roleAdmin, "DELETE", "/admin/pools/p/agenda/7", ""},
		{roleAdmin, "DELETE", "/admin/pools/p/agenda/imports/7", ""},
		{roleAuditor, "GET", "/admin/jobs", ""},
		{roleAuditor, "GET", "/admin/jobs/j", ""},
		{roleAdmin, "PATCH", "/admin/jobs/j", `{"enabled":true}`},
		{roleAdmin, "POST", "/admin/jobs/j/run", ""},
		{roleAuditor, "GET", "/admin/jobs/j/runs", ""},
		{roleAdmin, "POST", "/admin/hooks", `{"url":"https://example.com/in"}`},
		{roleAuditor, "GET", "/admin/hooks", ""},
		{roleAuditor, "GET", "/admin/hooks/h", ""},
		{roleAdmin, "PATCH", "/admin/hooks/h", `{"state":"off"}`},
		{roleAdmin, "DELETE", "/admin/hooks/h", ""},
		{roleAdmin, "POST", "/admin/hooks/h/test", ""},
		{roleAdmin, "POST", "/admin/hooks/h/rotate", ""},
		{roleAdmin, "POST", "/admin/hooks/h/retry", ""},
		{roleAdmin, "POST", "/admin/hooks/h/skip", `{"pool":"p"}`},
		{roleAdmin, "POST", "/admin/hooks/h/replay", `{"pool":"p","after":7}`},
		{roleAdmin, "POST", "/admin/clock", `{"accept":true}`},
		{roleNone, "GET", "/problems/sold-out", ""},
		{roleNone, "GET", "/openapi.yaml", ""},
		{roleNone, "GET", "/openapi.json", ""},
		{roleNone, "GET", "/ui", ""},
		{roleNone, "GET", "/ui/app.js", ""},
		{roleNone, "GET", "/fair/p", ""},
		{roleNone, "GET", "/fair/-/fair.js", ""},
		{roleNone, "GET", "/fair/p/facts", ""},
		{roleNone, "GET", "/livez", ""},
		{roleNone, "GET", "/readyz", ""},
		{roleMetrics, "GET", "/metrics", ""},
	}
}

// target replaces the parameters of a route's path.
func target(path string) string {
	return strings.NewReplacer("/fair/-/:file", "/fair/-/fair.js", ":pool", "p", ":prize", "a", ":draw", "d", ":job", "j", ":hook", "h", ":item", "7", ":version", "7", ":user", "u1",
		":code", "sold-out", ":file", "app.js").Replace(path)
}

// TestListOfCallsIsWhole: the table of routes agrees with the list of calls and with
// gin's routes.
func TestListOfCallsIsWhole(t *testing.T) {
	s := newServer(t, &fake{})
	var table, registered, want []string
	for _, r := range s.routes() {
		table = append(table, string(r.role)+" "+r.method+" "+target(r.path))
		want = append(want, r.method+" "+r.path)
		if r.method == "GET" {
			want = append(want, "HEAD "+r.path)
		}
	}
	var listed []string
	for _, call := range calls() {
		listed = append(listed, string(call.need)+" "+call.method+" "+call.target)
	}
	require.Equal(t, listed, table, "a new call needs a line in calls")
	for _, r := range s.engine.Routes() {
		registered = append(registered, r.Method+" "+r.Path)
	}
	require.ElementsMatch(t, want, registered)
}

// TestHeadGoesWhereverGetDoes: HEAD gets the same status and headers as GET.
func TestHeadGoesWhereverGetDoes(t *testing.T) {
	server := httptest.NewServer(newServer(t, &fake{awards: manyAwards(3)}).Handler())
	defer server.Close()
	for _, call := range calls() {
		if call.method != "GET" {
			continue
		}
		for _, accept := range []string{"*/*", "text/csv, */*;q=0.5"} {
			answers := map[string]*nethttp.Response{}
			for _, method := range []string{"GET", "HEAD"} {
				r := asAdmin(method, server.URL+call.target, "", "Accept", accept)
				r.RequestURI = ""
				answer, err := nethttp.DefaultClient.Do(r)
				require.NoError(t, err)
				require.Equal(t, method == "GET", bodyOf(t, answer) != "", method+call.target)
				answers[method] = answer
			}
			get, head := answers["GET"], answers["HEAD"]
			require.Equal(t, 200, get.StatusCode, call.target)
			require.Equal(t, get.StatusCode, head.StatusCode, call.target)
			for _, name := range []string{"Content-Type", "Cache-Control", "X-Content-Type-Options"} {
				require.Equal(t, get.Header.Get(name), head.Header.Get(name), call.target)
			}
		}
	}
}

// TestEveryAnswerForbidsKeepingAndGuessing: successes, problems and answers to requests
// without a route forbid caching and the guessing of media types. The description, the
// admin page and pages of fairness contain nothing secret, so they may be cached.
func TestEveryAnswerForbidsKeepingAndGuessing(t *testing.T) {
	s := newServer(t, &fake{})
	check := func(r *nethttp.Request, about string) {
		h := do(s, r).Header()
		kept := "no-store"
		if strings.HasPrefix(about, "/openapi.") || strings.HasPrefix(about, "/ui") || strings.HasPrefix(about, "/fair/") {
			kept = "no-cache"
		}
		require.Equal(t, kept, h.Get("Cache-Control"), about)
		require.Equal(t, "nosniff", h.Get("X-Content-Type-Options"), about)
	}
	for _, call := range calls() {
		check(asAdmin(call.method, call.target, call.body), call.target)
		check(request(call.method, call.target, "not JSON", "Authorization", "Basic x"), call.target)
	}
	check(asAdmin("GET", "/admin/pools/p/awards", "", "Accept", "text/csv"), "CSV")
	check(request("GET", "/nothing", ""), "unknown path")
	check(request("DELETE", "/draw", ""), "unknown method")
}

// TestUnknownQueryParametersAreRejected runs over the table, so that a new route
// accepts only the parameters of its line.
func TestUnknownQueryParametersAreRejected(t *testing.T) {
	bodies := map[string]string{}
	for _, call := range calls() {
		bodies[call.method+call.target] = call.body
	}
	for _, r := range newServer(t, &fake{}).routes() {
		body := bodies[r.method+target(r.path)]
		for _, name := range append(r.query, "limt", "") {
			f := &fake{}
			value, headers := "1", []string{}
			switch {
			case name == "acts" || name == "archived":
				value = "true"
			case name == "after" && strings.HasSuffix(r.path, "/statements"):
				value = "2026-03-01"
			case name == "after" && r.path == feedPath:
				value = "now"
			case name == "accept":
				value = "fork"
			case name == "state" && r.path == "/admin/pools":
				value = "open"
			case name == "state":
				value = "won"
			case name == "wait":
				value = "1s"
			case name == "from":
				value = "2026-03-01T00:00:00Z"
			case name == "to":
				value = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
			case slices.Contains([]string{"dry_run", "open", "reserve", "skip", "win"}, name):
				value = "true"
			case name == "formulas":
				value, headers = "exact", []string{"Accept", "text/csv"}
			}
			switch {
			case name == "part":
				value = "due"
			case name == "kind":
				value = "state&part=due"
			case name == "at":
				value = "2999-01-01T00:00:00Z"
			case strings.HasSuffix(r.path, "/agenda") && slices.Contains([]string{"prize", "from", "to"}, name):
				value += "&part=due"
			}
			if strings.HasSuffix(r.path, "/import") {
				headers = []string{"Content-Type", "text/csv"}
			}
			if strings.HasSuffix(r.path, "/codes") && body != "" {
				headers = []string{"Content-Type", "text/plain"}
			}
			if strings.HasSuffix(r.path, "/steps") && name == "dry_run" {
				body, headers = "award,to\n7,fulfilled\n", []string{"Content-Type", "text/csv"}
			}
			s := newServer(t, f)
			if r.path == fairPath { // this page accepts parameters that other sites add to a link
				s = undescribed(s)
			}
			w := do(s, asAdmin(r.method, target(r.path)+"?"+name+"="+value, body, headers...))
			if slices.Contains(r.query, name) {
				require.Contains(t, []int{200, 201}, w.Code, r.path)
				continue
			}
			if r.path == fairPath {
				require.Equal(t, 200, w.Code)
				continue
			}
			p := problemIn(t, w.Result())
			require.Equal(t, "invalid-request", p.Code, r.path)
			require.Equal(t, `unknown query parameter "`+name+`"`, p.Detail, r.path)
			require.Equal(t, r.draws(), p.Outcome == "none", r.path)
			require.Nil(t, f.last(), r.path)
		}
	}
}

// addresses returns callers, each with a different address.
func addresses() func() string {
	n := 0
	return func() string { n++; return fmt.Sprintf("198.51.%d.%d:1000", n/250, n%250) }
}

func TestTokens(t *testing.T) {

	cases := []struct {
		name, header string
		draw, admin  string
	}{
		{"none", "", "unauthorized", "unauthorized"},
		{"admin", "Bearer " + adminToken, "", ""},
		{"scheme in another case", "bearer  " + adminToken, "", ""},
		{"draw", "Bearer " + drawToken, "", "forbidden"},
		{"wrong", "Bearer nonsense", "unauthorized", "unauthorized"},
		{"cut", "Bearer " + adminToken[:len(adminToken)-1], "unauthorized", "unauthorized"},
		{"longer", "Bearer " + adminToken + "x", "unauthorized", "unauthorized"},
		{"other case", "Bearer ADMIN-TOKEN-OF-THE-TESTS", "unauthorized", "unauthorized"},
		{"empty", "Bearer ", "unauthorized", "unauthorized"},
		{"no scheme", adminToken, "unauthorized", "unauthorized"},
		{"basic", "Basic " + adminToken, "unauthorized", "unauthorized"},
	}
	s, caller := newServer(t, &fake{}, withDrawToken), addresses()
	for _, tc := range cases {
		for _, call := range calls() {
			want := map[role]string{roleNone: "", roleDraw: tc.draw, roleMetrics: tc.admin, roleAdmin: tc.admin, roleReader: tc.admin, roleFeed: tc.admin, roleFulfil: tc.admin, roleAuditor: tc.admin, roleStock: tc.admin}[call.need]
			r := call.request()
			r.RemoteAddr = caller()
			if tc.header != "" {
				r.Header.Set("Authorization", tc.header)
			}
			answer := do(s, r).Result()
			about := tc.name + ": " + call.method + " " + call.target
			if want == "" {
				require.Less(t, answer.StatusCode, 300, about)
				continue
			}
			require.Equal(t, want, problemIn(t, answer).Code, about)
			require.Equal(t, want == "unauthorized", answer.Header.Get("WWW-Authenticate") != "", about)
		}
	}
}

func TestTwoAuthorizationHeadersAreRefused(t *testing.T) {
	r := asAdmin("GET", "/admin/pools", "")
	r.Header.Add("Authorization", "Bearer "+adminToken)
	require.Equal(t, "unauthorized", problemIn(t, do(newServer(t, &fake{}), r).Result()).Code)
}

func TestPublicDrawOpensDrawing(t *testing.T) {
	s, caller := newServer(t, &fake{}), addresses()
	for _, call := range calls() {
		for _, token := range []string{"", "Bearer nonsense", "Bearer "} {
			r := call.request()
			r.RemoteAddr = caller()
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			status := do(s, r).Code
			require.Equal(t, call.need != roleDraw && call.need != roleNone, status == 401, "%s %s", call.method, call.target)
		}
	}
}

// TestEmptyTokenMatchesNobody: a header without a bearer token counts as no token, even
// if a token has the digest of the empty text. The last case shows that such a digest
// would be found.
func TestEmptyTokenMatchesNobody(t *testing.T) {
	ofNothing := access.Token{Name: "slip", Role: access.Admin, Digest: access.DigestOf("")}
	s := newServer(t, &fake{}, func(c *Config) { c.Tokens = keep(ofNothing) })
	for _, header := range []string{"", "Bearer", "Bearer ", "bearer   ", "Basic dTpw", "x", "Digest a"} {
		r := request("GET", "/admin/pools", "", "Authorization", header)
		require.Equal(t, 401, do(s, r).Code, "%q", header)
		require.Zero(t, testutil.ToFloat64(s.metrics.refused.WithLabelValues("wrong")), "nothing was guessed")
	}
	_, found := s.Tokens.Set().Find(access.DigestOf(""))
	require.True(t, found)
}

func TestTokensAreCheckedBeforeTheBody(t *testing.T) {
	r := request("POST", "/draw", "not JSON", "Authorization", "Bearer nonsense")
	require.Equal(t, "unauthorized", problemIn(t, do(newServer(t, &fake{}, withDrawToken), r).Result()).Code)
}
