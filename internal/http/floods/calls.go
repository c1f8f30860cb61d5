package floods

import (
	"slices"
	"strings"

	"drawsvc/internal/access"
	"drawsvc/internal/http/gate"
)

// Call is a call, and the role that it needs. The body is CSV for an import.
type Call struct{ Role, Method, Path, Accept, Body string }

// String returns the call's name in results.
func (c *Call) String() string {
	name := c.Method + " " + c.Path
	if c.Accept != "" {
		name += " as " + c.Accept
	}
	return name
}

// Roles returns the roles in the order of their rights. Roles of the same rank are
// adjacent.
func Roles() []string {
	return []string{"none", "draw", "metrics", "auditor", "fulfil", "stock", "admin"}
}

// The pools of the calls: one with many prizes, one with few prizes, and one whose seed
// is revealed.
const (
	poolMany     = "spring"
	poolFew      = "summer"
	poolRevealed = "revealed"
)

// badLine is a line that makes the service refuse an import; the file has many such
// lines.
const badLine = "x\n"

// Calls returns calls that read or change much. A call that several roles may make is in
// the list once.
func Calls() []Call {
	const admin, move = "/admin/pools/" + poolMany, `{"delta":1,"reason":"delivery"}`
	return []Call{
		{"none", "GET", "/ui", "", ""},
		{"none", "GET", "/openapi.json", "", ""},
		{"none", "GET", "/fair/" + poolMany + "/facts", "", ""},
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
		{string(access.Reader), "GET", "/admin/pools", "", ""},
		{string(access.FeedReader), "GET", "/admin/awards?limit=1000", "", ""},
		{string(access.Reader), "GET", admin + "/steps?limit=1000", "", ""},
		{"auditor", "GET", "/admin/hooks", "", ""},
		{"auditor", "GET", admin + "/audit", "", ""},
		{string(access.Reader), "GET", admin + "/awards", "text/csv", ""},
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
	return c.Role == Roles()[0] || slices.Contains(gate.Allowed()[access.Role(role)], access.Role(c.Role))
}

// maker returns the lowest role that may make a call.
func (c *Call) maker() string {
	return Roles()[slices.IndexFunc(Roles(), c.allows)]
}

// callsAbove returns the calls of the higher ranks, which must succeed.
func callsAbove(role string) []Call {
	isAbove := func(c *Call) bool {
		of, by := c.maker(), role
		return slices.Index(Roles(), of) > slices.Index(Roles(), by) && (by == Roles()[0] || gate.RankOf(access.Role(of)) > gate.RankOf(access.Role(by)))
	}
	return slices.DeleteFunc(Calls(), func(c Call) bool { return !isAbove(&c) || strings.HasSuffix(c.Body, badLine) })
}

// probes returns the calls of balancers.
func probes() []Call {
	return []Call{{"none", "GET", "/livez", "", ""}, {"none", "GET", "/readyz", "", ""}}
}

// honestDraw returns a draw of a user outside the flood.
func honestDraw() Call {
	return Call{"draw", "POST", "/draw", "", `{"pool":"` + poolMany + `","user":"honest"}`}
}
