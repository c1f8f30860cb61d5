package job_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
	"drawsvc/internal/servertest"
)

// TestStopGivesTheRunBack: if an instance shuts down during a run, another instance
// repeats the run at once.
func TestStopGivesTheRunBack(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		begun := make(chan struct{})
		stop := start(t, f.options(0, definition(func(ctx context.Context, _ job.Run) ([]byte, error) {
			close(begun)
			<-ctx.Done()
			return nil, ctx.Err()
		})))
		<-begun
		stop()
		require.Equal(t, job.ResultLost, f.runs("work")[0].Result)
		require.Equal(t, job.StatusIdle, f.row("work").Status)
		o := &overlaps{}
		start(t, f.options(1, definition(o.work)))
		eventually(t, "the run", func() bool { return o.runs.Load() > 0 })
	})
}

// TestFailingWorkEndsTheRunOnly: errors, panics and reports that are too long end the
// run, but not the runner.
func TestFailingWorkEndsTheRunOnly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "sqlite", "table", 1)
	var n atomic.Int64
	d := definition(func(ctx context.Context, _ job.Run) ([]byte, error) {
		switch n.Add(1) {
		case 1:
			return nil, errors.New("no such luck")
		case 2:
			panic("ouch")
		case 3:
			return make([]byte, job.ReportMax+1), nil
		case 4:
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []byte(`{}`), nil
	})
	d.Max, d.Retry = 300*time.Millisecond, 10*time.Millisecond
	start(t, f.options(0, d))
	eventually(t, "the success", func() bool { return len(f.runs("work")) >= 5 && !f.row("work").LastSuccess.IsZero() })
	for i, want := range []string{"no such luck", "panic: ouch", "more than", "took longer than 300ms"} {
		r := f.runs("work")[i]
		require.Equal(t, job.ResultFailed, r.Result, r.Error)
		require.Contains(t, r.Error, want)
	}
}

// TestHistoryIsBounded: the row's history contains only the last runs.
func TestHistoryIsBounded(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	f := newFleet(t, "sqlite", "table", 1)
	require.NoError(t, f.stores[0].AddJobs(t.Context(), []job.Definition{definition(nil)}))
	for range job.RunsKept + 20 {
		_, err := f.stores[0].WantJob(t.Context(), "work", "ann")
		require.NoError(t, err)
		run, begun, err := f.stores[0].BeginJob(t.Context(), "work", "host-0")
		require.NoError(t, err)
		require.True(t, begun)
		require.NoError(t, f.stores[0].FinishJob(t.Context(), run, job.Outcome{Result: job.ResultOK}))
		require.ErrorIs(t, f.stores[0].FinishJob(t.Context(), run, job.Outcome{Result: job.ResultOK}), job.ErrLost)
	}
	runs, err := f.stores[0].JobRuns(t.Context(), "work", 0, 1000)
	require.NoError(t, err)
	require.Len(t, runs, job.RunsKept)
	require.EqualValues(t, job.RunsKept+20, runs[len(runs)-1].Token)
	require.Equal(t, "ann", runs[0].AskedBy)
}
