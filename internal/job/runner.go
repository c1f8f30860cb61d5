package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"drawsvc/internal/draw"
)

// Rows are the runner's reads of the database. It also adds missing rows.
type Rows interface {
	// AddJobs adds the missing rows. Rows that no operator has changed get the schedule
	// of the definition.
	AddJobs(ctx context.Context, all []Definition) error
	// Jobs returns all rows without their reports, ordered by name, and the database's
	// time.
	Jobs(ctx context.Context) (rows []Row, now time.Time, err error)
}

// Runs are the writes of a run to the database.
type Runs interface {
	// BeginJob begins a run for host if the row's Verdict is Due at that moment. An earlier
	// run that has not ended becomes lost. begun reports whether a run has begun.
	BeginJob(ctx context.Context, name, host string) (run Run, begun bool, err error)
	// HearJob reports that the runner is alive, and returns the row's StaleAfter, which
	// an operator may have changed. Error: ErrLost.
	HearJob(ctx context.Context, run Run) (staleAfter time.Duration, err error)
	// FinishJob ends the run. Error: ErrLost.
	FinishJob(ctx context.Context, run Run, o Outcome) error
}

// Locker is an external lock; package locker provides them.
type Locker interface {
	// WithLock runs fn while the lock on key is held. fn's context ends when the
	// lock may be lost.
	WithLock(ctx context.Context, key string, fn func(ctx context.Context, token int64) error) error
}

// Observer is notified of the runner's events. For each job, one goroutine at a time
// calls its methods.
type Observer interface {
	// Seen is called about every Poll, with all rows and the database's time.
	Seen(ctx context.Context, rows []Row, now time.Time)
	// Ended is called when a run of this instance has ended.
	Ended(job string, r Result)
}

// Options of a Runner. All are required.
type Options struct {
	Rows     Rows
	Runs     Runs
	Locker   Locker
	Observer Observer
	Log      *slog.Logger
	// Host is the name of this instance; see CheckHost.
	Host string
	// Jobs are the jobs that this instance can run.
	Jobs []Definition
	// Poll is the maximum time between two reads of the rows.
	Poll time.Duration
}

// PollDefault is the maximum time between two reads of the rows. A requested run begins
// within this time.
const PollDefault = 5 * time.Second

// pollMin returns the minimum time between two reads of the rows. Without a minimum, the
// runner would try a due job that cannot begin again and again without a pause.
func (r *Runner) pollMin() time.Duration { return min(time.Second, r.Poll/4) }

// finishMax bounds the last write of a run.
const finishMax = 5 * time.Second

// Runner runs the jobs of one instance.
type Runner struct {
	Options
	jobs map[string]Definition
	wake chan struct{}
	// failing means that the last read failed.
	failing bool

	mu sync.Mutex
	// here contains the jobs that this instance runs or tries to begin.
	here map[string]bool
	work sync.WaitGroup
}

// New returns a Runner. Error: CodeInvalidRequest if the name of the host or a schedule
// is invalid.
func New(o Options) (*Runner, error) {
	if err := CheckHost(o.Host); err != nil {
		return nil, err
	}
	r := &Runner{Options: o, jobs: map[string]Definition{}, wake: make(chan struct{}, 1), here: map[string]bool{}}
	for _, d := range o.Jobs {
		if _, err := Parse(d.Schedule); err != nil {
			return nil, err
		}
		r.jobs[d.Name] = d
	}
	return r, nil
}

// Wake makes the runner read the rows at once.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default: // a read is already pending
	}
}

// Run runs jobs until ctx ends, and returns when the runs of this instance have ended.
// The first poll is at a random moment within Poll. So instances that start at the same
// time do not poll at the same time.
func (r *Runner) Run(ctx context.Context) {
	defer r.work.Wait()
	added, wait := false, rand.N(r.Poll)
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		case <-time.After(wait):
		}
		if !added {
			added = r.heed(ctx, r.Rows.AddJobs(ctx, Wanted(ctx, r.Jobs)))
		}
		if wait = r.Poll; added {
			wait = r.poll(ctx)
		}
	}
}

// heed reports whether err is nil. Of several errors in a row, it logs only the first.
func (r *Runner) heed(ctx context.Context, err error) bool {
	if err != nil && !r.failing && ctx.Err() == nil {
		r.Log.Warn("jobs are stalled: their rows cannot be read from the database", "error", err)
	}
	r.failing = err != nil
	return err == nil
}

// poll begins the due jobs and returns the time until the next poll.
func (r *Runner) poll(ctx context.Context) time.Duration {
	next := r.Poll - rand.N(r.Poll/4) // random, so that instances poll at different times
	rows, now, err := r.Rows.Jobs(ctx)
	if !r.heed(ctx, err) {
		return next
	}
	if isMissing := r.postpone(ctx, rows, now); isMissing && r.heed(ctx, r.Rows.AddJobs(ctx, Wanted(ctx, r.Jobs))) {
		next = 0 // the added rows are due
	}
	r.Observer.Seen(ctx, rows, now)
	for _, row := range rows {
		d, known := r.jobs[row.Name]
		if !known {
			continue
		}
		if v := row.Verdict(now, r.Host); v == Due {
			r.begin(ctx, d)
		} else if v == Early {
			next = min(next, row.DueAt.Sub(now)+rand.N(r.pollMin()))
		}
	}
	return max(next, r.pollMin())
}

