package http

import (
	"context"
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"drawsvc/internal/access"
	"drawsvc/internal/catalogue"
	"drawsvc/internal/draw"
	"drawsvc/internal/http/contract"
	"drawsvc/internal/http/problem"
)

// differ returns how two lists of names differ.
func differ(what string, described, real []string) error {
	slices.Sort(described)
	slices.Sort(real)
	if slices.Equal(described, real) {
		return nil
	}
	return fmt.Errorf("%s: described %v, in the code %v", what, described, real)
}

// compare checks a description against the tables of routes and of problems.
func compare(c *contract.Contract, table []route, codes map[draw.Code]problem.Problem) error {
	var wrong error
	note := func(err error) { wrong = errors.Join(wrong, err) }
	byName := map[string]route{}
	for _, r := range table {
		parts := strings.Split(r.path, "/")
		for i, part := range parts {
			if name, isParam := strings.CutPrefix(part, ":"); isParam {
				parts[i] = "{" + name + "}"
			}
		}
		byName[r.method+" "+strings.Join(parts, "/")] = r
	}
	var described []string
	for _, o := range c.Operations {
		described = append(described, o.String())
		if r, known := byName[o.String()]; known {
			note(compareOne(o, r, codes))
		}
	}
	note(differ("routes", described, slices.Collect(maps.Keys(byName))))
	var listed, known []string
	for _, code := range c.Doc.Components.Schemas["Code"].Value.Enum {
		listed = append(listed, fmt.Sprint(code))
	}
	for code := range codes {
		known = append(known, string(code))
	}
	note(differ("codes", listed, known))
	return wrong
}

// compareOne checks an operation against its route: parameters, role, and the statuses
// that follow from the route.
func compareOne(o *contract.Operation, r route, codes map[draw.Code]problem.Problem) error {
	wrong := errors.Join(
		differ(o.String()+": query", slices.Collect(maps.Keys(o.Params("query"))), slices.Clone(r.query)),
		differ(o.String()+": path", slices.Collect(maps.Keys(o.Params("path"))), pathParams(r.path)),
		differ(o.String()+": role", rolesOf(o), roles(r.role)))
	if len(r.answers) > 0 {
		wrong = errors.Join(wrong, differ(o.String()+": answers", answersOf(o), slices.Clone(r.answers)))
	}
	var statuses, want []string
	for status, response := range o.Responses.Map() {
		if status[0] == '2' || status == "409" { // these do not follow from the route
			continue
		}
		statuses = append(statuses, status)
		for _, code := range o.Codes(status) {
			if p := codes[draw.Code(code)]; strconv.Itoa(p.Status) != status {
				wrong = errors.Join(wrong, fmt.Errorf("%s: %s is no code of %s", o, code, status))
			}
		}
		if response.Value.Content.Get("application/problem+json") != nil && len(o.Codes(status)) == 0 {
			wrong = errors.Join(wrong, fmt.Errorf("%s %s: no x-problem-codes", o, status))
		}
	}
	when := func(is bool, expected ...string) {
		if is {
			want = append(want, expected...)
		}
	}
	headers := o.Params("header")
	when(true, "400", "500")
	when(len(r.answers) > 0, "406")
	when(r.role != roleNone, "401", "403", "429", "503")
	when(r.path == "/readyz" || strings.HasPrefix(r.path, "/fair/:pool"), "503")
	when(strings.Contains(r.path, ":") || r.draws(), "404")
	when(o.RequestBody != nil, "408", "413", "415")
	when(r.method != nethttp.MethodGet, "504")
	when(headers[keyHeader] != nil, "422")
	when(headers["If-Match"] != nil || r.path == stepsPath && r.method == nethttp.MethodPost, "412") // steps have the member from, which works like If-Match
	when(headers["If-None-Match"] != nil, "304")
	return errors.Join(wrong, differ(o.String()+": statuses", statuses, want))
}

func pathParams(path string) (names []string) {
	for part := range strings.SplitSeq(path, "/") {
		if name, isParam := strings.CutPrefix(part, ":"); isParam {
			names = append(names, name)
		}
	}
	return names
}

// roles returns the security of a call as it is described: the minimum role, and "none"
// if it may be open.
func roles(need role) []string {
	switch need {
	case roleNone:
		return nil
	case roleDraw, roleMetrics:
		return []string{string(need), "none"}
	case roleFeed:
		return []string{string(roleAdmin), string(roleAuditor), string(roleFulfil)}
	case roleReader:
		return []string{string(roleAuditor), string(roleFulfil)}
	default:
		return []string{string(need)}
	}
}

// answersOf returns the media types of the answers that are not problems.
func answersOf(o *contract.Operation) (types []string) {
	for status, response := range o.Responses.Map() {
		if status[0] == '2' {
			types = slices.AppendSeq(types, maps.Keys(response.Value.Content))
		}
	}
	slices.Sort(types)
	return slices.Compact(types)
}

