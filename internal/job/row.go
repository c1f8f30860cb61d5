package job

import (
	"cmp"
	"strings"
	"time"

	"drawsvc/internal/draw"
)

// Verdict states whether a job must run now, and if not, why.
type Verdict string

// The verdicts.
const (
	Due       Verdict = "due"
	Off       Verdict = "off"
	Elsewhere Verdict = "elsewhere" // pinned to another host
	Busy      Verdict = "running"
	Early     Verdict = "early"
	DoneToday Verdict = "done-today"
)

// NewRow returns the first row of a job. The job is due at once. A job that succeeds once
// a day waits for its schedule instead.
func NewRow(d Definition, now time.Time) (Row, error) {
	s, err := Parse(d.Schedule)
	if err != nil {
		return Row{}, err
	}
	r := Row{
		Name: d.Name, Enabled: true, Schedule: d.Schedule, Per: d.Per, StaleAfter: cmp.Or(d.StaleAfter, StaleAfterDefault),
		Status: StatusIdle, DueAt: now, ChangedAt: now,
	}
	if d.Per == PerDay {
		r.DueAt = s.Next(now)
	}
	return r, nil
}

// Verdict returns whether host must run the job at a time of the database's clock. A run
// that has been silent for StaleAfter may be taken over.
func (r *Row) Verdict(now time.Time, host string) Verdict {
	switch {
	case r.isHeld(now):
		return Busy
	case r.Host != "" && r.Host != host:
		return Elsewhere
	case r.WantedBy != "":
		return Due
	case !r.Enabled:
		return Off
	case r.Status == StatusRunning:
		return Due // its runner has died, so the schedule does not matter
	case r.isEarly(now):
		return Early
	case r.Per == PerDay && r.LastDay == r.day(now):
		return DoneToday
	}
	return Due
}

// isHeld reports whether a run is under way whose runner may still be working. A report
// far in the future does not count, because the clock has been set back since.
func (r *Row) isHeld(now time.Time) bool {
	//double:no-takeover && now.Sub(r.HeardAt).Abs() < r.silenceMax() =>
	return r.Status == StatusRunning && now.Sub(r.HeardAt).Abs() < r.silenceMax()
}

// silenceMax returns how long the runner may be silent. If the row was changed after the
// runner's last report, the runner may not have read the change. It may then still report
// at the earlier interval.
func (r *Row) silenceMax() time.Duration {
	if r.ChangedAt.After(r.HeardAt) {
		return max(r.StaleAfter, 2*hearMax)
	}
	return r.StaleAfter
}

// isEarly reports whether the job is not due yet. It ignores DueAt if the clock was set
// back since. It recognizes that by a last run in the future, or by a DueAt after the
// latest possible one.
func (r *Row) isEarly(now time.Time) bool {
	ahead := now.Add(clockSlack)
	return now.Before(r.DueAt) && !r.StartedAt.After(ahead) && !r.HeardAt.After(ahead) && !r.DueAt.After(r.dueMax(ahead))
}

// dueMax returns the latest DueAt that a row written at now or earlier can have. For a
// job that has succeeded today, that is a firing of tomorrow.
func (r *Row) dueMax(now time.Time) time.Time {
	s, err := Parse(r.Schedule)
	if err != nil {
		return r.DueAt // a newer instance may use another form of schedules
	}
	if r.Per == PerDay {
		now = now.Add(longestDay)
	}
	return s.Next(now)
}

// longestDay is the length of the day on which clocks are set back.
const longestDay = 25 * time.Hour

// clockSlack is the difference between the clocks of two database servers of a fleet that
// may stay unnoticed.
const clockSlack = time.Minute

func (r *Row) day(t time.Time) string {
	s, err := Parse(r.Schedule)
	if err != nil {
		return t.UTC().Format(time.DateOnly) // a newer instance may use another form of schedules
	}
	return s.Day(t)
}

// Begun returns the row after host has begun a run. The caller has checked the Verdict
// on the same row.
func (r Row) Begun(now time.Time, host string) (Row, error) {
	s, err := Parse(r.Schedule)
	if err != nil {
		return r, draw.WrapInternal(err, "the schedule of job %q cannot be read", r.Name)
	}
	r.Status, r.Holder = StatusRunning, host
	r.StartedAt, r.HeardAt, r.DueAt = now, now, s.Next(now)
	r.Token++
	return r, nil
}

// Run returns the run that Begun has begun.
func (r *Row) Run() Run {
	run := Run{Job: r.Name, Token: r.Token, Host: r.Holder, Began: r.StartedAt, StaleAfter: r.StaleAfter, Zone: time.UTC}
	if s, err := Parse(r.Schedule); err == nil {
		run.Zone = s.Zone()
	}
	return run
}

// Holds reports whether run is the run that is under way. Its number does not suffice: a
// database that has lost its last commits assigns the number again.
func (r *Row) Holds(run Run) bool {
	return r.Status == StatusRunning && r.Token == run.Token && r.StartedAt.Equal(run.Began)
}

// Finished returns the row after its run has ended. If a newer instance meanwhile wrote
// a schedule that this one cannot read, the row keeps the firing that Begun computed.
func (r Row) Finished(now time.Time, o Outcome) Row {
	r.Status, r.LastError = StatusIdle, ""
	if o.Report != nil {
		r.Report = o.Report
	}
	switch o.Result {
	case ResultOK:
		r.WantedBy, r.LastSuccess, r.LastDay = "", now, r.day(r.StartedAt)
		if s, err := Parse(r.Schedule); err == nil && r.Per == PerDay {
			r.DueAt = s.nextDay(r.StartedAt)
		}
		return r
	case ResultLost:
		r.DueAt = now // the actor who requested the run still waits
	default:
		r.WantedBy = ""
		if retry := now.Add(o.Retry); o.Retry > 0 && retry.Before(r.DueAt) {
			r.DueAt = retry
		}
	}
	r.LastError = shorten(o.Error)
	return r
}

// Changed returns the row after an operator's change.
func (r Row) Changed(now time.Time, c Change, actor string) (Row, error) {
	if err := c.Check(); err != nil {
		return r, err
	}
	if c.Enabled != nil {
		r.Enabled = *c.Enabled
	}
	if c.Host != nil {
		r.Host = *c.Host
	}
	if c.StaleAfter != nil {
		r.StaleAfter = *c.StaleAfter
	}
	if c.Schedule != nil && *c.Schedule != r.Schedule {
		s, err := Parse(*c.Schedule)
		if err != nil {
			return r, err
		}
		r.Schedule, r.DueAt = strings.Clone(*c.Schedule), s.Next(now)
	}
	r.ChangedBy, r.ChangedAt = actor, now
	return r, nil
}

// Asked returns the row after an actor requested a run. Error: CodeJobRunning.
func (r Row) Asked(now time.Time, actor string) (Row, error) {
	if r.isHeld(now) {
		return r, ErrRunning(r.Name)
	}
	r.WantedBy = actor
	return r, nil
}

// Overdue returns how long the job has been due without a run. It returns 0 while the job
// is off, early, done or held.
func (r *Row) Overdue(now time.Time) time.Duration {
	switch r.Verdict(now, r.Host) {
	case Due:
		since := r.DueAt
		if r.Status == StatusRunning {
			since = r.HeardAt.Add(r.silenceMax())
		}
		return max(0, now.Sub(since))
	default:
		return 0
	}
}

// shorten makes a text valid for every database: UTF-8 without NUL, and at most ErrorMax
// bytes, without a partial character.
func shorten(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD")
	if len(text) <= ErrorMax {
		return text
	}
	return strings.ToValidUTF8(text[:ErrorMax], "")
}
