package stock

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

// jobColumns are all of a job's row but its name and its report.
func jobColumns() []string {
	return []string{
		"enabled", "schedule", "per", "host", "stale_after", "status", "holder", "token", "started_at", "heard_at",
		"due_at", "wanted_by", "last_success", "last_day", "last_error", "changed_by", "changed_at",
	}
}

// jobValues are r's, in the order of jobColumns.
func (s *Store) jobValues(r *job.Row) []any {
	return []any{
		r.Enabled, r.Schedule, string(r.Per), r.Host, r.StaleAfter.Milliseconds(), string(r.Status), r.Holder, r.Token,
		s.maybeTime(r.StartedAt), s.maybeTime(r.HeardAt), s.engine.Time(r.DueAt), r.WantedBy, s.maybeTime(r.LastSuccess),
		r.LastDay, r.LastError, r.ChangedBy, s.engine.Time(r.ChangedAt),
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

func (s *Store) selectJobs() squirrel.SelectBuilder {
	return s.ledger.SelectFrom("jobs", append([]string{"name"}, jobColumns()...)...)
}

// AddJobs implements job.Rows. Errors: those of the store.
func (s *Store) AddJobs(ctx context.Context, all []job.Definition) error {
	return s.ledger.Change(ctx, func(tx *sql.Tx) error {
		now, err := s.ledger.DatabaseTime(ctx, tx)
		if err != nil {
			return err
		}
		there, err := ledger.SelectAll(ctx, tx, s.selectJobs(), scanJob)
		if err != nil {
			return err
		}
		for _, d := range all {
			i := slices.IndexFunc(there, func(r job.Row) bool { return r.Name == d.Name })
			switch {
			case i < 0:
				err = s.addJob(ctx, tx, d, now)
			case there[i].ChangedBy == "" && there[i].Schedule != d.Schedule:
				err = s.follow(ctx, tx, d, now)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// addJob makes a job's row, unless another instance is first.
func (s *Store) addJob(ctx context.Context, tx *sql.Tx, d job.Definition, now time.Time) error {
	r, err := job.NewRow(d, now)
	if err != nil {
		return err
	}
	insert := s.ledger.InsertInto("jobs").Columns(append([]string{"name", "report"}, jobColumns()...)...).
		Values(append([]any{r.Name, []byte{}}, s.jobValues(&r)...)...)
	_, err = insert.RunWith(tx).ExecContext(ctx)
	if s.ledger.IsDuplicate(err) {
		return errors.Join(engine.ErrConflict, err) // the next attempt finds the row
	}
	return err
}

// follow gives the row of a job that no operator has changed the schedule of the
// program.
func (s *Store) follow(ctx context.Context, tx *sql.Tx, d job.Definition, now time.Time) error {
	r, err := s.jobRow(ctx, tx, d.Name, s.engine.ForUpdate)
	if err != nil {
		return err
	}
	if r, err = r.Changed(now, job.Change{Schedule: &d.Schedule}, ""); err != nil {
		return err
	}
	return s.writeJob(ctx, tx, &r)
}

// Jobs implements job.Rows: all rows, and the database's time. Errors: those of
// the store.
func (s *Store) Jobs(ctx context.Context) (rows []job.Row, now time.Time, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if now, err = s.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		rows, err = ledger.SelectAll(ctx, tx, s.selectJobs().OrderBy("name"), scanJob)
		return err
	})
	return rows, now, err
}

// Job returns one job's row with its report, and the database's time. Errors:
// CodeJobNotFound, and those of the store.
func (s *Store) Job(ctx context.Context, name string) (r job.Row, now time.Time, err error) {
	err = s.ledger.Snapshot(ctx, func(tx *sql.Tx) error {
		if now, err = s.ledger.DatabaseTime(ctx, tx); err != nil {
			return err
		}
		if r, err = s.jobRow(ctx, tx, name, ""); err != nil {
			return err
		}
		return s.ledger.SelectFrom("jobs", "report").Where(squirrel.Eq{"name": name}).RunWith(tx).QueryRowContext(ctx).Scan(&r.Report)
	})
	return r, now, err
}

// ChangeJob changes a job's row and returns it. Errors: CodeInvalidRequest,
// CodeJobNotFound, and those of the store.
func (s *Store) ChangeJob(ctx context.Context, name string, c job.Change, actor string) (job.Row, error) {
	return s.changeJob(ctx, name, func(_ *sql.Tx, r job.Row, now time.Time) (job.Row, error) { return r.Changed(now, c, actor) })
}

// WantJob asks for a run, whatever the schedule says. Errors: CodeJobNotFound,
// CodeJobRunning, and those of the store.
func (s *Store) WantJob(ctx context.Context, name, actor string) (job.Row, error) {
	return s.changeJob(ctx, name, func(_ *sql.Tx, r job.Row, now time.Time) (job.Row, error) { return r.Asked(now, actor) })
}

// jobRow reads one row; with the dialect's forUpdate it stays locked.
func (s *Store) jobRow(ctx context.Context, tx *sql.Tx, name, suffix string) (job.Row, error) {
	found, err := ledger.SelectAll(ctx, tx, s.selectJobs().Where(squirrel.Eq{"name": name}).Suffix(suffix), scanJob)
	if err == nil && len(found) == 0 {
		err = job.ErrNotFound(name)
	}
	if err != nil {
		return job.Row{}, err
	}
	return found[0], nil
}

// changeJob writes what edit makes of a job's row, which is locked meanwhile.
func (s *Store) changeJob(ctx context.Context, name string, edit func(*sql.Tx, job.Row, time.Time) (job.Row, error)) (job.Row, error) {
	var r job.Row
	err := s.ledger.Change(ctx, func(tx *sql.Tx) error {
		before, err := s.jobRow(ctx, tx, name, s.engine.ForUpdate)
		if err != nil {
			return err
		}
		now, err := s.ledger.DatabaseTime(ctx, tx) // after the wait for the row
		if err != nil {
			return err
		}
		if r, err = edit(tx, before, now); err != nil {
			return err
		}
		return s.writeJob(ctx, tx, &r)
	})
	return r, err
}

// writeJob writes a row that is locked; the report only when there is one.
func (s *Store) writeJob(ctx context.Context, tx *sql.Tx, r *job.Row) error {
	update := s.ledger.Builder().Update("jobs").Where(squirrel.Eq{"name": r.Name})
	values := s.jobValues(r)
	for i, column := range jobColumns() {
		update = update.Set(column, values[i])
	}
	if r.Report != nil {
		update = update.Set("report", r.Report)
	}
	_, err := update.RunWith(tx).ExecContext(ctx)
	return err
}

// maybe scans a time that may be NULL, which leaves it zero.
type maybe struct{ to *time.Time }

// Scan implements sql.Scanner.
func (m maybe) Scan(value any) error {
	if value == nil {
		*m.to = time.Time{}
		return nil
	}
	return engine.ScanTime(m.to).Scan(value)
}

// maybeTime is t as the dialect stores it, NULL for the zero time.
func (s *Store) maybeTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return s.engine.Time(t)
}
