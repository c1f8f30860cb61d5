package experiments

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

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
	t.Must(j.change(`{"stale_after":"` + jobStale.String() + `"}`))
	defer j.watch()()
	t.Must(j.succeeds())
	for range 2 {
		t.Must(fault(j))
		if j.Condemned && len(j.Verdict.Violations) > 0 {
			break // it does not deserve more time
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
func (j *jobTrial) running() *stage.Instance {
	select {
	case <-j.Source.Began: // an old one
	default:
	}
	select {
	case n := <-j.Source.Began:
		return j.Instances[n]
	case <-time.After(jobMax):
		j.Fatalf("the job did not run within %v", jobMax)
		return nil
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

// jobRun is a run in the history of a job.
type jobRun struct {
	ID       int64      `json:"id"`
	Started  time.Time  `json:"started_at"`
	Finished *time.Time `json:"finished_at"`
	Result   string     `json:"result"`
}

// runs reads the history of runs from the first instance.
func (j *jobTrial) runs() ([]jobRun, error) {
	var page struct {
		Runs []jobRun `json:"runs"`
	}
	err := harness.FetchJSON(j.Ctx, j.Instances[0].URL()+"/admin/jobs/catalogue/runs?limit=1000", &page)
	return page.Runs, err
}

// judgeRuns reads the history of runs: they are numbered without gap, each ended
// before the next began, and the last alone may be under way.
func (j *jobTrial) judgeRuns() error {
	runs, err := j.runs()
	j.Must(err)
	results := map[string]int{}
	for n, r := range runs {
		results[r.Result]++
		if n == 0 {
			continue
		}
		before := runs[n-1]
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
	j.Note("%d runs: %v; %d fetches", len(runs), results, j.Source.Fetches.Load())
	return nil
}
