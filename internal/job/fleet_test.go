package job_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"drawsvc/internal/draw"
	"drawsvc/internal/job"
	"drawsvc/internal/locker"
	"drawsvc/internal/servertest"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
)

const (
	// patience is how long a test waits for what must come.
	patience = 30 * time.Second
	poll     = 50 * time.Millisecond
	// stale is how soon a run is taken over in tests.
	stale = time.Second
)

// fleet is one database with the instances that run jobs on it. They have stores
// and locks of their own; an SQLite file has one store, as it has one process.
type fleet struct {
	t      *testing.T
	url    string
	lock   string
	stores []*stock.Store
	locks  []locker.Lock
}

func newFleet(t *testing.T, dialect, scheme string, instances int) *fleet {
	t.Helper()
	f := &fleet{t: t, url: stocktest.URL(t, dialect), lock: servertest.LockURL(t, scheme)}
	for n := range instances {
		if n == 0 || dialect != "sqlite" {
			s, err := stock.Open(t.Context(), f.url, stock.Options{Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			f.stores = append(f.stores, s)
		} else {
			f.stores = append(f.stores, f.stores[0])
		}
		if n == 0 {
			require.NoError(t, f.stores[0].Migrate(t.Context()))
		}
		f.locks = append(f.locks, f.openLock(n))
	}
	return f
}

func (f *fleet) openLock(n int) locker.Lock {
	l, err := locker.Open(f.t.Context(), f.lock, locker.Options{TTL: time.Second, Wait: 20 * time.Millisecond, Database: f.stores[n]})
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

// options are those of one instance; a test edits what it needs otherwise.
func (f *fleet) options(n int, jobs ...job.Definition) job.Options {
	return job.Options{
		Rows: f.stores[n], Runs: f.stores[n], Locker: f.locks[n], Observer: quiet{}, Log: slog.New(slog.DiscardHandler),
		Host: fmt.Sprintf("host-%d", n), Jobs: jobs, Poll: poll,
	}
}

// start runs an instance until the test ends, or until stop is called.
func start(t *testing.T, o job.Options) (stop func()) {
	t.Helper()
	r, err := job.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { r.Run(ctx) })
	stop = func() { cancel(); ended.Wait() }
	t.Cleanup(stop)
	return stop
}

type quiet struct{}

func (quiet) Seen(context.Context, []job.Row, time.Time) {}
func (quiet) Ended(string, job.Result)                   {}

func definition(do func(context.Context, job.Run) ([]byte, error)) job.Definition {
	return job.Definition{Name: "work", Schedule: "every 1s", Per: job.PerRun, Max: time.Minute, Do: do}
}

func eventually(t *testing.T, about string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, patience, 20*time.Millisecond, about)
}

// row is the job's row, a zero one as long as no instance has made it.
func (f *fleet) row(name string) job.Row {
	r, _, err := f.stores[0].Job(f.t.Context(), name)
	if err != nil && draw.CodeOf(err) != draw.CodeJobNotFound {
		f.t.Error(err)
	}
	return r
}

func (f *fleet) runs(name string) []job.Past {
	runs, err := f.stores[0].JobRuns(f.t.Context(), name, 0, job.RunsKept)
	if err != nil && draw.CodeOf(err) != draw.CodeJobNotFound {
		f.t.Error(err)
	}
	return runs
}

// everywhere runs a test on each database, with the lock in it.
func everywhere(t *testing.T, test func(t *testing.T, f *fleet)) {
	t.Helper()
	t.Parallel()
	for _, dialect := range stock.Dialects() {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			test(t, newFleet(t, dialect, "table", 3))
		})
	}
}

// overlaps counts the runs that met another one.
type overlaps struct{ inside, met, runs atomic.Int64 }

func (o *overlaps) work(context.Context, job.Run) ([]byte, error) {
	if o.inside.Add(1) > 1 {
		o.met.Add(1)
	}
	defer o.inside.Add(-1)
	time.Sleep(5 * time.Millisecond)
	o.runs.Add(1)
	return nil, nil
}

// TestOneAtATime: whoever asks, however often, runs do not overlap, and the
// history has each, in every lock.
func TestOneAtATime(t *testing.T) {
	t.Parallel()
	for _, scheme := range locker.Schemes() {
		for _, dialect := range stock.Dialects() {
			if !servertest.Locks()[scheme].WorksOn(dialect) {
				continue
			}
			t.Run(scheme+" on "+dialect, func(t *testing.T) {
				t.Parallel()
				f, o := newFleet(t, dialect, scheme, 3), &overlaps{}
				for n := range 3 {
					start(t, f.options(n, definition(o.work)))
				}
				eventually(t, "five runs", func() bool {
					_, err := f.stores[0].WantJob(t.Context(), "work", "ann")
					return o.runs.Load() >= 5 && (err == nil || draw.CodeOf(err) == draw.CodeJobRunning)
				})
				require.Zero(t, o.met.Load())
				for i, r := range f.runs("work") {
					require.EqualValues(t, i+1, r.Token)
				}
			})
		}
	}
}

