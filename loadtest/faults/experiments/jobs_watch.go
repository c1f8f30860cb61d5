package experiments

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

type jobRow struct {
	Name    string `json:"name"`
	Status  string `json:"status"`
	Holder  string `json:"holder"`
	Token   int64  `json:"token"`
	Success string `json:"last_success"`
	Overdue int64  `json:"overdue_seconds"`
}

type jobTrial struct {
	*trial
	// under are the rows of the runs that the fault disturbs.
	under map[string]jobRow
	mu    sync.Mutex
	// served are the contents that each instance served last.
	served map[int]int64
}

// underJobs runs a fault while it watches all instances, and demands a success of each
// job after it.
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
			break // a broken program is not worth more time
		}
		if err := j.succeeds(kind); err != nil {
			t.Verdict.Say(history.Fault, "%v", err)
		}
	}
	if len(t.Verdict.Violations) == 0 { // the lock of a run under way is not left over
		j.change("audit", `{"enabled":false}`)
		j.change("catalogue", `{"enabled":false}`)
		j.within(jobMax, isIdle)
	}
	t.Ended = time.Now()
	t.Judges = append(t.Judges, j.judge)
	return nil
}

func (j *jobTrial) row(kind string) (jobRow, error) { return j.rowBut(nil, kind) }

// rowBut is like row, but sends no request to one of the instances.
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
// disturbed, or for that run's own success if it is the run of its day.
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

// fails waits for a failed run of a job that is later than all earlier runs.
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

// watch reads the content that every instance serves, until stop is called: the
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

