package experiments

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

const (
	// jobStale is the stale_after of the jobs in these experiments.
	jobStale = 2 * time.Second
	// jobAway is longer than jobStale, the term of the lock and two polls together.
	jobAway = jobStale + stage.LockTTL + 10*time.Second
	// copiedMax is the maximum time until every instance has a new catalogue.
	copiedMax = 5 * time.Second
	// jobMax is the maximum time until a job succeeds again after a fault, on a busy
	// machine. It covers a lease, then a silence, then a poll.
	jobMax = 90 * time.Second
)

// jobKinds returns the jobs whose runs each fault of jobs disturbs: one job only reads,
// one writes lines once a day, and one fetches.
func jobKinds() []string { return []string{"audit", "catalogue", "statement"} }

// jobFaults are the faults of an instance that runs jobs, and of the services that it
// needs. Each fault disturbs a run of every kind, on one runner at one time. The source
// of the catalogue sends different content each time, so that a run which writes late
// is noticed.
func jobFaults() []Experiment {
	table := []place{{"sqlite", lockmode.ForUpdate, "table", 1}}
	inDatabase := slices.Concat(jobsOn("postgres", "table", "row", "session"), jobsOn("mysql", "table", "row", "session"))
	beside := slices.Concat(jobsOn("postgres", "redis", "redis×3", "zookeeper", "etcd"), jobsOn("mysql", "redis", "zookeeper", "etcd"))
	servers := append(jobsOn("postgres", "table"), jobsOn("mysql", "table")...)
	all := []Experiment{
		{Name: "job: runner killed", places: slices.Concat(inDatabase, beside, table), run: inRun(runnerKilled)},
		{
			Name: "job: runner stopped past stale_after, then woken", run: inRun(runnerStopped),
			places: slices.Concat(inDatabase, beside, table),
		},
		{Name: "job: lock service killed in the middle of a run", places: beside, run: inRun(jobLockKilled)},
		{
			Name: "job: Redis emptied in the middle of a run", run: inRun(jobLockEmptied),
			places: append(jobsOn("postgres", "redis"), jobsOn("mysql", "redis")...),
		},
		{Name: "job: database killed in the middle of a run", places: servers, run: inRun(jobDatabaseKilled)},
		{
			Name: "job: database's clock an hour ahead, then back", clock: stage.ClockOfDatabase, flags: followsLeaps(), run: inRun(jobClockMoved),
			places: slices.Concat(servers, table),
		},
		{Name: "job: pinned, its host killed for a while", places: slices.Concat(servers, jobsOn("postgres", "redis")), run: hostGone},
	}
	for i := range all {
		all[i].jobs = jobKinds()
	}
	all = append(all, Experiment{
		Name: "job: source hangs, drips, lies about its length", jobs: []string{"catalogue"}, places: slices.Concat(servers, table), run: badSource,
	})
	for i := range all {
		all[i].points = true
	}
	return all
}

// jobsOn returns a database with each of the locks, and three instances.
func jobsOn(database string, locks ...string) []place {
	var all []place
	for _, lock := range locks {
		all = append(all, place{database, lockmode.ForUpdate, lock, 3})
	}
	return all
}

// inRun returns a fault that begins in the middle of a run of each job. The function
// fault gets the runner, which is the instance that runs the jobs.
func inRun(fault func(j *jobTrial, runner *stage.Instance) error) func(*trial) error {
	return func(t *trial) error {
		return underJobs(t, func(j *jobTrial) error {
			runner := j.caught()
			j.unpin()
			return fault(j, runner)
		})
	}
}

func runnerKilled(j *jobTrial, runner *stage.Instance) error {
	runner.Kill()
	j.Sleep(0, 500)
	j.Must(runner.Again(j.Ctx))
	for _, kind := range jobKinds() {
		j.endedAs(kind, "lost")
	}
	return nil
}

