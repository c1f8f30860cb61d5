package job_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
)

// polls counts how often an instance has read the rows.
type polls struct{ atomic.Int64 }

func (p *polls) Seen(context.Context, []job.Row, time.Time) { p.Add(1) }
func (*polls) Ended(string, job.Result)                     {}

// seen are the polls of a fleet.
type seen [3]polls

// again waits until each instance has read the rows a few more times.
func (s *seen) again(t *testing.T) {
	t.Helper()
	for n := range s {
		before := s[n].Load()
		eventually(t, "further polls", func() bool { return s[n].Load() >= before+4 })
	}
}

// TestStartingFleetRunsADueJobOnce: if a fleet starts while a job is due, the job runs
// once.
func TestStartingFleetRunsADueJobOnce(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		o := &overlaps{}
		once := definition(o.work)
		once.Schedule = "every 6h"
		var polled seen
		for n := range 3 {
			options := f.options(n, once)
			options.Observer = &polled[n]
			start(t, options)
		}
		eventually(t, "the run", func() bool { return o.runs.Load() > 0 && f.row("work").Status == job.StatusIdle })
		polled.again(t)
		require.EqualValues(t, 1, o.runs.Load())
		require.Len(t, f.runs("work"), 1)
	})
}

// arriving is a database that records when instances read it. Its job is due at one
// instant. From then on it returns no rows, so that no run begins.
type arriving struct {
	job.Runs
	due time.Time

	mu sync.Mutex
	// started contains the time of each instance's first read, fired the times of reads
	// after due.
	started, fired []time.Time
}

func (a *arriving) AddJobs(context.Context, []job.Definition) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.started = append(a.started, time.Now())
	return nil
}

func (a *arriving) Jobs(context.Context) ([]job.Row, time.Time, error) {
	now := time.Now()
	row := job.Row{Name: "work", Enabled: true, Schedule: "every 6h", Per: job.PerRun, StaleAfter: time.Minute, Status: job.StatusIdle, DueAt: a.due}
	if now.Before(a.due) {
		return []job.Row{row}, now, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fired = append(a.fired, now)
	return nil, now, nil
}

// crowded reports whether more than a third of the instances arrive within a tenth of
// span.
func crowded(at []time.Time, span time.Duration) bool {
	slices.SortFunc(at, time.Time.Compare)
	for n := len(at) / 3; n < len(at); n++ {
		if at[n].Sub(at[n-len(at)/3]) < span/10 {
			return true
		}
	}
	return false
}

// arrive starts 60 instances at the same time, with a job that is due two and a half
// polls later.
func arrive(t *testing.T, edit func(*job.Runner)) (started, fired []time.Time) {
	t.Helper()
	const instances, poll = 60, 4 * time.Second
	a := &arriving{due: time.Now().Add(2*poll + poll/2)}
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range instances {
		r, err := job.New(job.Options{
			Rows: a, Runs: a, Locker: nobody{}, Observer: quiet{}, Log: slog.New(slog.DiscardHandler),
			Host: "host", Jobs: []job.Definition{definition(nil)}, Poll: poll,
		})
		require.NoError(t, err)
		edit(r)
		all.Go(func() { r.Run(ctx) })
	}
	time.Sleep(time.Until(a.due) + poll/2) // from due on, no instance polls twice
	cancel()
	all.Wait()
	require.Len(t, a.started, instances)
	return a.started, a.fired
}

// TestFleetDoesNotComeAtOnce: instances that start at the same time, or that wait for the
// same firing, read the database at different times. The broken double polls when it
// starts.
func TestFleetDoesNotComeAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		started, fired := arrive(t, func(*job.Runner) {})
		require.False(t, crowded(started, 4*time.Second))
		require.Greater(t, len(fired), 50)
		require.False(t, crowded(fired, time.Second))
	})
	synctest.Test(t, func(t *testing.T) {
		started, _ := arrive(t, (*job.Runner).Wake)
		require.True(t, crowded(started, 4*time.Second))
	})
}
