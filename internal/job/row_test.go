package job_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	return parsed
}

func TestSchedules(t *testing.T) {
	for _, test := range []struct{ schedule, after, want string }{
		{"every 6h", "2026-03-01T10:00:00Z", "2026-03-01T16:00:00Z"},
		{"every 90s", "2026-03-01T10:00:00Z", "2026-03-01T10:01:30Z"},
		{"0 1,2,3 * * *", "2026-03-01T02:00:00Z", "2026-03-01T03:00:00Z"},
		{"0 1,2,3 * * *", "2026-03-01T03:00:00Z", "2026-03-02T01:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 1 * * *", "2026-01-10T12:00:00Z", "2026-01-11T00:00:00Z"},
		{"CRON_TZ=Europe/Berlin 0 1 * * *", "2026-07-10T12:00:00Z", "2026-07-10T23:00:00Z"},
		// On 2026-03-29 the clocks change from 2 to 3 o'clock. A schedule at a skipped time
		// fires within the hour after it.
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-29T01:30:00Z"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"},
		{"CRON_TZ=Europe/Berlin 0 */2 * * *", "2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z"},
		{"CRON_TZ=Africa/Cairo 0 */6 * * *", "2026-04-23T16:30:00Z", "2026-04-23T22:00:00Z"},
		// On 2026-10-25 they change from 3 to 2 o'clock. A schedule at a repeated time fires
		// once.
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"CRON_TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		{"CRON_TZ=Europe/Berlin 30 * * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
	} {
		s, err := job.Parse(test.schedule)
		require.NoError(t, err, test.schedule)
		require.Equal(t, at(t, test.want), s.Next(at(t, test.after)), "%s after %s", test.schedule, test.after)
	}
	for _, bad := range []string{
		"", "every", "every 6", "every 10ms", "every -6h", "* * * *", "* * * * * *", "@daily", "61 * * * *", "0 0 30 2 *",
		"CRON_TZ=Mars/Olympus 0 1 * * *", "CRON_TZ= 0 1 * * *", "CRON_TZ=Local 0 1 * * *",
		"CRON_TZ=localtime 0 1 * * *", "CRON_TZ=right/Europe/Berlin 0 1 * * *", "TZ=UTC 0 1 * * *", "@every 6h",
		strings.Repeat("1,", 200) + "1 * * * *",
	} {
		_, err := job.Parse(bad)
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%q: %v", bad, err)
		require.ErrorContains(t, err, "schedule", bad)
	}
}

// TestDailyFiresOnceADay: a daily job fires once on each local day, whatever changes of
// clocks its zone has.
func TestDailyFiresOnceADay(t *testing.T) {
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"} {
		for _, fields := range []string{"0 1 * * *", "30 2 * * *", "0 0 * * *", "15 3 * * *"} {
			s, err := job.Parse("CRON_TZ=" + zone + " " + fields)
			require.NoError(t, err)
			next := s.Next(at(t, "2015-01-01T12:00:00Z"))
			for range 365 * 10 {
				after := s.Next(next)
				from, to := next.In(s.Zone()), after.In(s.Zone())
				days := time.Date(to.Year(), to.Month(), to.Day(), 12, 0, 0, 0, time.UTC).
					Sub(time.Date(from.Year(), from.Month(), from.Day(), 12, 0, 0, 0, time.UTC)).Hours() / 24
				require.InDelta(t, 1, days, 0, "%s in %s: %s, then %s", fields, zone, from, to)
				next = after
			}
		}
	}
}

