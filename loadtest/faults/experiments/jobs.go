package experiments

import (
	"slices"
	"syscall"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/stage"
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
		{Name: "job: runner killed", places: all, jobs: true, run: inRun(runnerKilled)},
		{Name: "job: runner stopped past stale_after, then woken", places: all, jobs: true, run: inRun(runnerStopped)},
		{Name: "job: lock service killed in the middle of a run", places: services, jobs: true, run: inRun(jobLockKilled)},
		{Name: "job: Redis emptied in the middle of a run", places: jobsOn("postgres", "redis"), jobs: true, run: inRun(jobLockEmptied)},
		{Name: "job: database killed in the middle of a run", places: append(jobsOn("postgres", "table"), jobsOn("mysql", "table")...), jobs: true, run: inRun(jobDatabaseKilled)},
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

// inRun is a fault in the middle of a run, of which it is given the runner.
func inRun(fault func(j *jobTrial, runner *stage.Instance) error) func(*trial) error {
	return func(t *trial) error {
		return underJobs(t, func(j *jobTrial) error { return fault(j, j.running()) })
	}
}

func runnerKilled(j *jobTrial, runner *stage.Instance) error {
	runner.Kill()
	j.Sleep(0, 500)
	return runner.Again(j.Ctx)
}

// runnerStopped has the runner stand still past its lease and stale_after, with a
// fetch whose response waits for it in its socket.
func runnerStopped(j *jobTrial, runner *stage.Instance) error {
	j.Source.StandsStill(runner.Number, true)
	runner.Halt()
	time.Sleep(jobAway)
	runner.Signal(syscall.SIGCONT)
	runner.Answers()
	time.Sleep(time.Second) // what it writes late
	j.Source.StandsStill(runner.Number, false)
	return nil
}

func jobLockKilled(j *jobTrial, _ *stage.Instance) error {
	return j.withoutLocks(func() error { time.Sleep(awayFor); return nil })
}

func jobLockEmptied(j *jobTrial, _ *stage.Instance) error {
	j.tellRedis(j.LockServers[0].Addr(), "FLUSHALL")
	return nil
}

func jobDatabaseKilled(j *jobTrial, _ *stage.Instance) error { return databaseKilled(j.trial) }

func jobClockMoved(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		for _, seconds := range []int64{3600, 0} {
			j.setClock(seconds)
			j.Sleep(2500, 3500)
		}
		return nil
	})
}
