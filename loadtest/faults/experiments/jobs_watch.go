package experiments

import (
	"context"
	"fmt"
	"sync"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// jobRow is what the experiments read of GET /admin/jobs/{job}.
type jobRow struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Holder  string `json:"holder"`
	Token   int64  `json:"token"`
	Success string `json:"last_success"`
	Overdue int64  `json:"overdue_seconds"`
}

// jobTrial watches the jobs while faults are made.
type jobTrial struct {
	*trial
	// under are the rows of the runs that the fault meets.
	under map[string]jobRow
	mu    sync.Mutex
	// served are the contents that each instance served last.
	served map[int]int64
}

// underJobs runs a fault while all instances are watched, and wants a success of
// each job after it.
func underJobs(t *trial, fault func(*jobTrial) error) error {
	j := &jobTrial{trial: t, under: map[string]jobRow{}, served: map[int]int64{}}
	for _, kind := range jobKinds() {
		j.change(kind, `{"stale_after":"`+jobStale.String()+`","schedule":"every 1s"}`)
	}
	j.makeStated()
	defer j.watch()()
	t.Must(fault(j))
	for _, kind := range jobKinds() {
		if j.Condemned && len(t.Verdict.Violations) > 0 {
			break // it does not deserve more time
		}
		if err := j.succeeds(kind); err != nil {
			t.Verdict.Say(history.Fault, "%v", err)
		}
	}
	if len(t.Verdict.Violations) == 0 { // a run that is under way has its lock, which is not left over
		j.change("audit", `{"enabled":false}`)
		j.change("catalogue", `{"enabled":false}`)
		j.within(jobMax, isIdle)
	}
	t.Ended = time.Now()
	t.Judges = append(t.Judges, j.judge)
	return nil
}

// row reads a job's row from any instance that answers.
func (j *jobTrial) row(kind string) (jobRow, error) { return j.rowBut(nil, kind) }

// rowBut is row without asking one of the instances.
func (j *jobTrial) rowBut(but *stage.Instance, kind string) (r jobRow, err error) {
	for _, i := range j.Instances {
		if i == but {
			continue
		}
		if err = harness.FetchJSON(j.Ctx, i.URL()+"/admin/jobs/"+kind, &r); err == nil {
			return r, nil
		}
	}
	return r, err
}

// succeeds waits for a success of a job that is later than the run that the fault
// met, or that run's own where it is the one of its day.
func (j *jobTrial) succeeds(kind string) error {
	before := j.under[kind]
	for until := time.Now().Add(jobMax); j.Ctx.Err() == nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		r, err := j.row(kind)
		if err == nil && r.Success != "" && r.Success != before.Success && (r.Token > before.Token || kind == "statement") {
			return nil
		}
	}
	return fmt.Errorf("the job %s did not succeed within %v", kind, jobMax)
}

// fails waits for a run of a job that fails, and is later than all before.
func (j *jobTrial) fails(kind string) jobRun {
	before, err := j.row(kind)
	j.Must(err)
	for until := time.Now().Add(jobMax); j.Ctx.Err() == nil && time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		runs, err := j.runs(kind)
		j.Must(err)
		for _, r := range runs {
			if r.ID > before.Token && r.Result == "failed" {
				return r
			}
		}
	}
	j.Fatalf("no run of %s failed within %v", kind, jobMax)
	return jobRun{}
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
				for _, p := range pool.Prizes[1:] {
					if p.Description != pool.Prizes[0].Description {
						j.half(n)
					}
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

// half says that an instance served one part of a catalogue with part of another.
func (j *jobTrial) half(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Verdict.Say(history.Fault, "instance %d served a half catalogue", n)
}

// jobRun is a run in the history of a job.
type jobRun struct {
	ID       int64      `json:"id"`
	Started  time.Time  `json:"started_at"`
	Finished *time.Time `json:"finished_at"`
	Result   string     `json:"result"`
	Error    string     `json:"error"`
}

// runs reads the history of a job's runs from the first instance.
func (j *jobTrial) runs(kind string) ([]jobRun, error) {
	var page struct {
		Runs []jobRun `json:"runs"`
	}
	err := harness.FetchJSON(j.Ctx, j.Instances[0].URL()+"/admin/jobs/"+kind+"/runs?limit=1000", &page)
	return page.Runs, err
}

// judge reads what the jobs have left.
func (j *jobTrial) judge() error {
	for _, kind := range jobKinds() {
		j.judgeRuns(kind)
	}
	j.judgeStated()
	if met := j.Source.Met.Load(); met > 0 {
		j.Verdict.Say(history.Fault, "%d fetches met another one whose runner was alive", met)
	}
	return nil
}

// judgeRuns reads the history of a job's runs: they are numbered without gap, each
// ended before the next began, and the last alone may be under way. From the run on
// that the fault met, one statement succeeds a day.
func (j *jobTrial) judgeRuns(kind string) {
	runs, err := j.runs(kind)
	j.Must(err)
	results, days := map[string]int{}, map[string]int{}
	for n, r := range runs {
		results[r.Result]++
		if r.Result == "ok" && r.ID >= j.under[kind].Token {
			days[r.Started.Format(time.DateOnly)]++
		}
		if n == 0 {
			continue
		}
		before := runs[n-1]
		switch {
		case r.ID != before.ID+1:
			j.Verdict.Say(history.Fault, "run %d of %s follows run %d", r.ID, kind, before.ID)
		case before.Finished == nil:
			j.Verdict.Say(history.Fault, "run %d of %s began while run %d was under way", r.ID, kind, before.ID)
		case j.Clock == "" && r.Started.Before(*before.Finished):
			j.Verdict.Say(history.Fault, "run %d of %s began before run %d had ended", r.ID, kind, before.ID)
		}
	}
	for day, n := range days {
		if kind == "statement" && n > 1 && j.Clock == "" {
			j.Verdict.Say(history.Fault, "%d statements succeeded on %s", n, day)
		}
	}
	j.Note("%s: %d runs %v", kind, len(runs), results)
}