func (j *jobTrial) sees(n int, description string) {
	var content int64
	if _, err := fmt.Sscanf(description, "content %d", &content); err != nil {
		return // the description contains no content yet
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if content < j.served[n] {
		j.Verdict.Say(history.Fault, "instance %d went back from content %d to %d: a run wrote after a later one", n, j.served[n], content)
	}
	j.served[n] = content
}

func (j *jobTrial) half(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Verdict.Say(history.Fault, "instance %d served a half catalogue", n)
}

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

// judgeRuns reads the history of a job's runs: they are numbered without gap, each ended
// before the next began, and only the last may be under way. From the disturbed run on,
// one statement a day succeeds.
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

const (
	// statedPool has past days without lines of a statement.
	statedPool = "stated"
	statedDays = 3
)

// makeStated creates a pool that is some days old, which is longer than any trial.
func (j *jobTrial) makeStated() {
	p := harness.Pool{ID: statedPool, Name: statedPool}
	for _, prize := range stage.PrizeNames() {
		p.Prizes = append(p.Prizes, harness.Prize{ID: prize, Name: prize, Value: "1.50", Stock: 5})
	}
	j.Must(j.Admin(http.MethodPost, "/admin/pools", p, http.StatusCreated))
	format := "2006-01-02 15:04:05"
	if j.Kind == "sqlite" {
		format = "2006-01-02T15:04:05.000000Z"
	}
	at := time.Now().UTC().AddDate(0, 0, -statedDays).Format(format)
	j.byHand(fmt.Sprintf(`UPDATE moves SET at = '%s' WHERE pool_id = '%s'`, at, statedPool), fmt.Sprintf(`UPDATE changes SET at = '%s' WHERE pool_id = '%s'`, at, statedPool))
}

func (j *jobTrial) byHand(statements ...string) {
	conn, leave := j.otherSession()
	defer leave()
	j.Must(j.say(conn, statements...))
}

// change changes a job's row on the first instance that answers.
func (j *jobTrial) change(kind, body string) { j.changeBut(nil, kind, body) }

// changeBut is like change, but sends no request to one of the instances. If there is
// only one instance, it does nothing.
func (j *jobTrial) changeBut(but *stage.Instance, kind, body string) {
	var err error
	for _, i := range j.Instances {
		if i == but {
			continue
		}
		if _, err = harness.Operate(j.Ctx, http.MethodPatch, i.URL()+"/admin/jobs/"+kind, body, http.StatusOK); err == nil {
			return
		}
	}
	j.Must(err)
}

// pin pins all jobs to a host, in JSON; null unpins them.
func (j *jobTrial) pin(host string) {
	for _, kind := range jobKinds() {
		j.change(kind, `{"host":`+host+`}`)
	}
}

// unpin allows all instances to run the jobs. It waits for that, because a runner that
// has not read the change may be silent for a minute.
func (j *jobTrial) unpin() {
	j.pin("null")
	time.Sleep(jobStale / 3)
}

// caught returns an instance that has just begun a run of every job. The jobs are
// pinned to it, because otherwise three instances would share them.
func (j *jobTrial) caught() *stage.Instance {
	for _, i := range j.Instances {
		j.Must(i.Arm(fault.InRun, "slow "+stage.RunLasts.String()))
	}
	for until := time.Now().Add(jobMax); j.Ctx.Err() == nil && time.Now().Before(until); {
		j.pin(`"nobody"`)
		if j.within(2*stage.RunLasts, isIdle) == nil {
			continue
		}
		j.byHand(`DELETE FROM statements WHERE pool_id = '` + statedPool + `'`)
		runner := j.Any()
		host := stage.HostName(runner.Number)
		j.pin(`"` + host + `"`)
		rows := j.within(stage.RunLasts/2, func(r jobRow) bool {
			if r.Status == "idle" { // an instance that is requested to run reads the rows at once, and its last run may not have ended there yet
				_, _ = harness.Operate(j.Ctx, http.MethodPost, runner.URL()+"/admin/jobs/"+r.Name+"/run", "", http.StatusAccepted)
			}
			return r.Status == "running" && r.Holder == host
		})
		if rows != nil {
			j.under = rows
			return runner
		}
	}
	rows := map[string]jobRow{}
	for _, kind := range jobKinds() {
		rows[kind], _ = j.row(kind)
	}
	j.Fatalf("no instance ran all jobs within %v: %+v", jobMax, rows)
	return nil
}

func isIdle(r jobRow) bool { return r.Status == "idle" }

// within waits until is reports true for the row of each job, and returns the rows; nil
// if that takes longer than d.
func (j *jobTrial) within(d time.Duration, is func(jobRow) bool) map[string]jobRow {
	for until := time.Now().Add(d); j.Ctx.Err() == nil && time.Now().Before(until); time.Sleep(20 * time.Millisecond) {
		var page struct {
			Jobs []jobRow `json:"jobs"`
		}
		if err := harness.FetchJSON(j.Ctx, j.Any().URL()+"/admin/jobs", &page); err != nil {
			continue
		}
		rows := map[string]jobRow{}
		for _, r := range page.Jobs {
			if is(r) {
				rows[r.Name] = r
			}
		}
		if len(rows) == len(jobKinds()) {
			return rows
		}
	}
	return nil
}

// awaitTakeover waits until all runs that were under way were taken over and repeated,
// or until they should have been, and returns their number. A lock that is a connection
// is held as long as its holder is paused.
func (j *jobTrial) awaitTakeover(from *stage.Instance) (taken int) {
	for until := time.Now().Add(jobAway + stage.RunLasts); taken < len(jobKinds()) && j.Ctx.Err() == nil && time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		taken = 0
		for _, kind := range jobKinds() {
			if r, err := j.rowBut(from, kind); err == nil && r.Token > j.under[kind].Token && r.Success != j.under[kind].Success {
				taken++
			}
		}
	}
	return taken
}

// judgeStated requires exactly one line for each prize of the pool and each past day:
// the lost run left either no lines or all of its lines.
func (j *jobTrial) judgeStated() {
	var page struct {
		Statements []struct {
			Day   string `json:"day"`
			Prize string `json:"prize"`
		} `json:"statements"`
	}
	j.Must(harness.FetchJSON(j.Ctx, j.Instances[0].URL()+"/admin/pools/"+statedPool+"/statements?limit=1000", &page))
	lines, days := map[string]int{}, map[string]bool{}
	for _, l := range page.Statements {
		lines[l.Day+l.Prize]++
		days[l.Day] = true
		if lines[l.Day+l.Prize] > 1 {
			j.Verdict.Say(history.Fault, "prize %s has two lines for %s", l.Prize, l.Day)
		}
	}
	if len(days) < statedDays || len(page.Statements) != len(days)*len(stage.PrizeNames()) {
		j.Verdict.Say(history.Fault, "%d lines for %d days of %d", len(page.Statements), len(days), statedDays)
	}
}
