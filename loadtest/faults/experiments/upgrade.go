package experiments

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// rollingUpgrade goes to the next release and back, one instance after another,
// as docs/upgrading.md says. Every instance that serves is ready all the while,
// and draws. A file belongs to one process, and is migrated between two.
func rollingUpgrade() Experiment {
	return Experiment{
		Name: "rolling upgrade to the next release, and back", places: everywhere(3), tries: history.Ahead, begins: stage.Released,
		run: func(t *trial) error { return newRolling(t).run() },
	}
}

// rolling is an upgrade under way.
type rolling struct {
	*trial
	// turns are how often each instance was taken out and put back: it serves
	// while they are even.
	turns []atomic.Int64
	// balancer has to know of an instance before the next one goes; nil for none.
	balancer *stage.Balancer
}

func newRolling(t *trial) *rolling {
	return &rolling{trial: t, turns: make([]atomic.Int64, len(t.Instances))}
}

func (r *rolling) run() error {
	defer r.watchReady()()
	r.migrate()
	steps := []string{r.Begins} // which may be started again on the new schema
	for _, program := range []string{r.Program, r.Begins} {
		for range r.Instances {
			steps = append(steps, program)
		}
	}
	for n, program := range steps {
		r.Sleep(200, 500)
		if !r.replace(n%len(r.Instances), program) {
			break
		}
		r.drawOnEach()
	}
	r.Ended = time.Now()
	return nil
}

// migrate runs the next release's migration, under load where it is a server's.
func (r *rolling) migrate() {
	isFile := r.Kind == "sqlite"
	if isFile {
		r.turns[0].Add(1)
		r.Must(r.Instances[0].Stop())
	}
	r.Must(r.execute(r.Program, "migrate", "up"))
	for _, program := range []string{r.Begins, r.Program} {
		if err := r.execute(program, "migrate", "status"); err != nil {
			r.Verdict.Say(history.Fault, "on the new schema: %v", err)
		}
	}
	if isFile && r.start(0) {
		r.drawOnEach()
	}
}

// execute runs a command of a program on the cell's database.
func (r *rolling) execute(program string, args ...string) error {
	_, err := stage.Command(r.Ctx, program, append(args, "--database", r.URL)...)
	return err
}

// replace puts a program in the place of an instance, and says whether it
// serves. The balancer of this fleet knows of nothing: requests meet the gap.
func (r *rolling) replace(n int, program string) bool {
	r.turns[n].Add(1)
	i := r.Instances[n]
	if err := i.Stop(); err != nil {
		r.Verdict.Say(history.EndedBadly, "%v", err)
	}
	i.Program = program
	return r.start(n)
}

func (r *rolling) start(n int) bool {
	if err := r.Instances[n].Again(r.Ctx); err != nil {
		r.Verdict.Say(history.Fault, "%s does not start: %v", r.Instances[n].Program, err)
		return false
	}
	r.turns[n].Add(1)
	if r.balancer == nil {
		return true
	}
	if err := r.balancer.Await(r.Ctx, n); err != nil {
		r.Verdict.Say(history.Fault, "%v", err)
		return false
	}
	return true
}

// drawOnEach wants a draw from every instance.
func (r *rolling) drawOnEach() {
	for _, o := range r.asking(r.Pool(client.MainPool), len(r.Instances)) {
		o.Client = 8000
		if err := r.insist(o); err != nil {
			r.Verdict.Say(history.Fault, "instance %d (%s): %v", o.Instance, r.Instances[o.Instance].Program, err)
		}
	}
}

// watchReady asks each instance all the time whether it is ready, until stop is
// called: one that serves has to be. It is asked twice, since the first time may
// have run out on a machine that is busy.
func (r *rolling) watchReady() (stop func()) {
	ctx, cancel := context.WithCancel(r.Ctx)
	var all sync.WaitGroup
	var asked atomic.Int64
	for n, i := range r.Instances {
		all.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
				turn := r.turns[n].Load()
				err := i.IsReady(ctx)
				if err != nil {
					err = i.IsReady(ctx)
				}
				asked.Add(1)
				if err != nil && ctx.Err() == nil && turn%2 == 0 && r.turns[n].Load() == turn {
					r.Verdict.Say(history.Fault, "instance %d serves, and is not ready: %v", n, err)
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
		r.Note("asked %d times whether an instance is ready; %d draws so far", asked.Load(), r.drawn())
	}
}

// drawn counts the draws that won.
func (t *trial) drawn() (n int) {
	for _, o := range t.History.Ops() {
		if o.Kind == history.Draw && o.Won() {
			n++
		}
	}
	return n
}
