package job

import (
	"strings"
	"time"
)

// Verdict says whether a job is to be run now, and if not, why.
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

// NewRow is the row of a job that the database has not held before: it is due at
// once, save one that succeeds once a day, which waits for its schedule.
func NewRow(d Definition, now time.Time) (Row, error) {
	s, err := Parse(d.Schedule)
	if err != nil {
		return Row{}, err
	}
	r := Row{
		Name: d.Name, Enabled: true, Schedule: d.Schedule, Per: d.Per, StaleAfter: StaleAfterDefault,
		Status: StatusIdle, DueAt: now, ChangedAt: now,
	}
	if d.Per == PerDay {
		r.DueAt = s.Next(now)
	}
	return r, nil
}

// Verdict says whether host is to run the job at an instant of the database's
// clock. A run that has been silent for StaleAfter may be taken over.
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
		return Due // its runner has died, whatever the schedule says
	case r.isEarly(now):
		return Early
	case r.Per == PerDay && r.LastDay == r.day(now):
		return DoneToday
	}
	return Due
}

// isHeld says that a run is under way whose runner may still be at work. A clock
// that was far ahead for a while keeps nobody waiting for it.
func (r *Row) isHeld(now time.Time) bool {
	return r.Status == StatusRunning && now.Sub(r.HeardAt).Abs() < r.StaleAfter
}

// isEarly says that the job is not due yet. The instant stands for nothing when
// the run that it was counted from began in the future: the clock was set back.
func (r *Row) isEarly(now time.Time) bool {
	return now.Before(r.DueAt) && !r.StartedAt.After(now.Add(clockSlack))
}

// clockSlack is how far the clocks of two database servers of a fleet may differ
// without a word.
const clockSlack = time.Minute

func (r *Row) day(t time.Time) string {
	s, err := Parse(r.Schedule)
	if err != nil {
		return t.UTC().Format(time.DateOnly) // a newer instance may know more schedules
	}
	return s.Day(t)
}

// Begun is the row after host has begun a run. The caller has checked the
// Verdict on the same row.
func (r Row) Begun(now time.Time, host string) (Row, error) {
	s, err := Parse(r.Schedule)
	if err != nil {
		return r, err
	}
	r.Status, r.Holder, r.WantedBy = StatusRunning, host, ""
	r.StartedAt, r.HeardAt, r.DueAt = now, now, s.Next(now)
	r.Token++
	return r, nil
}

// Run is the run that Begun has begun.
func (r *Row) Run() Run {
	run := Run{Job: r.Name, Token: r.Token, Host: r.Holder, Began: r.StartedAt, StaleAfter: r.StaleAfter, Zone: time.UTC}
	if s, err := Parse(r.Schedule); err == nil {
		run.Zone = s.Zone()
	}
	return run
}

// Finished is the row after its run has ended.
func (r Row) Finished(now time.Time, o Outcome) (Row, error) {
	s, err := Parse(r.Schedule)
	if err != nil {
		return r, err
	}
	r.Status, r.LastError = StatusIdle, ""
	if o.Report != nil {
		r.Report = o.Report
	}
	switch o.Result {
	case ResultOK:
		r.LastSuccess, r.LastDay = now, s.Day(r.StartedAt)
		if r.Per == PerDay {
			r.DueAt = s.nextDay(r.StartedAt)
		}
		return r, nil
	case ResultLost:
		r.DueAt = now
	default:
		if retry := now.Add(o.Retry); o.Retry > 0 && retry.Before(r.DueAt) {
			r.DueAt = retry
		}
	}
	r.LastError = shorten(o.Error)
	return r, nil
}

// Changed is the row after an operator's change.
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

// Asked is the row after an actor asked for a run. Error: CodeJobRunning.
func (r Row) Asked(now time.Time, actor string) (Row, error) {
	if r.isHeld(now) {
		return r, ErrRunning(r.Name)
	}
	r.WantedBy = actor
	return r, nil
}

// Overdue is how long the job has been waiting for somebody to run it; 0 while it
// is off, early, done or held.
func (r *Row) Overdue(now time.Time) time.Duration {
	switch r.Verdict(now, r.Host) {
	case Due:
		since := r.DueAt
		if r.Status == StatusRunning {
			since = r.HeardAt.Add(r.StaleAfter)
		}
		return max(0, now.Sub(since))
	default:
		return 0
	}
}

// shorten cuts a text to ErrorMax bytes, between two characters.
func shorten(text string) string {
	if len(text) <= ErrorMax {
		return text
	}
	return strings.ToValidUTF8(text[:ErrorMax], "")
}
