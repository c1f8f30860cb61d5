package http

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	nethttp "net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/http/conns"
	"drawsvc/internal/http/gate"
)

// tokenOf returns a token for tests: its text is its name and role.
func tokenOf(name string, r access.Role) access.Token {
	return access.Token{Name: name, Role: r, Digest: access.DigestOf(name + "-" + string(r))}
}

func withTokens(tokens ...access.Token) setup {
	return func(c *Config) { c.Tokens, c.PublicDraw = keep(append(tokens, adminEntry())...), false }
}

// mayCall reports whether a role may make a call.
func mayCall(has access.Role, e example) bool {
	switch has {
	case access.Admin:
		return true
	case access.Reader, access.FeedReader: // calls require these roles, but no token has them
	case access.Draw:
		return e.need == roleDraw
	case access.Metrics:
		return e.target == "/metrics"
	case access.Auditor:
		return strings.HasPrefix(e.target, "/admin/") && e.method == "GET" || e.target == "/metrics"
	case access.Fulfil:
		return e.need == roleFulfil || e.need == roleReader || e.need == roleFeed
	case access.Stock:
		return strings.HasPrefix(e.target, "/admin/") && e.method == "GET" && e.target != feedPath || strings.HasSuffix(e.target, "/stock") || e.target == "/admin/pools/p/import"
	}
	return false
}

// TestRoles: each role may make exactly the calls of mayCall.
func TestRoles(t *testing.T) {
	for _, has := range access.Roles() {
		f := &fake{}
		s := newServer(t, f, withTokens(tokenOf("x", has), tokenOf("shop", access.Draw)))
		for _, e := range calls() {
			if e.need == roleNone {
				continue
			}
			f.asked = nil
			answer := do(s, e.request("Authorization", "Bearer x-"+string(has))).Result()
			about := string(has) + ": " + e.method + " " + e.target
			if mayCall(has, e) {
				require.Less(t, answer.StatusCode, 300, about)
				continue
			}
			require.Equal(t, "forbidden", problemIn(t, answer).Code, about)
			require.Nil(t, f.last(), about)
		}
	}
}

// TestActor: the actor of a change is the name of the token.
func TestActor(t *testing.T) {
	f := &fake{}
	s := newServer(t, f, withTokens(tokenOf("night-shift", access.Admin)))
	require.Equal(t, 200, do(s, request("PATCH", "/admin/jobs/j", `{"enabled":true}`, "Authorization", "Bearer night-shift-admin")).Code)
	about, err := json.Marshal(f.asked)
	require.NoError(t, err)
	require.Contains(t, string(about), "night-shift")
}

func TestExpiredToken(t *testing.T) {
	token := tokenOf("old", access.Admin)
	token.Until = at
	s := newServer(t, &fake{}, withTokens(token))
	ask := func() int {
		return do(s, request("GET", "/admin/pools", "", "Authorization", "Bearer old-admin")).Code
	}
	s.gate.Now = func() time.Time { return at.Add(-time.Nanosecond) }
	require.Equal(t, 200, ask())
	s.gate.Now = func() time.Time { return at }
	for range 3 * gate.Burst {
		require.Equal(t, 401, ask(), "expired is no guess")
	}
	require.Equal(t, float64(3*gate.Burst), testutil.ToFloat64(s.metrics.refused.WithLabelValues("expired")))
}

// judgeGuesses returns an error if a right token is refused while wrong tokens are sent.
func judgeGuesses(s *Server) error {
	ask := func(from, token string) int {
		r := request("POST", "/draw", `{"pool":"p","user":"u"}`, "Authorization", "Bearer "+token)
		r.RemoteAddr = net.JoinHostPort(from, "4711")
		return do(s, r).Code
	}
	for range 2 * gate.Burst {
		for _, from := range []string{"192.0.2.1", "2001:ffff::1"} {
			ask(from, "wrong")
		}
	}
	for i := range gate.MaxGuessers { // more addresses than are counted individually
		ask(netip.AddrFrom16([16]byte{0x20, 1, byte(i >> 8), byte(i)}).String(), "wrong")
	}
	for _, from := range []string{"192.0.2.1", "2001:ffff::1", "192.0.2.2"} {
		for _, token := range []string{adminToken, drawToken} { // neither token was sent from there before
			if status := ask(from, token); status != 200 {
				return fmt.Errorf("a right token from %s is answered %d", from, status)
			}
		}
	}
	return nil
}

