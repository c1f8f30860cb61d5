package experiments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// winPools is the number of pools, winCodes the number of codes of each of their
	// prizes.
	winPools, winCodes = 3, 2000
	// winReserve is the number of further codes of gold that are not stocked.
	winReserve = 100
	// winWorkers is the number of clients that draw, each about every winThink.
	winWorkers = 6
	winThink   = 80 * time.Millisecond
	// winWithin is the time to claim the prize gold.
	winWithin = 5 * time.Second
	winRules  = `{"claims":{"within":"5s","prizes":["gold"]}}`
	// winTypes are the events of the hook: one for each award and for each step.
	winTypes = `["award.won","award.claimed","award.fulfilled","award.expired"]`
)

// wins are pools under load whose prizes have codes. Awards of gold must be claimed.
// Some are claimed close to their deadlines; if a claim is late, the unit returns to
// stock. A hook sends all events to a receiver that fails, drops connections and is
// late.
type wins struct {
	*trial
	pools []string
	// lines are the imported codes of each prize, by pool and prize.
	lines    map[string][]string
	receiver *stocktest.Moody
	// hook is the hook's path.
	hook string
	// from has, for each restored pool, the place from which the hook sent its events
	// again.
	from map[string]winPlace
	// isUnclaimed means that nothing is claimed for now.
	isUnclaimed atomic.Bool
	end         context.CancelFunc
	all         sync.WaitGroup
	mu          sync.Mutex
	claims      []*winClaim
}

// winPlace is a place in the history of a pool: the numbers of events that were
// received, of awards, and of steps.
type winPlace struct{ events, awards, steps int }

// winClaim is a claim of a draw, and its answer.
type winClaim struct {
	draw            history.Op
	asked, answered time.Time
	requests        int
	// code is the award's code, and refused the code of a refusal; both are "" while
	// the claim is not settled.
	code, refused string
}

// afterWins runs a fault under the load of wins, waits until every award that was not
// claimed has ended and all events have arrived, and stops the jobs.
func afterWins(isCalm bool, fault func(w *wins) error) func(*trial) error {
	return func(t *trial) error {
		w := &wins{
			trial: t, lines: map[string][]string{}, from: map[string]winPlace{},
			receiver: &stocktest.Moody{Receiver: stocktest.NewReceiver(t.Site), IsCalm: isCalm},
		}
		w.prepare()
		w.start()
		defer w.stop()
		t.Sleep(1000, 1500)
		t.Must(fault(w))
		t.Ended = time.Now()
		t.Recover(t.Ended)
		w.stop()
		w.settle()
		w.await()
		t.Judges = append(t.Judges, w.judge)
		return w.stopJobs()
	}
}

// prepare creates the pools and the hook, and shortens the time after which another
// instance takes over a run.
func (w *wins) prepare() {
	for n := range winPools {
		pool := w.Pool(fmt.Sprint("wins-", n))
		prizes := []map[string]any{{"id": "card", "name": "Card", "value": "5.00", "codes": true}, {"id": "gold", "name": "Gold", "value": "50.00", "codes": true}}
		w.Must(w.Operate(http.MethodPost, "/admin/pools", map[string]any{"id": pool, "name": "Wins", "prizes": prizes, "rules": json.RawMessage(winRules)}, http.StatusCreated))
		w.pools, w.Made[pool] = append(w.pools, pool), []history.Prize{{ID: "card"}, {ID: "gold"}}
		for _, prize := range []string{"card", "gold"} {
			lines := stocktest.CodeLines(strings.ToUpper(pool+"-"+prize), winCodes)
			w.lines[pool+"/"+prize] = lines
			w.Must(w.importCodes(w.Instances[0], pool, prize, "first", lines))
		}
		reserve := stocktest.CodeLines(strings.ToUpper(pool+"-reserve"), winReserve)
		w.lines[pool+"/gold"] = append(w.lines[pool+"/gold"], reserve...)
		w.Must(w.importCodes(w.Instances[0], pool, "gold", "reserve", reserve))
	}
	pools, err := json.Marshal(w.pools)
	w.Must(err)
	made, secret, err := w.addHook("http://"+harness.Serve(w.Site, w.receiver)+"/in", string(pools), "start")
	w.Must(err)
	w.hook = made
	w.receiver.Set(http.StatusNoContent, secret)
	for job, body := range map[string]string{"hooks": `{"stale_after":"2s"}`, "claims": `{"stale_after":"2s","schedule":"every 1s"}`} {
		w.Must(stage.Within(w.Ctx, jobMax, func() error { // an instance adds the job of hooks when it polls
			return w.Admin(http.MethodPatch, "/admin/jobs/"+job, json.RawMessage(body), http.StatusOK)
		}))
	}
}

