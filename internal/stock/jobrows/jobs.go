// Package jobrows stores the data of the service's jobs in a database: their rows,
// their runs, the lines of statements and the catalogue. It implements interfaces of
// packages job and catalogue.
package jobrows

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/Masterminds/squirrel"

	"drawsvc/internal/job"
	"drawsvc/internal/stock/engine"
	"drawsvc/internal/stock/ledger"
)

// Rows stores the jobs in a ledger's database.
type Rows struct{ ledger *ledger.Ledger }

// New returns the rows of jobs in a ledger's database.
func New(l *ledger.Ledger) *Rows { return &Rows{l} }

// jobColumns returns the columns of a job's row except its name and its report.
func jobColumns() []string {
	return []string{
		"enabled", "schedule", "per", "host", "stale_after", "status", "holder", "token", "started_at", "heard_at",
		"due_at", "wanted_by", "last_success", "last_day", "last_error", "changed_by", "changed_at",
	}
}

// jobValues returns r's values, in the order of jobColumns.
func (j *Rows) jobValues(r *job.Row) []any {
	return []any{
		r.Enabled, r.Schedule, string(r.Per), r.Host, r.StaleAfter.Milliseconds(), string(r.Status), r.Holder, r.Token,
		j.maybeTime(r.StartedAt), j.maybeTime(r.HeardAt), j.ledger.Engine.Time(r.DueAt), r.WantedBy, j.maybeTime(r.LastSuccess),
		r.LastDay, r.LastError, r.ChangedBy, j.ledger.Engine.Time(r.ChangedAt),
	}
}

func scanJob(row engine.Scanner) (job.Row, error) {
	var r job.Row
	var stale int64
	err := row.Scan(
		&r.Name, &r.Enabled, &r.Schedule, &r.Per, &r.Host, &stale, &r.Status, &r.Holder, &r.Token,
		maybe{&r.StartedAt}, maybe{&r.HeardAt}, engine.ScanTime(&r.DueAt), &r.WantedBy, maybe{&r.LastSuccess},
		&r.LastDay, &r.LastError, &r.ChangedBy, engine.ScanTime(&r.ChangedAt),
	)
	r.StaleAfter = time.Duration(stale) * time.Millisecond
	return r, err
}

func (j *Rows) selectJobs() squirrel.SelectBuilder {
	return j.ledger.SelectFrom("jobs", append([]string{"name"}, jobColumns()...)...)
}