// nobody is a lock that keeps nobody away, as every lock service does now and
// then.
type nobody struct{}

func (nobody) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	return fn(ctx, 1)
}

// unguarded begins a run without reading the row.
type unguarded struct{ job.Runs }

func (u unguarded) BeginJob(_ context.Context, name, host string) (job.Run, bool, error) {
	return job.Run{Job: name, Host: host, StaleAfter: time.Minute}, true, nil
}

// TestOneAtATimeWithoutALock: the row alone keeps runs apart. The double that
// does not read it is caught.
func TestOneAtATimeWithoutALock(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		o := &overlaps{}
		for n := range 3 {
			options := f.options(n, definition(o.work))
			options.Locker = nobody{}
			start(t, options)
		}
		eventually(t, "five runs", func() bool {
			_, _ = f.stores[0].WantJob(t.Context(), "work", "ann")
			return o.runs.Load() >= 5
		})
		require.Zero(t, o.met.Load())
	})
	t.Run("the double is caught", func(t *testing.T) {
		t.Parallel()
		f, o := newFleet(t, "sqlite", "table", 3), &overlaps{}
		slow := definition(func(ctx context.Context, run job.Run) ([]byte, error) {
			defer time.Sleep(50 * time.Millisecond)
			return o.work(ctx, run)
		})
		for n := range 3 {
			options := f.options(n, slow)
			options.Locker, options.Runs = nobody{}, unguarded{f.stores[n]}
			start(t, options)
		}
		eventually(t, "an overlap", func() bool { return o.met.Load() > 0 })
	})
}

// TestStampede: a fleet that starts on a job that is due runs it once.
func TestStampede(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		o := &overlaps{}
		once := definition(o.work)
		once.Schedule = "every 6h"
		for n := range 3 {
			start(t, f.options(n, once))
		}
		eventually(t, "the run", func() bool { return o.runs.Load() > 0 && f.row("work").Status == job.StatusIdle })
		time.Sleep(4 * poll)
		require.EqualValues(t, 1, o.runs.Load())
		require.Len(t, f.runs("work"), 1)
	})
}

// deaf is a database that a runner cannot reach any more, save for reading: its
// signs of life get lost, as those of a machine that stands still.
type deaf struct {
	job.Runs
	is *atomic.Bool
}

func (d deaf) HearJob(ctx context.Context, run job.Run) error {
	if d.is.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return d.Runs.HearJob(ctx, run)
}

// unfenced writes the end of a run whatever the row says.
type unfenced struct {
	job.Runs
	store *stock.Store
}

func (u unfenced) FinishJob(ctx context.Context, run job.Run, o job.Outcome) error {
	r, _, err := u.store.Job(ctx, run.Job)
	if err != nil {
		return err
	}
	run.Token = r.Token // as if it were the last
	return u.Runs.FinishJob(ctx, run, o)
}

// takeover has one runner stand still in its work, and returns when another has
// taken over and is at work, and then the first has woken up and ended.
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
		<-taken // whatever its context says
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

// judgeTakeover says what is wrong after a takeover: the first run is lost, and
// what it wrote late is nowhere.
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

// TestTakeover: a runner that stands still is replaced after stale_after. When it
// wakes up, it writes nothing. Without the fence it would.
func TestTakeover(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		takeover(t, f, func(*job.Options) {})
		require.Empty(t, judgeTakeover(f))
	})
	t.Run("the double is caught", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t, "sqlite", "table", 2)
		takeover(t, f, func(o *job.Options) { o.Runs = unfenced{o.Runs, f.stores[0]} })
		require.NotEmpty(t, judgeTakeover(f))
	})
}

// TestHolderThatRenewsIsNotTakenOver: however long it works.
func TestHolderThatRenewsIsNotTakenOver(t *testing.T) {
	everywhere(t, func(t *testing.T, f *fleet) {
		var runs atomic.Int64
		long := definition(func(ctx context.Context, _ job.Run) ([]byte, error) {
			runs.Add(1)
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(3 * stale):
				return []byte(`{}`), nil
			}
		})
		long.Schedule = "every 6h"
		require.NoError(t, f.stores[0].AddJobs(t.Context(), []job.Definition{long}))
		_, err := f.stores[0].ChangeJob(t.Context(), "work", job.Change{StaleAfter: new(stale)}, "ann")
		require.NoError(t, err)
		for n := range 3 {
			start(t, f.options(n, long))
		}
		eventually(t, "the success", func() bool { return !f.row("work").LastSuccess.IsZero() })
		require.EqualValues(t, 1, runs.Load())
	})
}

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

// TestStopGivesTheRunBack: an instance that shuts down leaves its run to another
// one, at once.
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

// TestWorkThatGoesWrong: errors, panics and reports that are too long end the
// run, not the runner.
func TestWorkThatGoesWrong(t *testing.T) {
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

// TestHistoryIsBounded: the row's history holds the last runs alone.
func TestHistoryIsBounded(t *testing.T) {
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
