package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/loadtest/site"
)

// cellMax is the longest that one cell may take.
const cellMax = 20 * time.Minute

// run runs one cell from the empty database to the check of its rows.
func (g *ground) run(ctx context.Context, c cell) result {
	ctx, cancel := context.WithTimeout(ctx, cellMax)
	defer cancel()
	r := newResult(c)
	begin := time.Now()
	err := site.On(c.name(), func(s *site.Site) error { return g.show(ctx, s, c, &r) })
	r.Took = time.Since(begin).Seconds()
	if missing, ok := errors.AsType[site.Skipped](err); ok {
		r.Skipped = missing.Reason
	} else if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	r.Passed = len(r.Faults) == 0 && !r.skipped()
	return r
}

func (g *ground) show(ctx context.Context, s *site.Site, c cell, r *result) error {
	var database string
	if c.database != "" {
		database = g.database(s, c.database) //nolint:contextcheck // servers for tests bound their own waits
	}
	instances, err := g.start(ctx, s, c, database)
	if err != nil {
		return err
	}
	var urls []string
	for k, i := range instances {
		urls = append(urls, i.url)
		// What the program printed is shown where the cell fails.
		defer func() { r.output += fmt.Sprintf("\n%s %d printed at its end:\n%s", c.program, k+1, i.output) }()
	}
	var run loadRun
	if c.sampled {
		run, r.timeline, err = sampled(ctx, s, c, urls)
	} else {
		run, err = load(ctx, s, c, urls, "")
	}
	r.output = run.output
	if err != nil {
		return err
	}
	r.take(run)
	if run.summary == nil {
		return fmt.Errorf("k6 ended with code %d and no result", run.exit)
	}
	r.Faults = append(r.Faults, expected(c, run)...)
	if err := r.compare(ctx, c, database, urls[0], run.summary); err != nil {
		return err
	}
	if c.program != service {
		return nil // the textbook programs end when they are killed
	}
	for _, i := range instances {
		err = errors.Join(err, i.stop())
	}
	return err
}

// start starts the cell's program, as often as it asks for.
func (g *ground) start(ctx context.Context, s *site.Site, c cell, database string) ([]*instance, error) {
	args := []string{"--listen", "127.0.0.1:0", "--database", database}
	switch {
	case c.program == service:
		args = append([]string{"serve", "--mode", c.mode, "--log-format", "json"}, args...)
		if c.database != "sqlite" {
			args = append(args, "--migrate")
		}
		if c.lock != "" {
			args = append(args, "--lock", g.lock(s, c.lock)) //nolint:contextcheck // servers for tests bound their own waits
		}
	case strings.HasPrefix(c.program, "redis-"):
		args = append(args, "--redis", g.lasting(s)) //nolint:contextcheck // servers for tests bound their own waits
	}
	instances := make([]*instance, c.instances)
	for k := range instances {
		var err error
		if instances[k], err = start(ctx, s, c.program, args...); err != nil {
			return nil, err
		}
	}
	return instances, nil
}

// expected compares how k6 ended with how it had to end.
func expected(c cell, run loadRun) []string {
	if c.crossed == "" {
		if run.exit == 0 && run.summary.Passed {
			return nil
		}
		return append([]string{fmt.Sprintf("k6 ended with code %d", run.exit)}, run.summary.Failed...)
	}
	var faults []string
	if run.exit != thresholdCode {
		faults = append(faults, fmt.Sprintf("k6 ended with code %d, not with its threshold code %d", run.exit, thresholdCode))
	}
	about := func(line string) bool { return strings.HasPrefix(line, c.crossed) }
	if !slices.ContainsFunc(run.summary.Failed, about) {
		faults = append(faults, "the script did not name "+c.crossed)
	}
	for _, line := range run.summary.Failed {
		if !about(line) {
			faults = append(faults, line)
		}
	}
	return faults
}

// thresholdCode is k6's exit code when a threshold is crossed.
const thresholdCode = 99

// compare reads the rows beside the program and holds them against what the
// program and the script say.
func (r *result) compare(ctx context.Context, c cell, database, base string, s *summary) error {
	said, err := audit(ctx, base, s.Pool)
	if err != nil {
		return err
	}
	if database == "" {
		return nil // no database: there is only what the program says
	}
	found, err := check(ctx, database, s.Pool)
	if err != nil {
		return err
	}
	r.SQLAwards, r.SQLOverIssued = 0, found.overIssued()
	for _, p := range found.prizes {
		r.SQLAwards += p.awards
	}
	r.Faults = append(r.Faults, agree(said, s, found)...)
	if c.program == service {
		r.Faults = append(r.Faults, found.faults()...)
	}
	if caught := r.SQLOverIssued > 0; caught != c.control() {
		r.Faults = append(r.Faults, fmt.Sprintf("SQL counts %d over-issued", r.SQLOverIssued))
	}
	return nil
}
