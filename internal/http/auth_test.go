package http

import (
	"testing"

	"github.com/stretchr/testify/require"
)

type call struct{ need, method, target, body string }

// calls lists all calls, each with a body that it takes and the token that it
// needs.
func calls() []call {
	return []call{
		{"draw", "POST", "/draw", `{"pool":"p","user":"u"}`},
		{"draw", "GET", "/pools/p", ""},
		{"draw", "GET", "/pools/p/draws/d", ""},
		{"admin", "POST", "/admin/pools", `{"id":"p","name":"P","prizes":[]}`},
		{"admin", "GET", "/admin/pools", ""},
		{"admin", "GET", "/admin/pools/p", ""},
		{"admin", "PATCH", "/admin/pools/p", `{"state":"open"}`},
		{"admin", "POST", "/admin/pools/p/prizes", `{"id":"a","name":"A","stock":1}`},
		{"admin", "POST", "/admin/pools/p/prizes/a/stock", `{"delta":1,"reason":"r"}`},
		{"admin", "GET", "/admin/pools/p/awards", ""},
		{"admin", "GET", "/admin/pools/p/moves", ""},
		{"admin", "GET", "/admin/pools/p/audit", ""},
		{"admin", "GET", "/metrics", ""},
		{"none", "GET", "/livez", ""},
		{"none", "HEAD", "/livez", ""},
		{"none", "GET", "/readyz", ""},
		{"none", "HEAD", "/readyz", ""},
	}
}

func TestListOfCallsIsWhole(t *testing.T) {
	require.Len(t, newServer(t, &fake{}).engine.Routes(), len(calls()), "a new call needs a line in calls")
}

func TestTokens(t *testing.T) {
	// what each Authorization header is answered, by the token that a call needs
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
	s := newServer(t, &fake{}, withDrawToken)
	for _, tc := range cases {
		for _, call := range calls() {
			want := map[string]string{"none": "", "draw": tc.draw, "admin": tc.admin}[call.need]
			r := request(call.method, call.target, call.body)
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

func TestTwoTokensAreNone(t *testing.T) {
	r := asAdmin("GET", "/admin/pools", "")
	r.Header.Add("Authorization", "Bearer "+adminToken)
	require.Equal(t, "unauthorized", problemIn(t, do(newServer(t, &fake{}), r).Result()).Code)
}

func TestWithoutDrawTokenDrawingIsOpen(t *testing.T) {
	s := newServer(t, &fake{})
	for _, call := range calls() {
		for _, token := range []string{"", "Bearer nonsense", "Bearer "} {
			r := request(call.method, call.target, call.body)
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			status := do(s, r).Code
			require.Equal(t, call.need == "admin", status == 401, "%s %s", call.method, call.target)
		}
	}
}

func TestOpenMetrics(t *testing.T) {
	s := newServer(t, &fake{}, func(c *Config) { c.OpenMetrics = true })
	require.Equal(t, 200, do(s, request("GET", "/metrics", "")).Code)
}

func TestTokensAreCheckedBeforeTheBody(t *testing.T) {
	r := request("POST", "/draw", "not JSON", "Authorization", "Bearer nonsense")
	require.Equal(t, "unauthorized", problemIn(t, do(newServer(t, &fake{}, withDrawToken), r).Result()).Code)
}

func TestConfigThatCannotWork(t *testing.T) {
	good := newServer(t, &fake{}).Config
	for name, spoil := range map[string]setup{
		"no drawer":      func(c *Config) { c.Drawer = nil },
		"no history":     func(c *Config) { c.History = nil },
		"no ready":       func(c *Config) { c.Ready = nil },
		"no log":         func(c *Config) { c.Log = nil },
		"no admin token": func(c *Config) { c.AdminToken = "" },
		"same tokens":    func(c *Config) { c.DrawToken = c.AdminToken },
		"no time":        func(c *Config) { c.RequestTimeout = 0 },
		"metrics twice":  func(*Config) {}, // good's registry has them already
	} {
		bad := good
		spoil(&bad)
		_, err := New(bad)
		require.Error(t, err, name)
		require.NotContains(t, err.Error(), adminToken, name)
	}
}
