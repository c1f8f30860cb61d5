package http

import (
	"context"
	"fmt"
	nethttp "net/http"
	"time"

	"drawsvc/internal/access"
	"drawsvc/internal/api"
	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// JobReader reads jobs and their runs.
type JobReader interface {
	Jobs(ctx context.Context) (rows []job.Row, now time.Time, err error)
	Job(ctx context.Context, name string) (r job.Row, now time.Time, err error)
	JobRuns(ctx context.Context, name string, after int64, limit int) ([]job.Past, error)
}

// JobChanger changes jobs and requests runs.
type JobChanger interface {
	ChangeJob(ctx context.Context, name string, c job.Change, actor string) (job.Row, error)
	WantJob(ctx context.Context, name, actor string) (job.Row, error)
}

// jobs answers GET /admin/jobs.
func (s *Server) jobs(ctx context.Context, c call) (api.Jobs, error) {
	rows, now, err := s.Store.Jobs(ctx)
	return api.Jobs{Jobs: api.ShowEach(rows, func(r *job.Row) job.View { return c.viewJob(r, now) })}, err
}

// job answers GET /admin/jobs/{job}.
func (s *Server) job(ctx context.Context, c call) (job.View, error) {
	r, now, err := s.Store.Job(ctx, c.param("job"))
	return c.viewJob(&r, now), err
}

func (c call) viewJob(r *job.Row, now time.Time) job.View {
	v := r.View(now)
	v.LastError = c.visibleError(v.LastError)
	return v
}

// hiddenError replaces the error of a run for callers who are not admins.
const hiddenError = "the run failed; role admin reads why"

// visibleError returns the error of a run as the caller may read it. Its text may come
// from the database, which only admins may read.
func (c call) visibleError(text *string) *string {
	if text == nil || c.caller.Role == access.Admin {
		return text
	}
	return new(hiddenError)
}

// changeJob answers PATCH /admin/jobs/{job}.
func (s *Server) changeJob(ctx context.Context, c call, body *api.JobChange) (job.View, error) {
	change, err := body.Read()
	if err != nil {
		return job.View{}, err
	}
	r, err := s.Store.ChangeJob(ctx, c.param("job"), change, c.actor())
	if err != nil {
		return job.View{}, err
	}
	s.Log.Info("job changed", "job", r.Name, "actor", c.actor())
	return s.changedJob(ctx, c)
}

// changedJob shows a job after a change. Its only error is CodeOutcomeUnknown: other
// codes would state that nothing happened.
func (s *Server) changedJob(ctx context.Context, c call) (job.View, error) {
	answer, err := s.job(ctx, c)
	if err != nil {
		return job.View{}, &draw.Error{Code: draw.CodeOutcomeUnknown, Err: err, Detail: fmt.Sprintf("job %q was changed, and could not be read afterwards", c.param("job"))}
	}
	return answer, nil
}

// runJob answers POST /admin/jobs/{job}/run. The run begins within seconds, on any
// instance.
func (s *Server) runJob(ctx context.Context, c call) (job.View, error) {
	r, err := s.Store.WantJob(ctx, c.param("job"), c.actor())
	if err != nil {
		return job.View{}, err
	}
	s.WakeJobs()
	s.Log.Info("job requested", "job", r.Name, "actor", c.actor())
	answer, err := s.changedJob(ctx, c)
	if err == nil {
		c.gin.Writer.WriteHeader(nethttp.StatusAccepted)
	}
	return answer, err
}

// runs answers GET /admin/jobs/{job}/runs.
func (s *Server) runs(ctx context.Context, c call) (api.JobRuns, error) {
	found, end, err := readPage(ctx, c, "job", s.Store.JobRuns, func(p *job.Past) int64 { return p.Token })
	return api.JobRuns{Runs: api.ShowEach(found, func(p *job.Past) job.RunView {
		v := p.View()
		v.Error = c.visibleError(v.Error)
		return v
	}), Next: end.Next}, err
}
