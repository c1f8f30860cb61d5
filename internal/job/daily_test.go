package job_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

// TestPinnedJobRunsOnItsHost: only its host runs a pinned job. While that host is down no
// instance runs the job, and the row shows since when it is overdue.
func TestPinnedJobRunsOnItsHost(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		o := &overlaps{}
		require.NoError(t, f.stores[0].AddJobs(t.Context(), []job.Definition{definition(o.work)}))
		_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{Host: new("host-2")}, "ann")
		require.NoError(t, err)
		for n := range 2 {
			start(t, f.options(n, definition(o.work)))
		}
		eventually(t, "the job is overdue", func() bool {
			r, now, err := f.stores[0].Job(t.Context(), "work")
			return err == nil && r.Overdue(now) > time.Second
		})
		require.Zero(t, o.runs.Load())
		start(t, f.options(2, definition(o.work)))
		eventually(t, "the run", func() bool { return o.runs.Load() > 0 })
		for _, r := range f.runs("work") {
			require.Equal(t, "host-2", r.Host)
		}
	})
}

// forgetting is a database that records the day of a success only in the memory of the
// instance.
type forgetting struct {
	*stock.Store
	mu   sync.Mutex
	days map[string]string
}

func (f *forgetting) Jobs(ctx context.Context) ([]job.Row, time.Time, error) {
	rows, now, err := f.Store.Jobs(ctx)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rows {
		rows[i].LastDay = f.days[rows[i].Name]
	}
	return rows, now, err
}

func (f *forgetting) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	err := f.Store.FinishJob(ctx, run, o)
	if err != nil || o.Result != job.ResultOK {
		return err
	}
	f.mu.Lock()
	f.days = map[string]string{run.Job: run.Began.In(run.Zone).Format(time.DateOnly)}
	f.mu.Unlock()
	_, err = f.LockDB().ExecContext(ctx, `UPDATE jobs SET last_day = '', due_at = started_at`)
	return err
}

// aDay runs a daily job that fires every second, fails once and then succeeds. Then
// another instance, with another lock, replaces this one. It returns the number of runs
// on that day, or 0 if the test ran over midnight.
func aDay(t *testing.T, f *fleet, edit func(n int, o *job.Options)) int64 {
	t.Helper()
	var tries atomic.Int64
	daily := definition(func(context.Context, job.Run) ([]byte, error) {
		if tries.Add(1) == 1 {
			return nil, errors.New("not yet")
		}
		return nil, nil
	})
	daily.Per, daily.Schedule = job.PerDay, "every 1s"
	first := f.options(0, daily)
	edit(0, &first)
	stop := start(t, first)
	eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
	stop()
	succeeded := f.row("work").LastSuccess

	var polled polls
	other := f.options(1, daily)
	other.Locker, other.Observer = nobody{}, &polled
	edit(1, &other)
	stop = start(t, other)
	time.Sleep(1500 * time.Millisecond) // meanwhile the schedule fires again
	before := polled.Load()
	eventually(t, "further polls", func() bool { return polled.Load() >= before+4 })
	stop()
	if succeeded.Format(time.DateOnly) != time.Now().UTC().Format(time.DateOnly) {
		return 0
	}
	return tries.Load()
}

// TestDailyJobSucceedsOncePerDay: a failed run is repeated, and a day has one success.
// This holds however often the schedule fires, and whatever lock servers lose. The broken
// double keeps the day only in the instance's memory, and has two successes.
func TestDailyJobSucceedsOncePerDay(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		if tries := aDay(t, f, func(int, *job.Options) {}); tries != 0 {
			require.EqualValues(t, 2, tries)
		}
		require.Empty(t, f.row("work").LastError)
	})
	t.Run("the double is caught", func(t *testing.T) {
		everywhere(t, func(t *testing.T, f *fleet) {
			tries := aDay(t, f, func(n int, o *job.Options) {
				double := &forgetting{Store: f.stores[n]}
				o.Rows, o.Runs = double, double
			})
			if tries != 0 {
				require.Greater(t, tries, int64(2))
			}
		})
	})
}

// failing is a lock that can be down.
type failing struct{ down *atomic.Bool }

func (l failing) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	if l.down.Load() {
		return draw.Errorf(draw.CodeLockUnavailable, "no")
	}
	return fn(ctx, 1)
}

// TestLockOutage: a firing during an outage of the lock is repeated.
func TestLockOutage(t *testing.T) {
	t.Parallel()
	f, o := newFleet(t, "sqlite", "table", 1), &overlaps{}
	var down atomic.Bool
	down.Store(true)
	once := definition(o.work)
	once.Schedule = "every 6h"
	options := f.options(0, once)
	options.Locker = failing{&down}
	start(t, options)
	time.Sleep(6 * poll)
	require.Zero(t, o.runs.Load())
	down.Store(false)
	eventually(t, "the run", func() bool { return o.runs.Load() == 1 })
}
