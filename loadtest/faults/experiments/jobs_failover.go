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

// jobFailedOver kills the primary while a run fetches. The run that was under way
// ends as lost, or as ok where its end was written on the new primary.
func (c *patroni) jobFailedOver(t *trial) error {
	return underJobs(t, func(j *jobTrial) error {
		j.running()
		under, err := j.row()
		j.Must(err)
		old := c.Leader(j.Ctx)
		old.Kill()
		j.Must(c.takenOver(t, old, old.Start))
		return j.endedAs(under.Token, "lost", "ok")
	})
}

// endedAs wants a run to have ended with one of the results.
func (j *jobTrial) endedAs(run int64, results ...string) error {
	said := ""
	for until := time.Now().Add(jobMax); said == "" && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		runs, err := j.runs()
		j.Must(err)
		for _, r := range runs {
			if r.ID == run {
				said = r.Result
			}
		}
	}
	j.Note("run %d was under way, and ended as %s", run, said)
	if !slices.Contains(results, said) {
		j.Verdict.Say(history.Fault, "run %d ended as %q", run, said)
	}
	return nil
}
