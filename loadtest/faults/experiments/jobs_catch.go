package experiments

import (
	"fmt"
	"net/http"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// statedPool has stated days that are over and have no lines yet.
	statedPool = "stated"
	statedDays = 3
)

// makeStated makes a pool that is some days old, as no trial lasts that long.
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

// byHand runs statements beside the service.
func (j *jobTrial) byHand(statements ...string) {
	conn, leave := j.otherSession()
	defer leave()
	j.Must(j.say(conn, statements...))
}

// change changes a job's row on the first instance that answers.
func (j *jobTrial) change(kind, body string) { j.changeBut(nil, kind, body) }

// changeBut is change without asking one of the instances. An only one is asked
// for nothing.
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

// unpin has all instances run the jobs. A runner that is not heard of after a change
// may be silent for a minute, so it is given the time to be.
func (j *jobTrial) unpin() {
	j.pin("null")
	time.Sleep(jobStale / 3)
}

// caught returns an instance that has just begun a run of every job. The jobs are
// pinned to it: otherwise three instances would share them.
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
			if r.Status == "idle" { // who is asked for a run reads the rows at once; the last run may not quite have ended there
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

// within returns the rows of all jobs once they are so, nil where they are not
// within a time.
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

// awaitTakeover waits until all runs that were under way were taken over and made
// up for, or until they should have been, and returns how many were. A lock that is a connection is
// held as long as its holder stands still.
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

// judgeStated wants a line for each prize of the pool and each day that is over,
// and none twice: the run that was lost left nothing, or what it had written whole.
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