// addHook creates a hook for pools, in JSON, and returns its path and its secret.
func (w *wins) addHook(url, pools, from string) (path, secret string, err error) {
	body := fmt.Sprintf(`{"url":%q,"types":%s,"pools":%s,"from":%q}`, url, winTypes, pools, from)
	text, err := harness.Operate(w.Ctx, http.MethodPost, w.Instances[0].URL()+"/admin/hooks", body, http.StatusCreated)
	var made struct{ ID, Secret string }
	if err == nil {
		err = json.Unmarshal(text, &made)
	}
	return "/admin/hooks/" + made.ID, made.Secret, err
}

// importCodes imports codes once, under a key; codes under the key "reserve" are not
// stocked.
func (w *wins) importCodes(i *stage.Instance, pool, prize, key string, lines []string) error {
	ctx, cancel := context.WithTimeout(w.Ctx, client.SettleMax)
	defer cancel()
	at := i.URL() + "/admin/pools/" + pool + "/prizes/" + prize + "/codes?reserve=" + strconv.FormatBool(key == "reserve")
	text, status, err := harness.Call(ctx, http.MethodPost, at, strings.Join(lines, "\n")+"\n", "Content-Type", "text/plain", "Idempotency-Key", prize+"-"+key)
	if err == nil && status != http.StatusCreated {
		err = fmt.Errorf("an import is answered %d %.300s", status, text)
	}
	return err
}

func (w *wins) start() {
	ctx, end := context.WithCancel(w.Ctx)
	w.end = end
	for n := range winWorkers {
		w.all.Go(func() { w.work(ctx, w.Worker(n)) })
	}
	w.all.Go(func() { // otherwise a message that failed twice waits for minutes
		for ; ctx.Err() == nil; time.Sleep(time.Second) {
			_ = w.retry() // the next retry follows
		}
	})
}

func (w *wins) stop() {
	w.end()
	w.all.Wait()
}

func (w *wins) retry() error {
	return w.Admin(http.MethodPost, w.hook+"/retry", struct{}{}, http.StatusAccepted)
}

// work draws until ctx ends, sometimes again under a known key, and begins a claim for
// each award of gold.
func (w *wins) work(ctx context.Context, k *client.Worker) {
	var last history.Op
	for ctx.Err() == nil {
		o := last
		if last.Key == "" || k.Rand.IntN(8) > 0 {
			o = history.Op{Kind: history.Draw, Pool: w.pools[k.Rand.IntN(len(w.pools))], Key: w.Key(), Count: 1, Client: k.Number}
			o.User = "user-" + o.Key
		}
		o.Instance = k.Rand.IntN(len(w.Instances))
		last = o
		if answered := w.Send(w.Ctx, o); answered.Won() && !answered.Replayed && answered.Awards[0].Prize == "gold" {
			before := beforeDeadline(k.Rand)
			w.all.Go(func() { w.claimAt(ctx, answered, before) })
		}
		time.Sleep(time.Duration(k.Rand.Int64N(int64(2 * winThink))))
	}
}

// beforeDeadline returns how long before its deadline an award is claimed. Half of the
// awards are claimed within milliseconds of the deadline.
func beforeDeadline(r *rand.Rand) time.Duration {
	near := []time.Duration{500, 120, 40, 15, 5, 2, 0, -5, -200}
	if n := r.IntN(2 * len(near)); n < len(near) {
		return near[n] * time.Millisecond
	}
	return time.Duration(r.Int64N(int64(winWithin)))
}

// claimAt claims an award some time before its deadline, and fulfils one in three.
func (w *wins) claimAt(ctx context.Context, draw history.Op, before time.Duration) {
	at, _ := time.Parse(time.RFC3339Nano, draw.Awards[0].At) // judged later
	select {
	case <-ctx.Done():
		return
	case <-time.After(time.Until(at.Add(winWithin - before))):
	}
	if w.isUnclaimed.Load() {
		return
	}
	c := &winClaim{draw: draw}
	w.mu.Lock()
	w.claims = append(w.claims, c)
	w.mu.Unlock()
	if w.claim(c) != nil || c.code == "" || draw.Awards[0].Version%3 > 0 {
		return
	}
	body := fmt.Sprintf(`{"award":%d,"to":"fulfilled","reference":"parcel %s"}`, draw.Awards[0].Version, draw.Key)
	_, _, _ = w.call(draw.Instance, "/admin/pools/"+draw.Pool+"/steps", body) // nobody waits for it
}

