package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
)

// cellMax is the maximum time of one cell.
const cellMax = 20 * time.Minute

func (g *ground) run(ctx context.Context, c cell) result {
	ctx, cancel := context.WithTimeout(ctx, cellMax)
	defer cancel()
	r := newResult(c)
	begin := time.Now()
	var err error
	r.Skipped, err = harness.Try(c.name(), func(s *harness.Site) error { return g.show(ctx, s, c, &r) })
	r.Took = time.Since(begin).Seconds()
	if err != nil {
		r.Faults = append(r.Faults, err.Error())
	}
	r.Passed = len(r.Faults) == 0 && !r.IsSkipped()
	return r
}

func (g *ground) show(ctx context.Context, s *harness.Site, c cell, r *result) error {
	database := place.NewDatabase(s, c.Database) //nolint:contextcheck // servers for tests bound their own waits
	instances, err := g.start(ctx, s, c, database)
	s.Must(err)
	var urls []string
	for k, i := range instances {
		urls = append(urls, i.URL)
		// If the cell fails, the program's output is shown.
		defer func() { r.output += fmt.Sprintf("\n%s %d printed at its end:\n%s", c.program, k+1, i.Output) }()
	}
	run, err := r.load(ctx, s, c, urls)
	r.output = run.output
	s.Must(err)
	r.take(run)
	if run.summary == nil {
		return fmt.Errorf("k6 ended with code %d and no result", run.exit)
	}
	r.Faults = append(r.Faults, expected(c, run)...)
	s.Must(r.compare(ctx, c, database, urls[0], run.summary))
	if c.program != service {
		return nil // the textbook programs are killed
	}
	return harness.StopAll(instances)
}

// load runs the cell's script. If the cell requires it, the run is watched or judged.
func (r *result) load(ctx context.Context, s *harness.Site, c cell, urls []string) (run loadRun, err error) {
	switch {
	case c.sampled:
		run, r.timeline, err = sampled(ctx, s, c, urls)
	case c.judged:
		proxies, j := judge(s, urls)
		run, err = load(ctx, s, c, proxies, "")
		j.into(r)
		return run, err
	default:
		run, err = load(ctx, s, c, urls, "")
	}
	return run, err
}

func (g *ground) start(ctx context.Context, s *harness.Site, c cell, database string) ([]*harness.Process, error) {
	const listen = "127.0.0.1:0"
	args := []string{"--listen", listen, "--database", database}
	switch {
	case c.program == service:
		args = place.ServeArgs(listen, database, c.Mode)
		if c.Lock != "" {
			args = append(args, "--lock", g.lock(s, c.Lock)) //nolint:contextcheck // servers for tests bound their own waits
		}
	case strings.HasPrefix(c.program, "redis-"):
		args = append(args, "--redis", g.lasting(s)) //nolint:contextcheck // servers for tests bound their own waits
	}
	return harness.LaunchAll(ctx, s, c.Instances, filepath.Join(place.Bin, c.program), args...)
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

// compare reads the rows without the program, compares them with the reports of the
// program and of the script, and checks them against the laws.
func (r *result) compare(ctx context.Context, c cell, database, base string, s *summary) error {
	var audit struct {
		Prizes []counted `json:"prizes"`
	}
	if err := harness.FetchJSON(ctx, base+"/admin/pools/"+s.Pool+"/audit", &audit); err != nil {
		return err
	}
	if database == "" {
		return nil // no database: the only source is the program
	}
	rows, err := read(ctx, database, s.Pool, c.program != service)
	if err != nil {
		return err
	}
	found := count(rows)
	audit.Prizes = slices.DeleteFunc(audit.Prizes, func(p counted) bool { return isEndless(rows, p.Prize) })
	r.SQLAwards, r.SQLOverIssued = total(found).Awards, total(found).OverIssued
	r.Faults = append(r.Faults, agree(audit.Prizes, s.Prizes, found)...)
	if c.program == service {
		r.Faults = append(r.Faults, lawsBroken(rows)...)
	}
	if caught := r.SQLOverIssued > 0; caught != c.control() {
		r.Faults = append(r.Faults, fmt.Sprintf("SQL counts %d over-issued", r.SQLOverIssued))
	}
	return nil
}

// build builds k6, the service and the textbook programs, each from its own
// go.mod, so that versions are pinned.
func build(ctx context.Context) error {
	return place.Build(ctx, place.Bin, place.K6(), place.Textbook("./..."), place.Service())
}

// ground has the servers that cells share. Each is started by the first cell that needs
// it.
type ground struct {
	redisMore func() []string // the addresses of two further Redis servers
}

// newGround configures shared databases to write through to the disk, as in production,
// so that the figures are realistic. A server that the environment names is used
// unchanged.
func newGround(whole *harness.Site) *ground {
	for _, kind := range []string{"postgres", "mysql"} {
		if variable := place.Of(kind).Variable; os.Getenv(variable) == "" {
			_ = harness.On(kind, func(*harness.Site) error { // if it is not installed, its cells report that
				return os.Setenv(variable, servertest.Start(whole, kind, servertest.Durable()).URL())
			})
		}
	}
	return &ground{redisMore: sync.OnceValue(func() []string {
		return []string{servertest.Start(whole, "redis").Addr(), servertest.Start(whole, "redis").Addr()}
	})}
}

// lock returns the URL of a lock service that no other cell uses at the same time.
func (g *ground) lock(s *harness.Site, scheme string) string {
	if scheme != majority {
		return servertest.LockURL(s, scheme)
	}
	one, err := url.Parse(servertest.Redis(s))
	s.Must(err)
	return place.LockURL("redis", "/0", append([]string{one.Host}, g.redisMore()...)...)
}

// lasting returns the address of a Redis that flushes every second, as textbooks
// recommend.
func (g *ground) lasting(s *harness.Site) string {
	return servertest.Start(s, "redis", servertest.Args(place.Of("redis").Wide...)).Addr()
}
