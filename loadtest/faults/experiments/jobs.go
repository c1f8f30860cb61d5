package experiments

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// jobStale is how soon a run is taken over in these experiments.
	jobStale = 2 * time.Second
	// jobAway is longer than that, the term of the lock and two polls.
	jobAway = jobStale + stage.LockTTL + 10*time.Second
	// jobMax is how long a job may take to succeed again after a fault: a
	// lease, then a silence, then a poll, on a machine that is busy.
	jobMax = 90 * time.Second
)

// jobFaults are those of an instance that runs a job, and of what it needs. The
// job is the catalogue: its source sends another content each time, so that a run
// which writes late is seen.
func jobFaults() []Experiment {
	all := slices.Concat(
		jobsOn("postgres", "table", "row", "session", "redis", "redis×3", "zookeeper", "etcd"), jobsOn("mysql", "table", "row", "session"),
		[]place{{"sqlite", lockmode.ForUpdate, "table", 1}},
	)
	services := jobsOn("postgres", "redis", "redis×3", "zookeeper", "etcd")
	return []Experiment{
		{Name: "job: runner killed", places: all, jobs: true, run: runnerKilled},
		{Name: "job: runner stopped past stale_after, then woken", places: all, jobs: true, run: runnerStopped},
		{Name: "job: lock service killed in the middle of a run", places: services, jobs: true, run: jobLockKilled},
		{Name: "job: Redis emptied in the middle of a run", places: jobsOn("postgres", "redis"), jobs: true, run: jobLockEmptied},
		{Name: "job: database killed in the middle of a run", places: append(jobsOn("postgres", "table"), jobsOn("mysql", "table")...), jobs: true, run: jobDatabaseKilled},
		{
			Name: "job: database's clock an hour ahead, then back", jobs: true, clock: stage.ClockOfDatabase, run: jobClockMoved,
			places: append(jobsOn("postgres", "table"), jobsOn("mysql", "table")...),
		},
	}
}

// jobsOn is a database with each of the locks, and three instances.
func jobsOn(database string, locks ...string) []place {
	var all []place
	for _, lock := range locks {
		all = append(all, place{database, lockmode.ForUpdate, lock, 3})
	}
	return all
}

// jobRow is what the experiments read of GET /admin/jobs/catalogue.
type jobRow struct {
	Token   int64  `json:"token"`
	Success string `json:"last_success"`
}

// jobTrial watches the job while faults are made.
type jobTrial struct {
	*trial
	mu sync.Mutex
	// served are the contents that each instance served last.
	served map[int]int64
}

// underJobs runs a fault while all instances are watched, and wants a success
// after it.
func underJobs(t *trial, fault func(*jobTrial) error) error {
	j := &jobTrial{trial: t, served: map[int]int64{}}
	if err := j.change(`{"stale_after":"` + jobStale.String() + `"}`); err != nil {
		return err
	}
	defer j.watch()()
	if err := j.succeeds(); err != nil {
		return err
	}
	for range 2 {
		if err := fault(j); err != nil {
			return err
		}
		if err := j.succeeds(); err != nil {
			t.Verdict.Say(history.Fault, "%v", err)
		}
	}
	t.Ended = time.Now()
	return j.judgeRuns()
}

// change changes the job's row on the first instance that answers.
func (j *jobTrial) change(body string) error {
	_, err := harness.Operate(j.Ctx, http.MethodPatch, j.Instances[0].URL()+"/admin/jobs/catalogue", body, http.StatusOK)
	return err
}

// row reads the job's row from any instance that answers.
func (j *jobTrial) row() (r jobRow, err error) {
	for _, i := range j.Instances {
		if err = harness.FetchJSON(j.Ctx, i.URL()+"/admin/jobs/catalogue", &r); err == nil {
			return r, nil
		}
	}
	return r, err
}

// running waits until a run begins to fetch, and returns its runner.
func (j *jobTrial) running() (*stage.Instance, error) {
	select {
	case <-j.Source.Began: // an old one
	default:
	}
	select {
	case n := <-j.Source.Began:
		return j.Instances[n], nil
	case <-time.After(jobMax):
		return nil, fmt.Errorf("the job did not run within %v", jobMax)
	}
}

// succeeds waits for a success that is later than all before.
func (j *jobTrial) succeeds() error {
	before, _ := j.row() // none before the first
	for until := time.Now().Add(jobMax); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if r, err := j.row(); err == nil && r.Success != "" && r.Success != before.Success && r.Token > before.Token {
			return nil
		}
	}
	return fmt.Errorf("the job did not succeed within %v", jobMax)
}

