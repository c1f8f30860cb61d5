package job_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
)

// TestPinned: only its host runs the job. While the host is away nobody does, and
// the row says since when.
func TestPinned(t *testing.T) {
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

// TestOnceADay: however often the schedule fires, and whatever lock servers
// lose, a day has one success. Failures are made up for.
func TestOnceADay(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		var tries atomic.Int64
		daily := definition(func(context.Context, job.Run) ([]byte, error) {
			if tries.Add(1) == 1 {
				return nil, errors.New("not yet")
			}
			return nil, nil
		})
		daily.Per, daily.Schedule = job.PerDay, "every 1s"
		stop := start(t, f.options(0, daily))
		eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
		stop()
		require.EqualValues(t, 2, tries.Load())
		require.Empty(t, f.row("work").LastError)

		// Another instance, another lock, which knows nothing of the first.
		other := f.options(1, daily)
		other.Locker = nobody{}
		start(t, other)
		time.Sleep(1500 * time.Millisecond)
		if f.row("work").LastDay == time.Now().UTC().Format(time.DateOnly) { // not over midnight
			require.EqualValues(t, 2, tries.Load())
		}
	})
}

// failing is a lock that is down.
type failing struct{ down *atomic.Bool }

func (l failing) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	if l.down.Load() {
		return draw.Errorf(draw.CodeLockUnavailable, "no")
	}
	return fn(ctx, 1)
}

// TestLockOutage: a firing during an outage of the lock is made up for.
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
