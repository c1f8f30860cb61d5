package floods

import (
	"slices"
	"strings"
)

// Call is a call, and the lowest role that may make it. The body is CSV for an import.
type Call struct{ Role, Method, Path, Accept, Body string }

// String is what the call is named in results.
func (c *Call) String() string {
	name := c.Method + " " + c.Path
	if c.Accept != "" {
		name += " as " + c.Accept
	}
	return name
}

// Roles are the roles in the order of their rights.
func Roles() []string { return []string{"none", "draw", "metrics", "auditor", "stock", "admin"} }

// The pools of the calls: many prizes, few prizes, and one whose seed is revealed.
const (
	poolMany     = "spring"
	poolFew      = "summer"
	poolRevealed = "revealed"
)

// badLine is one of many of an import that is refused for them.
const badLine = "x\n"

// Calls are calls that read or change much. Those that roles above may make too are
// there once.
func Calls() []Call {
	const admin, move = "/admin/pools/" + poolMany, `{"delta":1,"reason":"delivery"}`
	return []Call{
		{"none", "GET", "/ui", "", ""},
		{"none", "GET", "/openapi.json", "", ""},
		{"none", "GET", "/readyz", "", ""},
		{"none", "GET", "/problems/sold-out", "", ""},
		{"draw", "POST", "/draw", "", `{"pool":"` + poolMany + `","user":"flood"}`},
		{"draw", "GET", "/pools/" + poolMany, "", ""},
		{"draw", "GET", "/pools/" + poolMany + "/odds", "", ""},
		{"draw", "GET", "/pools/" + poolMany + "/draws/known", "", ""},
		{"draw", "GET", "/pools/" + poolMany + "/users/u/awards?limit=1000", "", ""},
		{"draw", "GET", "/pools/" + poolRevealed + "/proof/log", "", ""},
		{"draw", "GET", "/pools/" + poolRevealed + "/draws/known/receipt", "", ""},
		{"metrics", "GET", "/metrics", "", ""},
		{"auditor", "GET", admin, "", ""},
		{"auditor", "GET", "/admin/pools", "", ""},
		{"auditor", "GET", admin + "/audit", "", ""},
		{"auditor", "GET", admin + "/awards", "text/csv", ""},
		{"auditor", "GET", admin + "/log", "application/x-ndjson", ""},
		{"auditor", "GET", admin + "/simulation?draws=20000", "", ""},
		{"stock", "POST", admin + "/prizes/p1/stock", "", move},
		{"stock", "POST", admin + "/import?dry_run=true", "", "prize,name,value,stock\n" + strings.Repeat(badLine, 1<<18)},
		{"stock", "POST", admin + "/import", "", "prize,name,value,stock\np1,,,1\n"},
		{"admin", "PATCH", admin, "", `{"name":"Spring"}`},
		{"admin", "PATCH", "/admin/pools/" + poolFew, "", `{"state":"open"}`},
		{"admin", "POST", "/admin/pools/" + poolRevealed + "/proof", "", ""},
	}
}

// allows reports whether a role may make a call.
func (c *Call) allows(role string) bool {
	below := map[string]string{"draw": "none", "metrics": "none", "auditor": "none metrics", "stock": "none auditor"}
	return c.Role == role || role == "admin" || slices.Contains(strings.Fields(below[role]), c.Role)
}

// callsAbove are the calls of the roles above one that must be answered well.
func callsAbove(role string) []Call {
	place := slices.Index(Roles(), role)
	if role == "draw" { // metrics is of the same rank
		place++
	}
	return slices.DeleteFunc(Calls(), func(c Call) bool {
		return slices.Index(Roles(), c.Role) <= place || strings.HasSuffix(c.Body, badLine)
	})
}

// probes are what balancers ask.
func probes() []Call {
	return []Call{{"none", "GET", "/livez", "", ""}, {"none", "GET", "/readyz", "", ""}}
}

// honestDraw is a draw of a user who floods nothing.
func honestDraw() Call {
	return Call{"draw", "POST", "/draw", "", `{"pool":"` + poolMany + `","user":"honest"}`}
}