func rolesOf(o *contract.Operation) (found []string) {
	for _, requirement := range *o.Security {
		if len(requirement) == 0 {
			found = append(found, "none")
		}
		found = append(found, requirement["token"]...)
	}
	return found
}

// TestDescriptionIsWhole: description and table have the same routes, roles,
// parameters, statuses and codes.
func TestDescriptionIsWhole(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	require.NoError(t, compare(c, newServer(t, &fake{}).routes(), problem.Table()))
}

// full makes answers show members that they rarely have.
func full(c *Config) {
	c.Catalogue = func() map[string]catalogue.Item {
		said := catalogue.Item{Name: "N", Description: "D", Image: "https://x/i", Link: "https://x/l"}
		return map[string]catalogue.Item{"gold": said, "pin": said}
	}
	c.Store = violated{c.Store}
	c.Tickets = anyTicket{}
	c.Store = redirectedLog{c.Store}
	c.Store = moneyed{c.Store}
	campaigned(c)
}

// redirectedLog is a history whose awards differ from the drawn units.
type redirectedLog struct{ Store }

func (l redirectedLog) Log(ctx context.Context, poolID string, after int64, limit int) ([]draw.Entry, error) {
	all, err := l.Store.Log(ctx, poolID, after, limit)
	for _, e := range all {
		if e.Award != nil {
			e.Award.Redirect = &draw.Redirect{Drawn: "gold", Why: draw.WhyLimit}
		}
	}
	return all, err
}

// moneyed is a store whose pools have a currency, a used-up budget, and all display
// texts.
type moneyed struct{ Store }

func (m moneyed) Pool(ctx context.Context, id string) (draw.Pool, error) {
	p, err := m.Store.Pool(ctx, id)
	p.Currency, p.Text, p.IsFair, p.Committed = "EUR", "Each day a coin.", true, 3
	for i := range p.Prizes {
		p.Prizes[i].Display = &draw.Display{Name: "Coin", Text: "T", Picture: "https://x/p", Link: "https://x/d"}
	}
	return p, err
}

func (m moneyed) Money(ctx context.Context, p *draw.Pool) (draw.Money, error) {
	budget := &draw.BudgetStanding{Budget: draw.Budget{Max: 5000}, Spent: 5000, ResetsAt: at}
	money := draw.Money{Budget: budget, Nothing: &draw.Nothing{Why: draw.WithheldBudget, Since: at, Until: at}}
	_, err := m.Store.Money(ctx, p)
	return money, err
}

func redirected(all []draw.Award, err error) ([]draw.Award, error) {
	for i := range all {
		all[i].Redirect = &draw.Redirect{Drawn: "gold", Why: draw.WhyLimit}
	}
	return all, err
}

func (l redirectedLog) Awards(ctx context.Context, poolID string, after int64, limit int) ([]draw.Award, error) {
	return redirected(l.Store.Awards(ctx, poolID, after, limit))
}

func (l redirectedLog) UserAwards(ctx context.Context, poolID, userID string, after int64, limit int) ([]draw.Award, error) {
	return redirected(l.Store.UserAwards(ctx, poolID, userID, after, limit))
}

// anyTicket takes every ticket for the draw of the examples.
type anyTicket struct{}

func (anyTicket) AreTaken() bool { return true }

func (anyTicket) Read(string) (draw.Request, error) {
	return draw.Request{PoolID: "spring", UserID: "u1", DrawID: "order", Named: true, Count: 1, TicketUntil: at}, nil
}

// violated is a store whose audit finds a violation.
type violated struct{ Store }

func (v violated) Audit(ctx context.Context, poolID string) (draw.Audit, error) {
	a, err := v.Store.Audit(ctx, poolID)
	a.Violations = []draw.Violation{{Rule: "over-issued", Detail: "because"}}
	return a, err
}