// runnerStopped pauses the runner past its lease and stale_after, while a response to
// its fetch waits in its socket.
func runnerStopped(j *jobTrial, runner *stage.Instance) error {
	j.Source.StandsStill(runner.Number, true)
	runner.Halt()
	taken := j.awaitTakeover(runner)
	j.changeBut(runner, "catalogue", `{"enabled":false}`) // otherwise a later run would hide its late writes
	time.Sleep(copiedMax)
	runner.Signal(syscall.SIGCONT)
	runner.Answers()
	time.Sleep(copiedMax)
	j.Source.StandsStill(runner.Number, false)
	j.change("catalogue", `{"enabled":true}`)
	j.Note("%d of %d runs taken over meanwhile", taken, len(jobKinds()))
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

func jobClockMoved(j *jobTrial, _ *stage.Instance) error {
	for _, seconds := range []int64{3600, 0} {
		if j.Kind == "sqlite" {
			j.Must(j.ClockMoved.Set((time.Duration(seconds) * time.Second).String())) // with SQLite, the service uses the instance's clock
		} else {
			j.setClock(seconds)
		}
		j.Sleep(2500, 3500)
	}
	return nil
}

// hostGone kills the only host that may run the jobs: until the host is back, no run
// takes place, and each job is overdue.
func hostGone(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		host := j.caught()
		host.Kill()
		time.Sleep(jobAway)
		for _, kind := range jobKinds() {
			r, err := j.row(kind)
			j.Must(err)
			if r.Token != j.under[kind].Token || r.Overdue == 0 {
				j.Verdict.Say(history.Fault, "%s without its host: run %d after run %d, %d s overdue", kind, r.Token, j.under[kind].Token, r.Overdue)
			}
		}
		return host.Again(j.Ctx)
	})
}

// badSource gives the source each flaw in turn: the runs fail, and the earlier content
// is still served completely.
func badSource(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		for _, flaw := range []string{stage.Hangs, stage.Drips, stage.Lies} {
			j.Must(j.succeeds("catalogue"))
			j.Source.Has(flaw)
			run := j.fails("catalogue")
			j.Source.Has("")
			j.Note("a source that %s: %s", flaw, run.Error)
			if flaw != stage.Hangs && !strings.Contains(run.Error, "broke off") {
				j.Verdict.Say(history.Fault, "a source that %s was not read in part: %s", flaw, run.Error)
			}
			j.under["catalogue"], _ = j.row("catalogue")
		}
		return nil
	})
}

// jobFailedOver is the control of the failover, on a cluster of its own. A program
// without fences cannot serve as a control: the writes of its run are lost with the old
// primary.
func jobFailedOver(program string) Cell {
	all := patroniFaults()
	c := all[len(all)-1].at(place{"postgres", lockmode.ForUpdate, "table", 3})
	c.Program, c.Condemned = program, []string{history.Fault}
	return c
}

// jobFailedOver kills the primary while runs are under way. Each run ends as lost, or as
// ok if its end was written on the new primary.
func (c *patroni) jobFailedOver(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		j.caught()
		j.unpin()
		old := c.Leader(j.Ctx)
		old.Kill()
		j.Must(c.takenOver(t, old, old.Start))
		for _, kind := range jobKinds() {
			if !j.Condemned || len(j.Verdict.Violations) == 0 { // a broken program is not worth more time
				j.endedAs(kind, "lost", "ok")
			}
		}
		return nil
	})
}

// endedAs requires that the disturbed run has ended with one of the results.
func (j *jobTrial) endedAs(kind string, results ...string) {
	token, said := j.under[kind].Token, ""
	for until := time.Now().Add(jobMax); said == "" && j.Ctx.Err() == nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		runs, err := j.runs(kind)
		j.Must(err)
		for _, r := range runs {
			if r.ID == token {
				said = r.Result
			}
		}
	}
	j.Note("run %d of %s was under way, and ended as %s", token, kind, said)
	if !slices.Contains(results, said) {
		j.Verdict.Say(history.Fault, "run %d of %s ended as %q", token, kind, said)
	}
}