// Wanted returns the jobs that have work, and those that always run.
func Wanted(ctx context.Context, all []Definition) (wanted []Definition) {
	for _, d := range all {
		if d.IsWanted == nil || d.IsWanted(ctx) {
			wanted = append(wanted, d)
		}
	}
	return wanted
}

// postpone makes idle jobs without work due later, so that they are neither run nor
// overdue. It changes only rows, not the database. It reports whether a job with work has
// no row yet.
func (r *Runner) postpone(ctx context.Context, rows []Row, now time.Time) (isMissing bool) {
	for _, d := range r.Jobs {
		if d.IsWanted == nil {
			continue
		}
		isWanted := d.IsWanted(ctx)
		i := slices.IndexFunc(rows, func(row Row) bool { return row.Name == d.Name })
		switch {
		case i < 0:
			isMissing = isMissing || isWanted
		case !isWanted && rows[i].Status == StatusIdle && rows[i].WantedBy == "":
			rows[i].DueAt = now.Add(r.Poll)
		}
	}
	return isMissing
}

// begin tries to run a job, unless this instance already does. After a run it wakes the
// runner, because the job may be due before the next poll. If no run began, another
// instance has the lock; waking the runner would then request the lock without a pause.
func (r *Runner) begin(ctx context.Context, d Definition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.here[d.Name] {
		return
	}
	r.here[d.Name] = true
	r.work.Go(func() {
		ran := r.try(ctx, d)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.here, d.Name)
		if ran {
			r.Wake()
		}
	})
}

// LockKey returns the key of a job's lock. It differs from all pools' ids, because they
// contain no colon.
func LockKey(name string) string { return "job:" + name }

// try runs a job once, if the lock and the row allow it, and reports whether it did.
func (r *Runner) try(ctx context.Context, d Definition) (ran bool) {
	err := r.Locker.WithLock(ctx, LockKey(d.Name), func(ctx context.Context, _ int64) error {
		run, begun, err := r.Runs.BeginJob(ctx, d.Name, r.Host)
		if err != nil || !begun {
			return err
		}
		ran = true
		r.run(ctx, d, run)
		return nil
	})
	if err != nil && ctx.Err() == nil && draw.CodeOf(err) != draw.CodeContended {
		r.Log.Warn("job did not begin", "job", d.Name, "error", err)
	}
	return ran
}

// run does the work of a run that has begun, and ends the run.
func (r *Runner) run(ctx context.Context, d Definition, run Run) {
	log := r.Log.With("job", d.Name, "run", run.Token)
	log.Debug("job began")
	begun := time.Now()
	report, err := r.do(ctx, d, run)
	o := Outcome{Result: ResultOK, Report: report, Retry: d.Retry}
	if err != nil {
		o.Result, o.Error = ResultFailed, describe(err, codeOf(err))
	}
	switch {
	case errors.Is(err, ErrLost):
		o.Result = ResultLost
	case err != nil && ctx.Err() != nil:
		o.Result, o.Error = ResultLost, describe(err, CodeStopped)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishMax)
	defer cancel()
	if err := r.Runs.FinishJob(last, run, o); errors.Is(err, ErrLost) {
		o.Result, o.Error = ResultLost, describe(err, CodeTakenOver)
	} else if err != nil {
		log.Warn("the end of a job was not written; it will be taken over", "error", err)
	}
	r.Observer.Ended(d.Name, o.Result)
	level := slog.LevelInfo
	if o.Result != ResultOK {
		level = slog.LevelWarn
	}
	log.Log(last, level, "job ended", "result", o.Result, "error", o.Error, "duration_ms", time.Since(begun).Milliseconds())
}

// do does the work, and meanwhile reports that the runner is alive.
func (r *Runner) do(ctx context.Context, d Definition, run Run) (report []byte, err error) {
	//double:unfenced ctx, d.Max, draw => context.WithoutCancel(ctx), 10*d.Max, draw
	bounded, cancel := context.WithTimeoutCause(ctx, d.Max, draw.Errorf(CodeTooLong, "the run took longer than %s", d.Max))
	defer cancel()
	work, lose := context.WithCancelCause(bounded)
	var heard sync.WaitGroup
	heard.Go(func() { r.hear(work, lose, run) })
	defer heard.Wait()
	defer lose(nil)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if cause := context.Cause(work); cause != nil && err != nil {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		if len(report) > ReportMax {
			report, err = nil, errors.Join(err, fmt.Errorf("the report has more than %d bytes", ReportMax))
		}
	}()
	return d.Do(work, run)
}

// hearMax is the maximum time between two reports that the runner is alive.
const hearMax = 30 * time.Second

// hear reports to the row that the runner is alive, until the work has ended. If no
// report succeeds for most of StaleAfter, it ends the run as lost: another instance may
// be about to take it over.
func (r *Runner) hear(ctx context.Context, lose context.CancelCauseFunc, run Run) {
	stale, heard := run.StaleAfter, time.Now()
	for {
		interval := min(stale/5, hearMax)
		select {
		case <-ctx.Done():
			return
		case <-time.After(interval):
		}
		asked := time.Now()
		bounded, cancel := context.WithTimeout(ctx, interval)
		now, err := r.Runs.HearJob(bounded, run)
		cancel()
		switch {
		case err == nil:
			stale, heard = now, asked
		case errors.Is(err, ErrLost), time.Since(heard) > stale*3/5:
			lose(fmt.Errorf("%w: %w", ErrLost, err))
			return
		}
	}
}
