package http

import (
	"context"
	nethttp "net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"drawsvc/client"
	"drawsvc/internal/job"
)

// JobViews returns all jobs, by name.
func (a *Admin) JobViews(ctx context.Context) ([]job.View, error) {
	found, err := see[jobsAnswer](ctx, a, path("admin", "jobs"))
	return found.Jobs, err
}

// JobView returns a job with its last report. Error: CodeJobNotFound.
func (a *Admin) JobView(ctx context.Context, name string) (job.View, error) {
	return see[job.View](ctx, a, path("admin", "jobs", name))
}

// JobRunViews returns at most limit runs of a job, at most 1000. Error:
// CodeJobNotFound.
func (a *Admin) JobRunViews(ctx context.Context, name string, limit int) ([]job.RunView, error) {
	found, err := see[runsAnswer](ctx, a, path("admin", "jobs", name, "runs")+"?limit="+strconv.Itoa(min(limit, limitMax)))
	return found.Runs, err
}

// ChangeJob changes a job. Errors: CodeInvalidRequest, CodeJobNotFound.
func (a *Admin) ChangeJob(ctx context.Context, name string, change job.Change, _ string) error {
	body := jobBody{Enabled: change.Enabled, Schedule: rawText(change.Schedule), Host: rawText(change.Host)}
	if change.Host != nil && *change.Host == "" {
		body.Host = jsontext.Value("null")
	}
	if change.StaleAfter != nil {
		text := job.FormatDuration(*change.StaleAfter)
		body.StaleAfter = rawText(&text)
	}
	_, err := send[job.View](ctx, a, client.Call{Method: nethttp.MethodPatch, Path: path("admin", "jobs", name)}, &body)
	return err
}

// WantJob asks for a run of a job. Errors: CodeJobNotFound, CodeJobRunning.
func (a *Admin) WantJob(ctx context.Context, name, _ string) error {
	_, err := fetch[job.View](ctx, a, client.Call{Method: nethttp.MethodPost, Path: path("admin", "jobs", name, "run")})
	return err
}
