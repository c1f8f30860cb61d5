package job_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
	"drawsvc/internal/stock/stocktest"
)

// TestRunNumberReusedAfterFailover: after a failover, a database may have lost its last
// commits. It then gives the number of a run to another run, and the first run writes
// nothing.
func TestRunNumberReusedAfterFailover(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		s := f.stores[0]
		require.NoError(t, s.AddJobs(t.Context(), []job.Definition{definition(nil)}))
		first, begun, err := s.BeginJob(t.Context(), "work", "host-0")
		require.NoError(t, err)
		require.True(t, begun)
		stocktest.ExecAll(t, s, []string{`DELETE FROM job_runs`, `UPDATE jobs SET token = 0, status = 'idle', heard_at = NULL, started_at = NULL, due_at = changed_at`})

		second, begun, err := s.BeginJob(t.Context(), "work", "host-1")
		require.NoError(t, err)
		require.True(t, begun)
		require.Equal(t, first.Token, second.Token)
		_, err = s.HearJob(t.Context(), first)
		require.ErrorIs(t, err, job.ErrLost)
		require.ErrorIs(t, s.FinishJob(t.Context(), first, job.Outcome{Result: job.ResultOK}), job.ErrLost)
		_, err = s.HearJob(t.Context(), second)
		require.NoError(t, err)
		require.NoError(t, s.FinishJob(t.Context(), second, job.Outcome{Result: job.ResultOK}))
		require.Equal(t, "host-1", f.row("work").Holder)
	})
}

// breaking is a lock that breaks while it is held.
type breaking struct{ lost <-chan struct{} }

func (l breaking) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	held, lose := context.WithCancel(ctx)
	defer lose()
	go func() {
		select {
		case <-l.lost:
			lose()
		case <-held.Done():
		}
	}()
	return fn(held, 1)
}

// TestRunEndsWithItsLock: the context of a run ends when its lock may be lost. The run
// then counts as lost, and the job is due at once.
func TestRunEndsWithItsLock(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		lost := make(chan struct{})
		options := f.options(0, definition(func(ctx context.Context, run job.Run) ([]byte, error) {
			if run.Token > 1 {
				return nil, nil
			}
			lost <- struct{}{}
			<-ctx.Done() // otherwise a failing test never ends
			return nil, ctx.Err()
		}))
		options.Jobs[0].Schedule, options.Locker = "every 6h", breaking{lost}
		start(t, options)
		eventually(t, "the run after it", func() bool { return !f.row("work").LastSuccess.IsZero() })
		require.Equal(t, job.ResultLost, f.runs("work")[0].Result)
	})
}

// TestRunningJobBlocksNoWriter: while a job works, others can write, even on SQLite,
// which allows only one writer.
func TestRunningJobBlocksNoWriter(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		start(t, f.options(0, definition(func(ctx context.Context, _ job.Run) ([]byte, error) {
			_, err := f.stores[0].ChangeJob(ctx, "work", job.Change{StaleAfter: new(time.Hour)}, "ann")
			return nil, err
		})))
		eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
		require.Equal(t, job.ResultOK, f.runs("work")[0].Result, f.runs("work")[0].Error)
	})
}

// TestRunnersOfOneNameRunOneAtATime: instances that have the same name by mistake run a
// job one at a time.
func TestRunnersOfOneNameRunOneAtATime(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		o := &overlaps{}
		require.NoError(t, f.stores[0].AddJobs(t.Context(), []job.Definition{definition(o.work)}))
		_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{Host: new("twin")}, "ann")
		require.NoError(t, err)
		for n := range 3 {
			options := f.options(n, definition(o.work))
			options.Locker, options.Host = nobody{}, "twin"
			start(t, options)
		}
		eventually(t, "five runs", func() bool {
			_, _ = f.stores[0].WantJob(t.Context(), "work", "ann")
			return o.runs.Load() >= 5
		})
		require.Zero(t, o.met.Load())
	})
}

// TestStaleAfterIsLowered: a runner that reports every 30 s is not taken over if an
// operator lowers StaleAfter to one second during the run.
func TestStaleAfterIsLowered(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		begun, end := make(chan struct{}), make(chan struct{})
		long := definition(func(ctx context.Context, run job.Run) ([]byte, error) {
			if run.Token > 1 {
				return nil, nil
			}
			close(begun)
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-end:
				return nil, nil
			}
		})
		long.Schedule = "every 6h"
		var polled seen
		for n := range 3 {
			options := f.options(n, long)
			options.Locker, options.Observer = nobody{}, &polled[n]
			start(t, options)
		}
		<-begun
		_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{StaleAfter: new(job.StaleAfterMin)}, "ann")
		require.NoError(t, err)
		time.Sleep(2 * job.StaleAfterMin) // the runner reports nothing during that time
		polled.again(t)
		close(end)
		eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
		require.Len(t, f.runs("work"), 1)
		require.Equal(t, job.ResultOK, f.runs("work")[0].Result)
	})
}