// watch reads from every instance what it serves, until stop is called: the
// contents of a source never go back.
func (j *jobTrial) watch() (stop func()) {
	ctx, cancel := context.WithCancel(j.Ctx)
	var all sync.WaitGroup
	for n, i := range j.Instances {
		all.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
				var pool struct {
					Prizes []struct {
						Description string `json:"description"`
					} `json:"prizes"`
				}
				err := harness.FetchJSON(ctx, i.URL()+"/pools/"+j.Pool(client.MainPool), &pool)
				if err != nil || len(pool.Prizes) == 0 {
					continue
				}
				j.sees(n, pool.Prizes[0].Description)
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

// sees judges one content of an instance.
func (j *jobTrial) sees(n int, description string) {
	var content int64
	if _, err := fmt.Sscanf(description, "content %d", &content); err != nil {
		return // none yet
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if content < j.served[n] {
		j.Verdict.Say(history.Fault, "instance %d went back from content %d to %d: a run wrote after a later one", n, j.served[n], content)
	}
	j.served[n] = content
}

// judgeRuns reads the history of runs: they are numbered without gap, each ended
// before the next began, and the last alone may be under way.
func (j *jobTrial) judgeRuns() error {
	var page struct {
		Runs []struct {
			ID       int64      `json:"id"`
			Started  time.Time  `json:"started_at"`
			Finished *time.Time `json:"finished_at"`
			Result   string     `json:"result"`
		} `json:"runs"`
	}
	err := harness.FetchJSON(j.Ctx, j.Instances[0].URL()+"/admin/jobs/catalogue/runs?limit=1000", &page)
	if err != nil {
		return err
	}
	results := map[string]int{}
	for n, r := range page.Runs {
		results[r.Result]++
		if n == 0 {
			continue
		}
		before := page.Runs[n-1]
		switch {
		case r.ID != before.ID+1:
			j.Verdict.Say(history.Fault, "run %d follows run %d", r.ID, before.ID)
		case before.Finished == nil:
			j.Verdict.Say(history.Fault, "run %d began while run %d was under way", r.ID, before.ID)
		case j.Clock == "" && r.Started.Before(*before.Finished):
			j.Verdict.Say(history.Fault, "run %d began before run %d had ended", r.ID, before.ID)
		}
	}
	if met := j.Source.Met.Load(); met > 0 {
		j.Verdict.Say(history.Fault, "%d runs met another one at the source whose runner was alive", met)
	}
	j.Note("%d runs: %v; %d fetches", len(page.Runs), results, j.Source.Fetches.Load())
	return nil
}

func runnerKilled(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		i, err := j.running()
		if err != nil {
			return err
		}
		i.Kill()
		j.Sleep(0, 500)
		return i.Again(j.Ctx)
	})
}

// runnerStopped has the runner stand still past its lease and stale_after, with a
// fetch whose response waits for it in its socket.
func runnerStopped(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		i, err := j.running()
		if err != nil {
			return err
		}
		j.Source.StandsStill(i.Number, true)
		i.Halt()
		time.Sleep(jobAway)
		i.Signal(syscall.SIGCONT)
		i.Answers()
		time.Sleep(time.Second) // what it writes late
		j.Source.StandsStill(i.Number, false)
		return nil
	})
}

func jobLockKilled(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		if _, err := j.running(); err != nil {
			return err
		}
		for _, server := range j.LockServers {
			server.Kill()
		}
		time.Sleep(awayFor)
		for _, server := range j.LockServers {
			if err := server.Start(); err != nil {
				return err
			}
		}
		return nil
	})
}

func jobLockEmptied(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		if _, err := j.running(); err != nil {
			return err
		}
		_, err := stage.RedisDo(j.Ctx, j.LockServers[0].Addr(), "FLUSHALL")
		return err
	})
}

func jobDatabaseKilled(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		if _, err := j.running(); err != nil {
			return err
		}
		j.Server.Kill()
		j.Sleep(200, 1500)
		return j.Server.Start()
	})
}

func jobClockMoved(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		for _, seconds := range []int64{3600, 0} {
			if err := j.ClockMoved.Set(fmt.Sprintf("%+ds", seconds)); err != nil {
				return err
			}
			if err := j.clockIsOff(seconds); err != nil {
				return err
			}
			j.Sleep(2500, 3500)
		}
		return nil
	})
}