func TestVerdictOnWhetherAnInstanceMayRunTheJob(t *testing.T) {
	now := at(t, "2026-03-01T02:00:10Z")
	row := func(edit func(*job.Row)) job.Row {
		r := job.Row{
			Name: "statement", Enabled: true, Schedule: "0 1,2,3 * * *", Per: job.PerDay, StaleAfter: 30 * time.Minute,
			Status: job.StatusIdle, DueAt: now.Add(-10 * time.Second),
		}
		edit(&r)
		return r
	}
	running := func(silent time.Duration) func(*job.Row) {
		return func(r *job.Row) {
			r.Status, r.HeardAt, r.StartedAt, r.DueAt = job.StatusRunning, now.Add(-silent), now.Add(-silent), now.Add(time.Hour)
		}
	}
	for name, test := range map[string]struct {
		edit func(*job.Row)
		want job.Verdict
	}{
		"due":                          {func(*job.Row) {}, job.Due},
		"early":                        {func(r *job.Row) { r.DueAt = now.Add(time.Second) }, job.Early},
		"off":                          {func(r *job.Row) { r.Enabled = false }, job.Off},
		"off, but asked for":           {func(r *job.Row) { r.Enabled, r.WantedBy = false, "ann" }, job.Due},
		"done today":                   {func(r *job.Row) { r.LastDay = "2026-03-01" }, job.DoneToday},
		"done today, but asked for":    {func(r *job.Row) { r.LastDay, r.WantedBy = "2026-03-01", "ann" }, job.Due},
		"done yesterday":               {func(r *job.Row) { r.LastDay = "2026-02-28" }, job.Due},
		"pinned here":                  {func(r *job.Row) { r.Host = "a" }, job.Due},
		"pinned elsewhere":             {func(r *job.Row) { r.Host = "b" }, job.Elsewhere},
		"pinned elsewhere and asked":   {func(r *job.Row) { r.Host, r.WantedBy = "b", "ann" }, job.Elsewhere},
		"running":                      {running(29 * time.Minute), job.Busy},
		"silent":                       {running(31 * time.Minute), job.Due},
		"silent, pinned elsewhere":     {func(r *job.Row) { running(31 * time.Minute)(r); r.Host = "b" }, job.Elsewhere},
		"silent, switched off":         {func(r *job.Row) { running(31 * time.Minute)(r); r.Enabled = false }, job.Off},
		"heard of in the future":       {running(-31 * time.Minute), job.Due},
		"heard of in the future, idle": {func(r *job.Row) { r.HeardAt, r.DueAt = now.AddDate(0, 0, 2), now.Add(time.Hour) }, job.Due},
		"scheduled in the future":      {func(r *job.Row) { r.DueAt = now.AddDate(1, 0, 0) }, job.Due},
		"due tomorrow":                 {func(r *job.Row) { r.DueAt = at(t, "2026-03-02T01:00:00Z") }, job.Early},
		"stale_after lowered":          {func(r *job.Row) { running(29 * time.Second)(r); r.StaleAfter, r.ChangedAt = time.Second, now }, job.Busy},
		"lowered, and silent":          {func(r *job.Row) { running(61 * time.Second)(r); r.StaleAfter, r.ChangedAt = time.Second, now }, job.Due},
		"lowered, and heard of": {func(r *job.Row) {
			running(2 * time.Second)(r)
			r.StaleAfter, r.ChangedAt = time.Second, now.Add(-3*time.Second)
		}, job.Due},
		"began in the future": {func(r *job.Row) { r.StartedAt, r.DueAt = now.AddDate(1, 0, 0), now.AddDate(1, 0, 1) }, job.Due},
	} {
		r := row(test.edit)
		require.Equal(t, test.want, r.Verdict(now, "a"), name)
	}
}