// call makes a POST request that is not retried.
func (w *wins) call(instance int, path, body string, headers ...string) (text []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(w.Ctx, w.Limit()+client.Patience)
	defer cancel()
	return harness.Call(ctx, http.MethodPost, w.Instances[instance].URL()+path, body, headers...)
}

// claim makes one request, and returns an error unless it settles the claim.
func (w *wins) claim(c *winClaim) error {
	c.requests++
	c.asked = time.Now()
	text, status, err := w.call(c.draw.Instance, "/pools/"+c.draw.Pool+"/draws/"+c.draw.Key+"/claim", `{"user":"`+c.draw.User+`"}`, "Authorization", "Bearer "+harness.DrawToken)
	c.answered = time.Now()
	var a client.Answer
	switch err = errors.Join(err, json.Unmarshal(text, &a)); {
	case err == nil && status == http.StatusOK && len(a.Awards) == 1:
		c.code = a.Awards[0].Code
	case err == nil && status == http.StatusConflict:
		c.refused = a.Code
	}
	if c.code+c.refused == "" {
		return errors.Join(err, fmt.Errorf("a claim is answered %d %.200s", status, text))
	}
	return nil
}

// settle repeats the draws and claims that are in doubt.
func (w *wins) settle() {
	since := w.History.Now()
	if err := stage.Within(w.Ctx, client.SettleMax, func() error {
		w.AskAgain(w.History.Doubtful(since), 0)
		if left := w.History.Doubtful(since); len(left) > 0 {
			return fmt.Errorf("%s", &left[0])
		}
		for _, c := range w.claims {
			if c.code+c.refused != "" {
				continue
			}
			if err := w.claim(c); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		w.Verdict.Say(history.Unsettled, "%v", err)
	}
}

// winStep is a step, as the service shows it.
type winStep struct {
	N, Award int64
	To       string
	Returned *int64
	At       time.Time
}

func (w *wins) steps(pool string) (all []winStep, err error) {
	text, status, err := harness.Call(w.Ctx, http.MethodGet, w.Instances[0].URL()+"/admin/pools/"+pool+"/steps", "", "Accept", "application/x-ndjson")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("the steps are answered %d", status)
	}
	for line := range bytes.Lines(text) {
		var s winStep
		err = errors.Join(err, json.Unmarshal(line, &s))
		all = append(all, s)
	}
	return all, err
}

// await waits until all awards of gold are claimed or expired and all events have arrived.
func (w *wins) await() {
	if len(w.Verdict.Violations) > 0 {
		return // a broken program is not worth more time
	}
	if err := stage.Within(w.Ctx, jobMax, func() error {
		all := []error{w.retry()}
		for _, pool := range w.pools {
			all = append(all, w.outstanding(pool))
		}
		return errors.Join(all...)
	}); err != nil {
		w.Verdict.Say(history.Fault, "%v", err)
	}
}

// outstanding returns the condition for which a pool waits, or the fault in its events.
func (w *wins) outstanding(pool string) error {
	rows, err := w.Rows(pool)
	if err != nil {
		return err
	}
	steps, err := w.steps(pool)
	if err != nil {
		return err
	}
	var versions, numbers []int64
	open := map[int64]bool{}
	for _, a := range rows.Awards {
		versions = append(versions, a.Version)
		open[a.Version] = a.Prize == "gold"
	}
	for _, s := range steps {
		numbers = append(numbers, s.N)
		delete(open, s.Award)
	}
	for version, isGold := range open {
		if isGold {
			return fmt.Errorf("pool %s: the award of version %d is neither claimed nor expired", pool, version)
		}
	}
	from := w.from[pool]
	events, _, bad := w.receiver.Of(pool)
	faults := slices.Concat(bad, stocktest.JudgeFirsts(events[from.events:], versions[from.awards:], numbers[from.steps:]))
	if len(faults) > 0 {
		return fmt.Errorf("pool %s: %.600s", pool, strings.Join(faults, "; "))
	}
	return nil
}

// stopJobs turns the hook off, and waits for the end of the jobs' runs, whose locks would
// be left over. A run whose runner was killed ends only while the job is on.
func (w *wins) stopJobs() error {
	w.Must(w.Admin(http.MethodPatch, w.hook, map[string]string{"state": "off"}, http.StatusOK))
	j := &jobTrial{trial: w.trial}
	for _, job := range []string{"hooks", "claims"} {
		ends := func() error {
			r, err := j.row(job)
			if err == nil && !isIdle(r) {
				err = fmt.Errorf("a run of %s does not end: %+v", job, r)
			}
			return err
		}
		w.Must(stage.Within(w.Ctx, jobMax, ends))
		j.change(job, `{"enabled":false}`)
		w.Must(stage.Within(w.Ctx, jobMax, ends))
	}
	return nil
}
