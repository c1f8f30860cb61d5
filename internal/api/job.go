package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// Jobs are all jobs, in the order of their names.
type Jobs struct {
	Jobs []job.View `json:"jobs"`
}

// JobRuns is a page of the runs of a job.
type JobRuns struct {
	Runs []job.RunView `json:"runs"`
	// Next is the parameter after of the next page, null if this is the last.
	Next *int64 `json:"next"`
}

// JobChange is the body of PATCH /admin/jobs/{job}.
type JobChange struct {
	Enabled    *bool          `json:"enabled,omitzero"`
	Schedule   jsontext.Value `json:"schedule,omitzero"`
	Host       jsontext.Value `json:"host,omitzero"`
	StaleAfter jsontext.Value `json:"stale_after,omitzero"`
}

// Read returns the change that the body describes. Error: CodeInvalidRequest.
func (b *JobChange) Read() (job.Change, error) {
	c := job.Change{Enabled: b.Enabled}
	var err error
	if c.Schedule, err = readText("schedule", b.Schedule); err != nil {
		return c, err
	}
	if b.Host.Kind() == 'n' {
		c.Host = new(string)
	} else if c.Host, err = readText("host", b.Host); err != nil {
		return c, err
	} else if c.Host != nil && *c.Host == "" {
		return c, draw.Errorf(draw.CodeInvalidRequest, "host is empty; null unpins the job")
	}
	stale, err := readText("stale_after", b.StaleAfter)
	if err != nil {
		return c, err
	}
	if stale != nil {
		d, err := time.ParseDuration(*stale)
		if err != nil {
			return c, draw.Errorf(draw.CodeInvalidRequest, "stale_after must be a duration, such as \"30m\"")
		}
		c.StaleAfter = &d
	}
	return c, c.Check()
}

// Pin allows only one host to run the job; "" allows every host.
func (b *JobChange) Pin(host string) {
	if b.Host = RawText(&host); host == "" {
		b.Host = rawNull()
	}
}

// Jobs returns all jobs, in the order of their names.
func (c *Client) Jobs(ctx context.Context) ([]job.View, error) {
	found, err := see[Jobs](ctx, c, pathOf("admin", "jobs"))
	return found.Jobs, err
}

// Job returns a job with its last report. Error: CodeJobNotFound.
func (c *Client) Job(ctx context.Context, name string) (job.View, error) {
	return see[job.View](ctx, c, pathOf("admin", "jobs", name))
}

// JobRuns returns the last runs of a job, at most limit. Error: CodeJobNotFound.
func (c *Client) JobRuns(ctx context.Context, name string, limit int) ([]job.RunView, error) {
	found, err := see[JobRuns](ctx, c, pathOf("admin", "jobs", name, "runs")+"?limit="+strconv.Itoa(min(limit, PageMax)))
	return found.Runs, err
}

// ChangeJob changes a job. Errors: CodeInvalidRequest, CodeJobNotFound.
func (c *Client) ChangeJob(ctx context.Context, name string, change *JobChange) error {
	_, err := send[job.View](ctx, c, newCall(http.MethodPatch, pathOf("admin", "jobs", name)), change)
	return err
}

// RunJob requests a run of a job. Errors: CodeJobNotFound, CodeJobRunning.
func (c *Client) RunJob(ctx context.Context, name string) error {
	_, err := fetch[job.View](ctx, c, newCall(http.MethodPost, pathOf("admin", "jobs", name, "run")))
	return err
}
