package experiments

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// rulesUnreadable replaces an instance by a later release, which puts rules in force
// that the others cannot read. On the others new draws of that pool are delayed, and
// nothing else is. If there is only one instance, it is replaced back.
func rulesUnreadable() Experiment {
	return Experiment{
		Name: "unreadable rules", codes: []string{"rules-unreadable"}, tries: history.Later, begins: stage.Released,
		run: func(t *trial) error { return (&unreadableRun{trial: t, pool: t.Pool("later")}).run() },
		places: []place{
			{"sqlite", lockmode.Optimistic, "", 1}, {"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3},
			{"mysql", lockmode.ForUpdate, "", 3},
		},
	}
}

// rulesBlamed is the control: an instance answers as if the caller had written the
// rules.
func rulesBlamed() Cell {
	e := rulesUnreadable()
	e.begins, e.places = history.BlamesCallers, e.places[1:]
	d, _ := history.DoubleOf(e.begins)
	return e.control(d.Flaw)
}

const (
	// Only the later release can read laterRules; ownRules replace them.
	ownRules   = `{"fallback":"none","limits":[{"of":"draws","max":100000,"per":"day"}]}`
	laterRules = `{"fallback":"none","limits":[{"of":"draws","max":100000,"per":"day"}],"zone":"` + history.LaterZone + `"}`
	// unreadableFor is how long laterRules are in force.
	unreadableFor = 4 * time.Second
)

// unreadableRun is one pool whose rules cannot be read everywhere for a while.
type unreadableRun struct {
	*trial
	pool string
	// begun is when the rules were put in force, ended when they were replaced.
	begun, ended time.Duration
}

func (r *unreadableRun) run() error {
	r.Must(r.MakePool(r.pool, 50_000))
	r.Must(r.Operate(http.MethodPost, "/admin/pools/"+r.pool+"/prizes", map[string]any{"id": "none", "name": "No win", "kind": "blank"}, http.StatusCreated))
	r.Made[r.pool] = append(r.Made[r.pool], history.Prize{ID: "none"})
	r.Must(r.setRules(0, ownRules))
	stop := r.call()
	defer stop()
	r.Sleep(300, 600)
	last := len(r.Instances) - 1
	began := r.Instances[last].Program
	r.Must(r.become(last, r.Program))
	r.Must(r.setRules(last, laterRules))
	if last == 0 {
		r.Must(r.become(last, began))
	}
	r.begun = r.History.Now()
	r.Wait(unreadableFor)
	if err := r.setRules(0, ownRules); err != nil {
		r.Verdict.Say(history.Fault, "the rules cannot be replaced: %v", err)
	}
	r.ended = r.History.Now()
	r.Sleep(800, 1200)
	stop()
	if last > 0 {
		r.Must(r.become(last, began))
	}
	r.Ended = time.Now()
	r.judge()
	return nil
}

func (r *unreadableRun) become(n int, program string) error {
	i := r.Instances[n]
	r.Must(i.Stop())
	i.Program = program
	return i.Again(r.Ctx)
}

func (r *unreadableRun) setRules(n int, rules string) error {
	return stage.Within(r.Ctx, client.RecoverMax, func() error {
		_, err := harness.Operate(r.Ctx, http.MethodPut, r.Instances[n].URL()+"/admin/pools/"+r.pool+"/rules", rules, http.StatusOK)
		return err
	})
}

// call makes callers draw from the pool on each instance, alternately with a new key
// and a known one, until stop is called.
func (r *unreadableRun) call() (stop func()) {
	ctx, end := context.WithCancel(r.Ctx)
	var callers sync.WaitGroup
	for n := range r.Instances {
		callers.Go(func() {
			known := r.asking(r.pool, 1)[0]
			for k := 0; ctx.Err() == nil; k++ {
				o := known
				if k%2 == 1 {
					o = r.asking(r.pool, 1)[0]
				}
				o.Client, o.Instance = 9000+n, n
				r.Send(r.Ctx, o)
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	return func() { end(); callers.Wait() }
}

// judge compares the answers of the pool, and those of all other pools, with the data
// that the instances could read.
func (r *unreadableRun) judge() {
	refused, known, drawn := 0, 0, 0
	again := map[string]bool{}
	for _, o := range history.Again(r.History.Ops()) {
		again[fmt.Sprint(o.Key, o.Call)] = true
	}
	for _, o := range r.History.Ops() {
		during, after := o.Call > r.begun && o.Return < r.ended, o.Call > r.ended
		reads := o.Instance > 0 && o.Instance == len(r.Instances)-1
		var wrong bool
		switch {
		case r.Instances[o.Instance].Halted(r.History.Time(o.Call), r.History.Time(o.Return)), o.Answer() == "no-connection":
			continue // the instance was being replaced
		case o.Pool != r.pool:
			wrong = o.Status == 0 || o.Status >= 500
		case !during:
			wrong = after && !o.Won() || o.Refused()
		case reads:
			wrong = !o.Won()
			drawn++
		case again[fmt.Sprint(o.Key, o.Call)]:
			wrong = !o.Won()
			known++
		default:
			wrong = o.Answer() != "rules-unreadable" || o.Outcome != "none"
			refused++
		}
		if wrong {
			r.Verdict.Say(history.Fault, "rules unreadable %v, replaced %v: %s", during, after, &o)
		}
	}
	r.Note("while instances could not read the rules: %d new draws waited, %d known keys were answered, %d draws on an instance that could", refused, known, drawn)
	if refused == 0 || known == 0 || drawn == 0 && len(r.Instances) > 1 {
		r.Verdict.Say(history.Fault, "not all was tried")
	}
}
