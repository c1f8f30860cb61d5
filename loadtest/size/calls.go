package main

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

const pool = "large"

// call is a call that a view of the page makes.
type call struct {
	view, path string
	// method is POST for a call that has a body, such as that of a draft, and changes
	// nothing.
	method, body, accept string
}

// calls returns the calls of each view with the large pool, as internal/ui/files makes
// them.
func calls(s settings) []call {
	of, last := "/admin/pools/"+pool, s.awards
	all := []call{
		{view: "frame", path: "/admin/self"}, {view: "warnings", path: "/admin/jobs"}, {view: "warnings", path: "/admin/jobs/audit"},
		{view: "pools, search", path: "/admin/pools?limit=50&q=pool-4"}, {view: "pools, search", path: "/admin/pools?limit=50&q=large"},
		{view: "pools, search", path: "/admin/pools?limit=50&state=paused&archived=true"},
		{view: "pools of the role fulfil", path: "/admin/pools?limit=1000"},
		{view: "pool", path: of}, {view: "pool", path: of + "/rules"}, {view: "pool", path: of + "/agenda?limit=1000"},
		{view: "pool, chart", path: fmt.Sprintf("%s/log?after=%d&limit=1", of, last/2)},
		{view: "pool, chart", path: of + "/log?after=0&limit=1000&acts=true"},
		{view: "pool, chart", path: of + "/awards?prize=none&after=0&limit=1"},
		{view: "prizes", path: of + "/prizes"}, {view: "codes", path: of + "/prizes/prize-0/codes"},
		{view: "calendar, agenda", path: of + "/agenda?open=true&limit=1000"}, {view: "calendar, agenda", path: of + "/agenda?after=9000&limit=1000"},
		{view: "awards", path: fmt.Sprintf("%s/awards?after=%d&limit=25", of, last)},
		{view: "awards, by user", path: of + "/awards?user=user-7&limit=1000"}, {view: "awards, by user", path: of + "/awards?user=nobody&limit=1000"},
		{view: "awards, by draw", path: of + "/awards?draw=draw-77&limit=1000"}, {view: "awards, by prize", path: of + "/awards?prize=prize-7&limit=1000"},
		{view: "claims", path: of + "/awards?state=claimed&limit=1000"}, {view: "claims", path: of + "/awards?state=fulfilled&limit=1000"},
		{view: "claims", path: of + "/awards?state=won&limit=1000"}, {view: "claims", path: of + "/awards?state=expired&limit=1000"},
		{view: "award", path: fmt.Sprintf("%s/awards/%d", of, last/2)}, {view: "award, with a code", path: of + "/awards?prize=prize-0&limit=1000"},
		{view: "odds", path: of + "/odds"}, {view: "odds of a user", path: of + "/odds?user=user-7"},
		{view: "log", path: fmt.Sprintf("%s/log?after=%d&limit=1000", of, last-200)}, {view: "log, acts", path: of + "/log?after=0&limit=1000&acts=true"},
		{view: "moves", path: of + "/moves?limit=1000"}, {view: "steps", path: of + "/steps?limit=1000"},
		{view: "statement", path: of + "/statements?limit=1000"},
		{view: "webhooks", path: "/admin/hooks"}, {view: "jobs", path: "/admin/jobs/audit/runs?limit=1000"},
		{view: "page of fairness", path: "/fair/" + pool + "/facts"},
		{view: "rules, draft", path: of + "/rules", method: http.MethodPost, body: rules},
		{view: "file: winners", path: of + "/awards?win=true&formulas=exact", accept: "text/csv"},
		{view: "file: steps", path: of + "/steps?formulas=exact", accept: "text/csv"},
		{view: "file: statement", path: of + "/statements", accept: "text/csv"},
		{view: "button: audit", path: of + "/audit"},
		{view: "button: simulation", path: of + "/simulation?draws=10000&users=1000"},
	}
	return all
}

type took struct {
	first, median time.Duration
	bytes         int64
}

const tries = 3

func (c call) measure(ctx context.Context, at string) (t took, err error) {
	all := make([]time.Duration, tries)
	for i := range all {
		if all[i], t.bytes, err = c.once(ctx, at); err != nil {
			return t, err
		}
	}
	t.first = all[0]
	slices.Sort(all)
	t.median = all[tries/2]
	return t, nil
}

func (c call) once(ctx context.Context, at string) (time.Duration, int64, error) {
	method := http.MethodGet
	if c.method != "" {
		method = c.method
	}
	request, err := http.NewRequestWithContext(ctx, method, at+c.path, strings.NewReader(c.body))
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
		err = fmt.Errorf("%s: %d %s after %v", c.path, response.StatusCode, said.String(), took)
	}
	return took, n, err
}
