package experiments

import (
	"slices"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
)

// jobFailedOver is the control of the failover, on a cluster of its own. A program
// without fences is none: what its run writes goes down with the old primary.
func jobFailedOver(program string) Cell {
	all := patroniFaults()
	c := all[len(all)-1].at(place{"postgres", lockmode.ForUpdate, "table", 3})
	c.Program, c.Condemned = program, []string{history.Fault}
	return c
}

// jobFailedOver kills the primary while runs are under way. Each ends as lost, or
// as ok where its end was written on the new primary.
func (c *patroni) jobFailedOver(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		j.caught()
		j.unpin()
		old := c.Leader(j.Ctx)
		old.Kill()
		j.Must(c.takenOver(t, old, old.Start))
		for _, kind := range jobKinds() {
			if !j.Condemned || len(j.Verdict.Violations) == 0 { // it does not deserve more time
				j.endedAs(kind, "lost", "ok")
			}
		}
		return nil
	})
}

// endedAs wants the run that was under way to have ended with one of the results.
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