// TestRightTokensAreNeverRefused: guesses of other callers do not affect a right token.
// The broken double refuses everything from an address after too many guesses.
func TestRightTokensAreNeverRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, withDrawToken)
	require.NoError(t, judgeGuesses(s))

	double, right := newServer(t, &fake{}, withDrawToken), newServer(t, &fake{}, withDrawToken)
	guesses, tooMany := gate.NewGuesses(), map[netip.Addr]bool{}
	double.handler = nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		from := conns.AddressOf(r.RemoteAddr)
		if tooMany[conns.CallerOf(from)] {
			w.WriteHeader(nethttp.StatusTooManyRequests)
			return
		}
		if r.Header.Get("Authorization") == "Bearer wrong" {
			tooMany[conns.CallerOf(from)] = guesses.Wrong(from, at)
		}
		right.Handler().ServeHTTP(w, r)
	})
	require.ErrorContains(t, judgeGuesses(double), "is answered 429")
}

// TestGuesses: after too many wrong tokens, an address gets 429, and nothing changes
// elsewhere.
func TestGuesses(t *testing.T) {
	s := newServer(t, &fake{}, withDrawToken)
	now := at
	s.gate.Now = func() time.Time { return now }
	ask := func(from, token string) int {
		r := request("POST", "/draw", `{"pool":"p","user":"u"}`, "Authorization", "Bearer "+token)
		r.RemoteAddr = net.JoinHostPort(from, "4711")
		return do(s, r).Code
	}
	for range gate.Burst {
		require.Equal(t, 401, ask("192.0.2.1", "wrong"))
	}
	require.Equal(t, 429, ask("192.0.2.1", "wrong"))
	require.Equal(t, 200, ask("192.0.2.1", adminToken))
	require.Equal(t, 401, ask("192.0.2.2", "wrong"), "another address")
	require.Equal(t, 401, do(s, request("GET", "/admin/pools", "")).Code, "no token is no guess")
	r := request("GET", "/admin/pools", "", "Authorization", "Bearer wrong")
	p := problemIn(t, do(s, r).Result())
	require.Equal(t, "too-many-guesses", p.Code, "httptest's callers come from 192.0.2.1")

	now = now.Add(gate.Every)
	require.Equal(t, 401, ask("192.0.2.1", "wrong"))
	require.Equal(t, 429, ask("192.0.2.1", "wrong"))
	now = now.Add(gate.Burst * gate.Every)
	for range gate.Burst {
		require.Equal(t, 401, ask("192.0.2.1", "wrong"))
	}

	for i := range gate.Burst { // one caller, many addresses of its network
		require.Equal(t, 401, ask(netip.AddrFrom16([16]byte{0x20, 1, 15: byte(i)}).String(), "wrong"))
	}
	require.Equal(t, 429, ask("2001::99", "wrong"))
	require.Equal(t, 401, ask("2001:1::99", "wrong"))
	require.Positive(t, testutil.ToFloat64(s.metrics.refused.WithLabelValues("wrong")))
}

// TestNothingButTheOperatorOpensCalls: neither a Host nor a missing header of a proxy
// allows a caller without a token to draw or to read metrics. The control is a service
// whose operator opened draws.
func TestNothingButTheOperatorOpensCalls(t *testing.T) {
	closed := newServer(t, &fake{}, func(c *Config) { c.PublicDraw = false })
	open := newServer(t, &fake{})
	for _, host := range []string{"localhost", "127.0.0.1:8080", "[::1]", "draws.example.org"} {
		for _, e := range calls() {
			if e.need == roleNone {
				continue
			}
			r := func() *nethttp.Request { return request(e.method, "http://"+host+e.target, e.body) }
			require.Equal(t, 401, do(closed, r()).Code, host+e.target)
			require.Equal(t, e.need != roleDraw, do(open, r()).Code == 401, host+e.target)
		}
	}
}