func TestRowTransitions(t *testing.T) {
	now := at(t, "2026-03-01T01:00:03Z")
	r, err := job.NewRow(job.Definition{Name: "statement", Schedule: "0 1,2,3 * * *", Per: job.PerDay}, now.Add(-time.Hour))
	require.NoError(t, err)
	require.Equal(t, at(t, "2026-03-01T01:00:00Z"), r.DueAt)
	require.Equal(t, job.Due, r.Verdict(now, "a"))

	begun, err := r.Begun(now, "a")
	require.NoError(t, err)
	require.Equal(t, job.Run{Job: "statement", Token: 1, Host: "a", Began: now, StaleAfter: job.StaleAfterDefault, Zone: time.UTC}, begun.Run())
	require.Equal(t, job.Busy, begun.Verdict(now, "b"))
	_, err = begun.Asked(now, "ann")
	require.Equal(t, draw.CodeJobRunning, draw.CodeOf(err))

	later := now.Add(time.Minute)
	ok := begun.Finished(later, job.Outcome{Result: job.ResultOK, Report: []byte(`{}`)})
	require.Equal(t, at(t, "2026-03-02T01:00:00Z"), ok.DueAt, "the other firings of the day are done")
	require.Equal(t, "2026-03-01", ok.LastDay)
	require.Equal(t, later, ok.LastSuccess)

	failed := begun.Finished(later, job.Outcome{Result: job.ResultFailed, Error: "no"})
	require.Equal(t, at(t, "2026-03-01T02:00:00Z"), failed.DueAt, "the next firing makes up for it")
	require.Equal(t, "no", failed.LastError)

	soon := begun.Finished(later, job.Outcome{Result: job.ResultFailed, Error: "no", Retry: time.Minute})
	require.Equal(t, later.Add(time.Minute), soon.DueAt)

	for _, other := range []job.Run{{Token: 2, Began: now}, {Token: 1, Began: now.Add(time.Microsecond)}} {
		require.False(t, begun.Holds(other), "another run")
	}
	run := begun.Run()
	require.True(t, begun.Holds(run))
	require.False(t, ok.Holds(run), "it has ended")

	strange := begun.Finished(later, job.Outcome{Result: job.ResultFailed, Error: "a\x00b\xffc"})
	require.Equal(t, "ab\uFFFDc", strange.LastError, "no database refuses it")

	lost := begun.Finished(later, job.Outcome{Result: job.ResultLost, Error: strings.Repeat("é", job.ErrorMax)})
	require.Equal(t, job.Due, lost.Verdict(later, "b"))
	require.LessOrEqual(t, len(lost.LastError), job.ErrorMax)

	// On a day that already has a success, a requested run is repeated if it is lost.
	asked, err := ok.Asked(later, "ann")
	require.NoError(t, err)
	require.True(t, asked.View(later).Requested)
	asked, err = asked.Begun(later, "a")
	require.NoError(t, err)
	require.False(t, asked.View(later).Requested)
	for result, want := range map[job.Result]job.Verdict{job.ResultLost: job.Due, job.ResultFailed: job.Early, job.ResultOK: job.Early} {
		ended := asked.Finished(later, job.Outcome{Result: result})
		require.Equal(t, want, ended.Verdict(later, "b"), result)
	}

	unread := begun // a newer instance has written its schedule meanwhile
	unread.Schedule = "at full moon"
	ended := unread.Finished(later, job.Outcome{Result: job.ResultOK, Report: []byte(`{}`)})
	require.Equal(t, []any{later, "2026-03-01", begun.DueAt}, []any{ended.LastSuccess, ended.LastDay, ended.DueAt})
	_, err = ended.Begun(later, "a")
	require.Equal(t, draw.CodeInternal, draw.CodeOf(err))

	// One run makes up for a week of downtime.
	week := later.AddDate(0, 0, 7)
	again, err := failed.Begun(week, "a")
	require.NoError(t, err)
	require.Equal(t, at(t, "2026-03-08T02:00:00Z"), again.DueAt)

	every, text := "every 6h", ""
	changed, err := ok.Changed(later, job.Change{Schedule: &every, Host: &text}, "ann")
	require.NoError(t, err)
	require.Equal(t, later.Add(6*time.Hour), changed.DueAt)
	require.Equal(t, "ann", changed.ChangedBy)
	for _, bad := range []job.Change{
		{Schedule: new("never")}, {Host: new("a b")}, {Host: new(strings.Repeat("a", 129))}, {StaleAfter: new(time.Millisecond)}, {StaleAfter: new(8 * 24 * time.Hour)},
	} {
		_, err := ok.Changed(later, bad, "ann")
		require.Equal(t, draw.CodeInvalidRequest, draw.CodeOf(err), "%+v", bad)
	}
}

func TestOverdueCountsFromDueOrLastSign(t *testing.T) {
	now := at(t, "2026-03-01T01:00:00Z")
	r := job.Row{Enabled: true, Schedule: "every 1h", Per: job.PerRun, StaleAfter: time.Minute, Status: job.StatusIdle, DueAt: now, Host: "absent"}
	require.Equal(t, 7*time.Minute, r.Overdue(now.Add(7*time.Minute)), "nobody but the host may run it")
	require.Zero(t, r.Overdue(now.Add(-time.Second)))
	r.Enabled = false
	require.Zero(t, r.Overdue(now.Add(time.Hour)))
	r.Enabled, r.Status, r.HeardAt = true, job.StatusRunning, now
	require.Zero(t, r.Overdue(now.Add(30*time.Second)))
	require.Equal(t, time.Minute, r.Overdue(now.Add(2*time.Minute)))
}

// TestClockSetBack: a job that was scheduled while the clock was a year ahead does not
// wait for a year, and does not run continuously.
func TestClockSetBack(t *testing.T) {
	now := at(t, "2026-03-01T12:00:00Z")
	for _, d := range []job.Definition{
		{Name: "catalogue", Schedule: "every 6h", Per: job.PerRun},
		{Name: "statement", Schedule: "CRON_TZ=Europe/Berlin 0 1,2,3 * * *", Per: job.PerDay},
	} {
		ahead := now.AddDate(1, 0, 0)
		r, err := job.NewRow(d, ahead)
		require.NoError(t, err)
		r, err = r.Changed(ahead, job.Change{Schedule: new("every 5h")}, "ann")
		require.NoError(t, err)
		require.Equal(t, job.Due, r.Verdict(now, "a"), d.Name)

		r, err = r.Begun(now, "a")
		require.NoError(t, err)
		r = r.Finished(now.Add(time.Minute), job.Outcome{Result: job.ResultOK})
		require.Equal(t, job.Early, r.Verdict(now.Add(2*time.Minute), "a"), d.Name)
	}
}
