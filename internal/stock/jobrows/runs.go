package jobrows

import (
	"context"
	"database/sql"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/job"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// BeginJob implements job.Runs: in one transaction under the row's lock it checks
// whether the job is due, ends a run that was left behind, and begins the next.
func (j *Rows) BeginJob(ctx context.Context, name, host string) (run job.Run, begun bool, err error) {
	_, err = j.changeJob(ctx, name, func(tx *sql.Tx, r job.Row, now time.Time) (job.Row, error) {
		if begun = r.Verdict(now, host) == job.Due; !begun {
			return r, nil
		}
		if err := j.endRun(ctx, tx, r.Run(), now, job.Outcome{Result: job.ResultLost, Error: "taken over by " + host}); err != nil {
			return r, err
		}
		next, err := r.Begun(now, host)
		if err != nil {
			return r, err
		}
		run = next.Run()
		_, err = j.ledger.InsertInto("job_runs").Columns("job", "token", "host", "started_at", "asked_by").
			Values(run.Job, run.Token, run.Host, j.ledger.Engine.Time(run.Began), r.WantedBy).RunWith(tx).ExecContext(ctx)
		if err != nil {
			return next, err
		}
		return next, j.trimRuns(ctx, tx, run)
	})
	return run, begun && err == nil, err
}

// trimRuns bounds the history, of which run is the last: also that of a job whose
// runs never end.
func (j *Rows) trimRuns(ctx context.Context, tx *sql.Tx, run job.Run) error {
	_, err := j.ledger.Builder().Delete("job_runs").
		Where(squirrel.Eq{"job": run.Job}).Where(squirrel.LtOrEq{"token": run.Token - job.RunsKept}).
		RunWith(tx).ExecContext(ctx)
	return err
}

// HearJob implements job.Runs.
func (j *Rows) HearJob(ctx context.Context, run job.Run) (staleAfter time.Duration, err error) {
	err = j.fenced(ctx, run, func(_ *sql.Tx, r *job.Row, _ time.Time) error {
		staleAfter = r.StaleAfter
		return nil
	})
	return staleAfter, err
}

// FinishJob implements job.Runs.
func (j *Rows) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	return j.fenced(ctx, run, func(tx *sql.Tx, r *job.Row, now time.Time) error {
		*r = r.Finished(now, o)
		o.Error = r.LastError
		return j.endRun(ctx, tx, run, now, o)
	})
}

// fenced runs what a run writes in a transaction that holds the job's row. It is
// rejected with job.ErrLost when the row does not hold the run any more: a later
// one may have begun. The run is heard of.
func (j *Rows) fenced(ctx context.Context, run job.Run, write func(tx *sql.Tx, r *job.Row, now time.Time) error) error {
	_, err := j.changeJob(ctx, run.Job, func(tx *sql.Tx, r job.Row, now time.Time) (job.Row, error) {
		if !r.Holds(run) {
			return r, job.ErrLost
		}
		r.HeardAt = now
		err := write(tx, &r, now)
		return r, err
	})
	return err
}

// endRun writes the end of a run into the history, unless it has one.
func (j *Rows) endRun(ctx context.Context, tx *sql.Tx, run job.Run, now time.Time, o job.Outcome) error {
	_, err := j.ledger.Builder().Update("job_runs").
		Set("finished_at", j.ledger.Engine.Time(now)).Set("result", string(o.Result)).Set("error", o.Error).
		Where(squirrel.Eq{"job": run.Job, "token": run.Token, "finished_at": nil}).
		RunWith(tx).ExecContext(ctx)
	return err
}

// JobRuns returns the runs of a job after a number, at most limit, in order.
// Errors: CodeJobNotFound, and those of the store.
func (j *Rows) JobRuns(ctx context.Context, name string, after int64, limit int) (runs []job.Past, err error) {
	err = j.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if _, err := j.jobRow(ctx, tx, name, ""); err != nil {
			return err
		}
		query := j.ledger.SelectFrom("job_runs", "token", "host", "started_at", "finished_at", "result", "error", "asked_by").
			Where(squirrel.Eq{"job": name}).Where(squirrel.Gt{"token": after}).OrderBy("token").Limit(uint64(limit)) //nolint:gosec // checked by the caller
		runs, err = ledger.SelectAll(ctx, tx, query, func(row engine.Scanner) (job.Past, error) {
			p := job.Past{Run: job.Run{Job: name}}
			err := row.Scan(&p.Token, &p.Host, engine.ScanTime(&p.Began), maybe{&p.Finished}, &p.Result, &p.Error, &p.AskedBy)
			return p, err
		})
		return err
	})
	return runs, err
}
