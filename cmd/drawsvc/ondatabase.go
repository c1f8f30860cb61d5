package main

import (
	"bufio"
	"context"
	"io"

	"drawsvc/internal/http"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

// onDatabase is the store as commands use it: as http.Admin is, where both
// differ.
type onDatabase struct{ *stock.Store }

// logPage is how many entries are read at once.
const logPage = 1000

// WriteLog writes the history of a pool behind a version, up to what it holds
// when the method begins.
func (d onDatabase) WriteLog(ctx context.Context, poolID string, after int64, out io.Writer) error {
	p, err := d.Pool(ctx, poolID)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	for {
		entries, err := d.Log(ctx, poolID, after, logPage)
		if err != nil {
			return err
		}
		for i := range entries {
			if after = entries[i].Version(); after > p.Version {
				return w.Flush()
			}
			if err := http.WriteEntry(w, &entries[i]); err != nil {
				return err
			}
		}
		if len(entries) < logPage {
			return w.Flush()
		}
	}
}

// JobViews returns all jobs.
func (d onDatabase) JobViews(ctx context.Context) ([]job.View, error) {
	rows, now, err := d.Jobs(ctx)
	views := make([]job.View, len(rows))
	for i := range rows {
		views[i] = rows[i].View(now)
	}
	return views, err
}

// JobView returns a job with its last report.
func (d onDatabase) JobView(ctx context.Context, name string) (job.View, error) {
	r, now, err := d.Job(ctx, name)
	return r.View(now), err
}

// JobRunViews returns at most limit runs of a job.
func (d onDatabase) JobRunViews(ctx context.Context, name string, limit int) ([]job.RunView, error) {
	runs, err := d.JobRuns(ctx, name, 0, limit)
	views := make([]job.RunView, len(runs))
	for i := range runs {
		views[i] = runs[i].View()
	}
	return views, err
}

// ChangeJob changes a job.
func (d onDatabase) ChangeJob(ctx context.Context, name string, change job.Change, by string) error {
	_, err := d.Store.ChangeJob(ctx, name, change, by)
	return err
}

// WantJob asks for a run of a job.
func (d onDatabase) WantJob(ctx context.Context, name, by string) error {
	_, err := d.Store.WantJob(ctx, name, by)
	return err
}
