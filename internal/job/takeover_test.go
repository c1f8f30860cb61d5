package job_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/job"
	"drawsvc/internal/stock"
)

// deaf is a database that loses the reports of a runner, as if the machine were paused.
// The runner can still read it.
type deaf struct {
	job.Runs
	is *atomic.Bool
}

func (d deaf) HearJob(ctx context.Context, run job.Run) (time.Duration, error) {
	if d.is.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return d.Runs.HearJob(ctx, run)
}

// unfenced writes the end of a run even if the row belongs to another run.
type unfenced struct {
	job.Runs
	store *stock.Store
}

func (u unfenced) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	r, _, err := u.store.Job(ctx, run.Job)
	if err != nil {
		return err
	}
	run.Token, run.Began = r.Token, r.StartedAt // as if it were the current run
	return u.Runs.FinishJob(ctx, run, o)
}

// takeover pauses a runner during its work until another runner has taken over and works.
// It returns after the first runner has resumed and both runs have ended.
func takeover(t *testing.T, f *fleet, edit func(*job.Options)) {
	t.Helper()
	asleep, taken, woken, done := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan struct{})
	var deafened atomic.Bool
	first := f.options(0, definition(func(_ context.Context, run job.Run) ([]byte, error) {
		if run.Token != 1 {
			return nil, nil
		}
		deafened.Store(true)
		close(asleep)
		<-taken // it does not end with its context
		return []byte(`{"by":"the first"}`), nil
	}))
	first.Locker, first.Runs = nobody{}, deaf{f.stores[0], &deafened}
	edit(&first)
	ended := make(chan struct{})
	var once sync.Once
	first.Observer = endings{func() { once.Do(func() { close(ended) }) }}
	require.NoError(t, f.stores[0].AddJobs(t.Context(), first.Jobs))
	_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{StaleAfter: new(stale)}, "ann")
	require.NoError(t, err)
	stopFirst := start(t, first)
	<-asleep

	second := f.options(1, definition(func(context.Context, job.Run) ([]byte, error) {
		select {
		case <-done:
			return nil, nil // a later run
		default:
		}
		close(taken)
		<-woken
		close(done)
		return []byte(`{"by":"the second"}`), nil
	}))
	second.Locker = nobody{}
	stopSecond := start(t, second)
	select {
	case <-ended:
	case <-time.After(patience):
		require.FailNow(t, "the first never ended")
	}
	close(woken)
	<-done
	stopFirst()
	stopSecond()
}

type endings struct{ ended func() }

func (endings) Seen(context.Context, []job.Row, time.Time) {}
func (e endings) Ended(string, job.Result)                 { e.ended() }

// judgeTakeover returns the fault after a takeover, "" for none. The first run must be
// lost, and its late writes must not be stored.
func judgeTakeover(f *fleet) string {
	runs, r := f.runs("work"), f.row("work")
	switch {
	case len(runs) < 2 || runs[0].Result != job.ResultLost || !strings.Contains(runs[0].Error, "taken over by host-1"):
		return fmt.Sprintf("the first run is %+v", runs[0])
	case runs[1].Host != "host-1" || runs[1].Result != job.ResultOK:
		return fmt.Sprintf("the second run is %+v", runs[1])
	case strings.Contains(string(r.Report), "first"):
		return "the report is the first's"
	}
	return ""
}

// TestPausedRunnerIsReplacedAndFenced: a paused runner is replaced after stale_after.
// When it resumes, the fence prevents its write. The broken double has no fence, and
// writes.
func TestPausedRunnerIsReplacedAndFenced(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		takeover(t, f, func(*job.Options) {})
		require.Empty(t, judgeTakeover(f))
	})
	t.Run("the double is caught", func(t *testing.T) {
		everywhere(t, func(t *testing.T, f *fleet) {
			takeover(t, f, func(o *job.Options) { o.Runs = unfenced{o.Runs, f.stores[0]} })
			require.NotEmpty(t, judgeTakeover(f))
		})
	})
}

// hasty is a database that ignores reports of runners, so that every run may be taken
// over.
type hasty struct{ *stock.Store }

func (h hasty) Jobs(ctx context.Context) ([]job.Row, time.Time, error) {
	rows, now, err := h.Store.Jobs(ctx)
	for i := range rows {
		rows[i].HeardAt = time.Time{}
	}
	return rows, now, err
}

func (h hasty) BeginJob(ctx context.Context, name, host string) (job.Run, bool, error) {
	if _, err := h.LockDB().ExecContext(ctx, `UPDATE jobs SET heard_at = NULL`); err != nil {
		return job.Run{}, false, err
	}
	return h.Store.BeginJob(ctx, name, host)
}

// staleLong is so long that no report is late by three fifths of it, even on a busy
// machine.
const staleLong = 10 * time.Second

// works starts three instances with a job that takes longer than staleLong, and returns
// the count of its runs.
func works(t *testing.T, f *fleet, edit func(n int, o *job.Options)) *atomic.Int64 {
	t.Helper()
	var runs atomic.Int64
	long := definition(func(ctx context.Context, _ job.Run) ([]byte, error) {
		runs.Add(1)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(staleLong + staleLong/2):
			return []byte(`{}`), nil
		}
	})
	long.Schedule = "every 6h"
	require.NoError(t, f.stores[0].AddJobs(t.Context(), []job.Definition{long}))
	_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{StaleAfter: new(staleLong)}, "ann")
	require.NoError(t, err)
	for n := range 3 {
		options := f.options(n, long)
		edit(n, &options)
		start(t, options)
	}
	return &runs
}

// TestHolderThatRenewsIsNotTakenOver: a runner that reports is not replaced, however long
// it works. The broken double ignores the time of the last report, and replaces it.
func TestHolderThatRenewsIsNotTakenOver(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		runs := works(t, f, func(int, *job.Options) {})
		eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
		require.EqualValues(t, 1, runs.Load())
	})
	t.Run("the double is caught", func(t *testing.T) {
		everywhere(t, func(t *testing.T, f *fleet) {
			runs := works(t, f, func(n int, o *job.Options) {
				o.Locker, o.Rows, o.Runs = nobody{}, hasty{f.stores[n]}, hasty{f.stores[n]}
			})
			eventually(t, "the takeover", func() bool { return runs.Load() > 1 })
			require.Contains(t, f.runs("work")[0].Error, "taken over by")
		})
	})
}