// AddJobs implements job.Rows. Errors: those of the store.
func (j *Rows) AddJobs(ctx context.Context, all []job.Definition) error {
	return j.ledger.Change(ctx, func(tx *sql.Tx) error {
		now, err := j.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		there, err := ledger.SelectAll(ctx, tx, j.selectJobs(), scanJob)
		if err != nil {
			return err
		}
		for _, d := range all {
			i := slices.IndexFunc(there, func(r job.Row) bool { return r.Name == d.Name })
			switch {
			case i < 0:
				err = j.addJob(ctx, tx, d, now)
			case there[i].ChangedBy == "" && there[i].Schedule != d.Schedule:
				err = j.follow(ctx, tx, d, now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// addJob adds a job's row, unless another instance has added it.
func (j *Rows) addJob(ctx context.Context, tx *sql.Tx, d job.Definition, now time.Time) error {
	r, err := job.NewRow(d, now)
	if err != nil {
		return err
	}
	insert := j.ledger.InsertInto("jobs").Columns(append([]string{"name", "report"}, jobColumns()...)...).
		Values(append([]any{r.Name, []byte{}}, j.jobValues(&r)...)...)
	_, err = insert.RunWith(tx).ExecContext(ctx)
	if j.ledger.IsDuplicate(err) {
		return errors.Join(engine.ErrConflict, err) // the next attempt finds the row
	}
	return err
}

// follow changes the schedule in a job's row to that of the program, unless an operator
// has changed the row.
func (j *Rows) follow(ctx context.Context, tx *sql.Tx, d job.Definition, now time.Time) error {
	r, err := j.jobRow(ctx, tx, d.Name, j.ledger.Engine.ForUpdate)
	if err != nil {
		return err
	}
	if r, err = r.Changed(now, job.Change{Schedule: &d.Schedule}, ""); err != nil {
		return err
	}
	return j.writeJob(ctx, tx, &r)
}

// Jobs implements job.Rows. It returns all rows, and the database's time. Errors: those
// of the store.
func (j *Rows) Jobs(ctx context.Context) (rows []job.Row, now time.Time, err error) {
	err = j.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if now, err = j.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		rows, err = ledger.SelectAll(ctx, tx, j.selectJobs().OrderBy("name"), scanJob)
		return err
	})
	return rows, now, err
}

// Job returns one job's row with its report, and the database's time. Errors:
// CodeJobNotFound, and those of the store.
func (j *Rows) Job(ctx context.Context, name string) (r job.Row, now time.Time, err error) {
	err = j.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if now, err = j.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		if r, err = j.jobRow(ctx, tx, name, ""); err != nil {
			return err
		}
		return j.ledger.SelectFrom("jobs", "report").Where(squirrel.Eq{"name": name}).RunWith(tx).QueryRowContext(ctx).Scan(&r.Report)
	})
	return r, now, err
}

// ChangeJob changes a job's row and returns it. Errors: CodeInvalidRequest,
// CodeJobNotFound, and those of the store.
func (j *Rows) ChangeJob(ctx context.Context, name string, c job.Change, actor string) (job.Row, error) {
	return j.changeJob(ctx, name, func(_ *sql.Tx, r job.Row, now time.Time) (job.Row, error) { return r.Changed(now, c, actor) })
}

// WantJob requests a run outside the schedule. Errors: CodeJobNotFound, CodeJobRunning,
// and those of the store.
func (j *Rows) WantJob(ctx context.Context, name, actor string) (job.Row, error) {
	return j.changeJob(ctx, name, func(_ *sql.Tx, r job.Row, now time.Time) (job.Row, error) { return r.Asked(now, actor) })
}

// jobRow reads one row. If suffix is the dialect's ForUpdate, the row is locked.
func (j *Rows) jobRow(ctx context.Context, tx *sql.Tx, name, suffix string) (job.Row, error) {
	found, err := ledger.SelectAll(ctx, tx, j.selectJobs().Where(squirrel.Eq{"name": name}).Suffix(suffix), scanJob)
	if err == nil && len(found) == 0 {
		err = job.ErrNotFound(name)
	}
	if err != nil {
		return job.Row{}, err
	}
	return found[0], nil
}

// changeJob locks a job's row, changes it with the function edit, and writes it.
func (j *Rows) changeJob(ctx context.Context, name string, edit func(*sql.Tx, job.Row, time.Time) (job.Row, error)) (job.Row, error) {
	var r job.Row
	err := j.ledger.Change(ctx, func(tx *sql.Tx) error {
		before, err := j.jobRow(ctx, tx, name, j.ledger.Engine.ForUpdate)
		if err != nil {
			return err
		}
		now, err := j.ledger.DatabaseTime(ctx, tx) // read after the wait for the row
		if err != nil {
			return err
		}
		if r, err = edit(tx, before, now); err != nil {
			return err
		}
		return j.writeJob(ctx, tx, &r)
	})
	return r, err
}

// writeJob writes a locked row. It writes the report only if the row has one.
func (j *Rows) writeJob(ctx context.Context, tx *sql.Tx, r *job.Row) error {
	update := j.ledger.Builder().Update("jobs").Where(squirrel.Eq{"name": r.Name})
	values := j.jobValues(r)
	for i, column := range jobColumns() {
		update = update.Set(column, values[i])
	}
	if r.Report != nil {
		update = update.Set("report", r.Report)
	}
	_, err := update.RunWith(tx).ExecContext(ctx)
	return err
}

// maybe scans a time that may be NULL; NULL leaves the time zero.
type maybe struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m maybe) Scan(value any) error {
	if value == nil {
		*m.to = time.Time{}
		return nil
	}
	return engine.ScanTime(m.to).Scan(value)
}

// maybeTime returns t in the form that is stored, NULL for the zero time.
func (j *Rows) maybeTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return j.ledger.Engine.Time(t)
}

// BeginJob implements job.Runs. In one transaction, with the row locked, it checks that
// the job is due. It ends a run whose runner has failed, and begins the next run.
func (j *Rows) BeginJob(ctx context.Context, name, host string) (run job.Run, begun bool, err error) {
	_, err = j.changeJob(ctx, name, func(tx *sql.Tx, r job.Row, now time.Time) (job.Row, error) {
		if begun = r.Verdict(now, host) == job.Due; !begun {
			return r, nil
		}
		if err := j.endRun(ctx, tx, r.Run(), now, job.Outcome{Result: job.ResultLost, Error: job.TakenOver(host)}); err != nil {
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

// trimRuns removes the oldest runs from the history. run is the last run in it. It is
// called at the beginning of a run, so that it also bounds the history of a job whose
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

// fenced makes the writes of a run in a transaction that locks the job's row. It returns
// job.ErrLost if the row no longer names the run, because a later run may have begun. It
// also records that the runner is alive.
func (j *Rows) fenced(ctx context.Context, run job.Run, write func(tx *sql.Tx, r *job.Row, now time.Time) error) error {
	_, err := j.changeJob(ctx, run.Job, func(tx *sql.Tx, r job.Row, now time.Time) (job.Row, error) {
		//double:unfenced !r.Holds(run) => false
		if !r.Holds(run) {
			return r, job.ErrLost
		}
		r.HeardAt = now
		err := write(tx, &r, now)
		return r, err
	})
	return err
}

// endRun writes the end of a run to the history, unless it is already written.
func (j *Rows) endRun(ctx context.Context, tx *sql.Tx, run job.Run, now time.Time, o job.Outcome) error {
	_, err := j.ledger.Builder().Update("job_runs").
		Set("finished_at", j.ledger.Engine.Time(now)).Set("result", string(o.Result)).Set("error", o.Error).
		Where(squirrel.Eq{"job": run.Job, "token": run.Token, "finished_at": nil}).
		RunWith(tx).ExecContext(ctx)
	return err
}

// JobRuns returns at most limit runs of a job with numbers greater than after, in order.
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
