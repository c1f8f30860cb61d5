package adminpage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/harness"
)

// Call is a call that a view of the page makes.
type Call struct {
	View, Path string
	// method is POST for a call that sends a body but changes nothing, such as a check of
	// draft rules. "" means GET.
	method, body, accept string
}

// IsWhole reports whether the call reads the whole pool.
func (c Call) IsWhole() bool {
	return strings.HasPrefix(c.View, "file: ") || c.View == "button: audit"
}

// Calls returns the calls of each view of the page, as internal/ui/files makes them.
// last is the number of the pool's awards, and rules is the document of a draft.
func Calls(pool string, last int, rules string) []Call {
	of := "/admin/pools/" + pool
	return []Call{
		{View: "frame", Path: "/admin/self"}, {View: "warnings", Path: "/admin/jobs"}, {View: "warnings", Path: "/admin/jobs/audit"},
		{View: "pools, search", Path: "/admin/pools?limit=50&q=pool-4"}, {View: "pools, search", Path: "/admin/pools?limit=50&q=large"},
		{View: "pools, search", Path: "/admin/pools?limit=50&state=paused&archived=true"},
		{View: "pools of the role fulfil", Path: "/admin/pools?limit=1000"},
		{View: "pool", Path: of}, {View: "pool", Path: of + "/rules"}, {View: "pool", Path: of + "/agenda?limit=1"},
		{View: "pool", Path: of + "/agenda?part=due&kind=state&limit=1000"}, {View: "pool", Path: of + "/agenda?part=due&kind=stock&limit=100"},
		{View: "pool", Path: of + "/agenda?part=done&kind=moment&limit=1"}, {View: "pool", Path: of + "/agenda?part=hidden&limit=1000"},
		{View: "pool, chart", Path: fmt.Sprintf("%s/log?after=%d&limit=1", of, last/2)},
		{View: "pool, chart", Path: of + "/log?after=0&limit=1000&acts=true"},
		{View: "pool, chart", Path: of + "/awards?prize=none&after=0&limit=1"},
		{View: "prizes", Path: of + "/prizes"}, {View: "codes", Path: of + "/prizes/prize-0/codes"},
		{View: "agenda", Path: of + "/agenda?part=due&limit=100"}, {View: "agenda", Path: of + "/agenda?part=done&limit=30"},
		{View: "calendar", Path: of + "/agenda/sums"}, {View: "calendar", Path: of + "/agenda/sums?at=2999-01-01T00:00:00Z,2999-01-02T00:00:00Z"},
		{View: "calendar, place", Path: of + "/agenda?part=due&prize=prize-7&limit=100"}, {View: "calendar, place", Path: of + "/agenda?part=done&prize=prize-7&limit=100"},
		{View: "awards", Path: fmt.Sprintf("%s/awards?after=%d&limit=25", of, last)},
		{View: "awards, by user", Path: of + "/awards?user=user-7&limit=1000"}, {View: "awards, by user", Path: of + "/awards?user=nobody&limit=1000"},
		{View: "awards, by draw", Path: of + "/awards?draw=draw-77&limit=1000"}, {View: "awards, by prize", Path: of + "/awards?prize=prize-7&limit=1000"},
		{View: "claims", Path: of + "/awards?state=claimed&limit=1000"}, {View: "claims", Path: of + "/awards?state=fulfilled&limit=1000"},
		{View: "claims", Path: of + "/awards?state=won&limit=1000"}, {View: "claims", Path: of + "/awards?state=expired&limit=1000"},
		{View: "award", Path: fmt.Sprintf("%s/awards/%d", of, last/2)}, {View: "award, with a code", Path: of + "/awards?prize=prize-0&limit=1000"},
		{View: "odds", Path: of + "/odds"}, {View: "odds of a user", Path: of + "/odds?user=user-7"},
		{View: "log", Path: fmt.Sprintf("%s/log?after=%d&limit=1000", of, last-200)}, {View: "log, acts", Path: of + "/log?after=0&limit=1000&acts=true"},
		{View: "moves", Path: of + "/moves?limit=1000"}, {View: "steps", Path: of + "/steps?limit=1000"},
		{View: "statement", Path: of + "/statements?limit=1000"},
		{View: "webhooks", Path: "/admin/hooks"}, {View: "jobs", Path: "/admin/jobs/audit/runs?limit=1000"},
		{View: "page of fairness", Path: "/fair/" + pool + "/facts"},
		{View: "rules, draft", Path: of + "/rules", method: http.MethodPost, body: rules},
		{View: "file: winners", Path: of + "/awards?win=true&formulas=exact", accept: "text/csv"},
		{View: "file: steps", Path: of + "/steps?formulas=exact", accept: "text/csv"},
		{View: "file: statement", Path: of + "/statements", accept: "text/csv"},
		{View: "button: audit", Path: of + "/audit"},
		{View: "button: simulation", Path: of + "/simulation?draws=10000&users=1000"},
	}
}

// Took holds the times of a call and the size of its answer.
type Took struct {
	First, Median time.Duration
	Bytes         int64
}

const tries = 3

// Measure makes the call several times, to the service at a URL.
func (c Call) Measure(ctx context.Context, at string) (t Took, err error) {
	all := make([]time.Duration, tries)
	for i := range all {
		if all[i], t.Bytes, err = c.Once(ctx, at); err != nil {
			return t, err
		}
	}
	t.First = all[0]
	slices.Sort(all)
	t.Median = all[tries/2]
	return t, nil
}

// Once makes the call, and returns its time and the size of its answer in bytes.
func (c Call) Once(ctx context.Context, at string) (time.Duration, int64, error) {
	method := http.MethodGet
	if c.method != "" {
		method = c.method
	}
	request, err := http.NewRequestWithContext(ctx, method, at+c.Path, strings.NewReader(c.body))
	if err != nil {
		return 0, 0, err
	}
	request.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	request.Header.Set("Content-Type", "application/json")
	if c.accept != "" {
		request.Header.Set("Accept", c.accept)
	}
	begun := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	sink := io.Discard
	var said strings.Builder
	if response.StatusCode != http.StatusOK {
		sink = &said
	}
	n, err := io.Copy(sink, response.Body)
	took := time.Since(begun)
	if err == nil && said.Len() > 0 && response.StatusCode != http.StatusNotFound {
		err = fmt.Errorf("%s: %d %s after %v", c.Path, response.StatusCode, said.String(), took)
	}
	return took, n, err
}
