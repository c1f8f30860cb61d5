package job_test

import (
	"context"
	"fmt"
	"log/slog"
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
	// patience is how long a test waits for an expected event.
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
	// stale is the StaleAfter of the jobs in tests. A runner gives up its run if it cannot
	// report for three fifths of that time.
	stale = 5 * time.Second
	// lease is long enough for a holder that is paused on a busy machine.
	lease = 20 * time.Second
)

// fleet is one database, with the instances that run jobs on it. Each has a store and a
// lock of its own. An SQLite file has only one store, because only one process uses it.
type fleet struct {
	t      *testing.T
	url    string
	lock   string
	stores []*stock.Store
	locks  []locker.Lock
}

func newFleet(t *testing.T, dialect, scheme string, instances int) *fleet {
	t.Helper()
	f := &fleet{t: t, url: stocktest.Migrated(t, dialect), lock: servertest.LockURL(t, scheme)}
	for n := range instances {
		if n == 0 || dialect != "sqlite" {
			s, err := stock.Open(t.Context(), f.url, stock.Options{Log: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			t.Cleanup(func() { _ = s.Close() })
			f.stores = append(f.stores, s)
		} else {
			f.stores = append(f.stores, f.stores[0])
		}
		f.locks = append(f.locks, f.openLock(n))
	}
	return f
}

func (f *fleet) openLock(n int) locker.Lock {
	l, err := locker.Open(f.t.Context(), f.lock, locker.Options{TTL: lease, Wait: 20 * time.Millisecond, Database: f.stores[n]})
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = l.Close() })
	return l
}

// options returns the options of one instance, which a test may change.
func (f *fleet) options(n int, jobs ...job.Definition) job.Options {
	return job.Options{
		Rows: f.stores[n], Runs: f.stores[n], Locker: f.locks[n], Observer: quiet{}, Log: slog.New(slog.DiscardHandler),
		Host: fmt.Sprintf("host-%d", n), Jobs: jobs, Poll: poll,
	}
}

// start runs an instance until the test ends, or until stop is called.
func start(t *testing.T, o job.Options) (stop func()) {
	t.Helper()
	_, stop = startWakeable(t, o)
	return stop
}

// startWakeable is like start, and also returns the runner, so that a test can wake it.
func startWakeable(t *testing.T, o job.Options) (r *job.Runner, stop func()) {
	t.Helper()
	r, err := job.New(o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { r.Run(ctx) })
	stop = func() { cancel(); ended.Wait() }
	t.Cleanup(stop)
	return r, stop
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

// row returns the job's row, or a zero row if no instance has added it.
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

// overlaps counts the runs that were under way at the same time as another run.
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

// TestOneAtATime: with every lock, runs do not overlap, however often and at whichever
// instance they are requested. The history contains each run.
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

// nobody is a lock that excludes nobody. Every lock service may fail in this way.
type nobody struct{}

func (nobody) WithLock(ctx context.Context, _ string, fn func(context.Context, int64) error) error {
	return fn(ctx, 1)
}

// unguarded begins a run without reading the row.
type unguarded struct{ job.Runs }

func (u unguarded) BeginJob(_ context.Context, name, host string) (job.Run, bool, error) {
	return job.Run{Job: name, Host: host, StaleAfter: time.Minute}, true, nil
}

// TestOneAtATimeWithoutALock: the row is enough to keep runs apart. The broken double
// begins a run without reading the row.
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
		everywhere(t, func(t *testing.T, f *fleet) {
			o := &overlaps{}
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
	})
}