// exercise makes calls that show each member of each answer.
func exercise(t *testing.T, c *contract.Contract) (seen map[string]bool, wrong error) {
	f := &fake{awards: manyAwards(3), seedsAway: true, rulesUnreadable: true, codesAway: true}
	seen = map[string]bool{}
	s := newServer(t, f, full, withTokens(tokenOf("eve", access.Auditor)))
	s.Tokens.Set().Unread = []string{"an entry of a later release"}
	j := contract.NewJudge(s.engine, noted(c, seen), func(err error) { wrong = errors.Join(wrong, err) })
	ask := func(r *nethttp.Request) {
		r.Header.Set("Authorization", "Bearer "+adminToken)
		j.ServeHTTP(httptest.NewRecorder(), r)
	}
	for _, e := range calls() {
		ask(e.request())
	}
	campaign := "/admin/pools/p/simulation?draws=10&from=" + at.UTC().Format("2006-01-02T15:04:05Z") + "&to=" + at.UTC().AddDate(0, 0, 1).Format("2006-01-02T15:04:05Z")
	for _, target := range []string{"/admin/pools/p/agenda", "/admin/pools/p/agenda/sums", campaign} {
		j.ServeHTTP(httptest.NewRecorder(), request("GET", target, "", "Authorization", "Bearer eve-auditor"))
	}
	ask(request("GET", campaign, ""))
	ask(importCall(importPath+"?dry_run=true", "x"))
	ask(request("POST", "/draw", `{"pool":"p","user":"u","count":2}`, "Idempotency-Key", "k"))
	ask(request("POST", "/draw", `{"pool":"p","user":"u","receipt":true}`))
	ask(request("POST", "/draw", `{"pool":"p","user":"u","receipt":true}`, "Idempotency-Key", together))
	ask(request("GET", "/pools/p/draws/covered/receipt", ""))
	ask(request("POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","prize":"gold","delta":1,"reason":"r"}`))
	ask(request("POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","rules":{"fallback":"none"}}`))
	ask(request("POST", "/admin/pools/p/agenda", `{"at":"2999-01-01T00:00:00Z","moment":"gold"}`))
	ask(request("POST", "/admin/pools/p/agenda/import?dry_run=true", "x", "Content-Type", "text/csv"))
	ask(request("POST", "/admin/pools/p/agenda/spread", `{"prize":"gold","units":1,"from":"2999-01-01T00:00:00Z","to":"2999-01-02T00:00:00Z","random":true,"moment":true}`))
	ask(request("POST", "/admin/pools/p/prizes", `{"id":"a","name":"A","stock":1,"value":null}`))
	ask(request("POST", "/admin/pools/p/prizes", `{"id":"a","name":"A","codes":true}`))
	ask(request("POST", codesCall+"?dry_run=true", "AAAA-1111", "Content-Type", "text/plain"))
	ask(request("GET", "/pools/p/draws/fulfilled", ""))
	ask(request("GET", "/admin/pools/p/awards?state=claimed", ""))
	ask(request("POST", "/admin/pools/p/steps", "award,to\n7,fulfilled\n", "Content-Type", "text/csv"))
	f.drawn = codedDraw
	ask(request("POST", "/draw", `{"pool":"p","user":"u"}`))
	f.drawn = nil
	for code := range problem.Table() {
		ask(request("GET", problem.Type+string(code), ""))
	}
	for _, f.err = range withMembers(t) {
		ask(request("POST", "/draw", `{"pool":"p","user":"u"}`))
		ask(request("GET", "/admin/pools/p/odds?user=u", ""))
	}
	for _, f.err = range []error{
		&draw.Error{Code: draw.CodeAwardEnded, Ended: &draw.Ended{State: draw.AwardVoided, Since: at}},
		&draw.Error{Code: draw.CodeChangedMeanwhile, Line: &draw.RefusedLine{Line: 3, Written: 1}},
	} {
		ask(request("POST", "/admin/pools/p/steps", `{"award":7,"to":"fulfilled"}`))
	}
	f.err = draw.ErrorFeedForked("p", 7)
	ask(request("GET", "/admin/awards", ""))
	own, err := ownContract()
	require.NoError(t, err)
	for _, e := range calls() { // each problem of the call
		o, _ := own.Find(e.method, e.target)
		for status := range o.Responses.Map() {
			for _, code := range o.Codes(status) {
				f.err = draw.Errorf(draw.Code(code), "because")
				ask(e.request())
			}
		}
	}
	return seen, wrong
}

// unsent lists the described members of answers that were in no answer.
func unsent(c *contract.Contract, seen map[string]bool) (missing []string) {
	described := map[string]contract.SchemaMember{}
	for _, o := range c.Operations {
		for status, response := range o.Responses.Map() {
			for _, content := range response.Value.Content {
				contract.Members(content.Schema, o.String()+" "+status, described)
			}
		}
	}
	sent := map[contract.SchemaMember]bool{}
	for path := range seen {
		sent[described[path]] = true
	}
	for path, m := range described {
		if !sent[m] {
			missing = append(missing, path)
		}
	}
	slices.Sort(missing)
	return missing
}

// TestDescribedMembersAreSent: no answer has a member that is not described, and each
// described member is in some answer.
func TestDescribedMembersAreSent(t *testing.T) {
	t.Parallel()
	c, err := ownContract()
	require.NoError(t, err)
	seen, wrong := exercise(t, c)
	require.NoError(t, wrong)
	require.Empty(t, unsent(c, seen))
}

// TestDescriptionIsServed: both forms are equal, and need no token.
func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	s := newServer(t, &fake{}, withDrawToken)
	var trees [2]any
	for i, path := range []string{"/openapi.yaml", "/openapi.json"} {
		w := do(s, request("GET", path, ""))
		require.Equal(t, 200, w.Code)
		require.NoError(t, yaml.Unmarshal(w.Body.Bytes(), &trees[i]))
	}
	require.Equal(t, trees[0], trees[1])
	require.Equal(t, "3.1.0", trees[1].(map[string]any)["openapi"])
}