// TestDemoRefusesPagesOfOtherSites: in a demo anyone may draw, except a page that
// pointed its own name at this machine, or that calls across sites. The control is a
// service that is open to all sites.
func TestDemoRefusesPagesOfOtherSites(t *testing.T) {
	demo := newServer(t, &fake{}, func(c *Config) { c.PublicDraw, c.DemoDraw, c.AllowedHosts = false, true, []string{"draws.local"} })
	public := newServer(t, &fake{})
	const body = `{"pool":"p","user":"u"}`
	ask := func(s *Server, host string, headers ...string) int {
		r := request("POST", "/draw", body, headers...)
		r.Host = host
		return do(s, r).Code
	}
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:8080": 200, "localhost.": 200, "127.0.0.1:8080": 200, "127.9.9.9": 200, "[::1]:8080": 200, "[::1]": 200,
		"draws.local": 200, "Draws.Local:80": 200, "evil.example": 403, "127.0.0.1.evil.example": 403, "192.0.2.1": 403, "": 403,
		"localhost.evil.example": 403, "localhost:1:2": 403,
	} {
		require.Equal(t, want, ask(demo, host), host)
		require.Equal(t, 200, ask(public, host), host)
	}
	for _, headers := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "http://evil.example"}, {"Origin", "null"},
		{"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:8080"},
	} {
		require.Equal(t, 403, ask(demo, "localhost:8080", headers...), headers)
		require.Equal(t, 200, ask(public, "localhost:8080", headers...), headers)
		require.Equal(t, 200, ask(demo, "localhost:8080", append(headers, "Authorization", "Bearer "+adminToken)...), "a token opens it")
	}
	require.Equal(t, 200, ask(demo, "localhost:8080", "Origin", "http://localhost:8080", "Sec-Fetch-Site", "same-origin"))
	require.Equal(t, 401, do(demo, request("GET", "http://localhost/metrics", "")).Code)
	require.Equal(t, 200, do(demo, request("GET", "http://evil.example/livez", "")).Code)
}

// TestFulfilReadsOnlyNamesOfPools: the role fulfil gets exactly id, name and state of
// pools, and no tag, because the tag is the revision; rules, agenda, changes and
// commitments are refused. The controls are the answers to an auditor.
func TestFulfilReadsOnlyNamesOfPools(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, withTokens(tokenOf("depot", access.Fulfil), tokenOf("eye", access.Auditor)))
	ask := func(path, token string) *nethttp.Response {
		return do(s, request("GET", path, "", "Authorization", "Bearer "+token)).Result()
	}
	judge := func(answer *nethttp.Response, isList bool) error {
		var page struct {
			Pools []map[string]any `json:"pools"`
		}
		pool := map[string]any{}
		var into any = &pool
		if isList {
			into = &page
		}
		if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
			return err
		}
		if len(page.Pools) > 0 {
			pool = page.Pools[0]
		}
		if members := slices.Sorted(maps.Keys(pool)); !slices.Equal(members, []string{"id", "name", "state"}) || answer.Header.Get("ETag") != "" {
			return fmt.Errorf("it reads %v, tag %q", members, answer.Header.Get("ETag"))
		}
		return nil
	}
	for path, isList := range map[string]bool{"/admin/pools": true, "/admin/pools/p": false} {
		require.NoError(t, judge(ask(path, "depot-fulfil"), isList), path)
		require.ErrorContains(t, judge(ask(path, "eye-auditor"), isList), "it reads", path)
	}
	for _, path := range []string{"rules", "agenda", "log", "moves", "commitment", "odds", "statements", "audit"} {
		require.Equal(t, "forbidden", problemIn(t, ask("/admin/pools/p/"+path, "depot-fulfil")).Code, path)
	}
}
