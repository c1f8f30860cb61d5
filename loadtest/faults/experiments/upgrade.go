package experiments

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// rollingUpgrade upgrades to the next release and back, instance by instance, as
// docs/upgrading.md describes. Every instance in service is ready all the time, and
// draws. An SQLite file belongs to one process, so it is migrated after one program has
// ended and before the next one starts.
func rollingUpgrade() Experiment {
	return Experiment{
		Name: "rolling upgrade to the next release, and back", places: everywhere(3), tries: history.Ahead, begins: stage.Released,
		run: func(t *trial) error { return newRolling(t).run() },
	}
}

type rolling struct {
	*trial
	// turns counts how often each instance was taken out of service and put back: it is
	// in service while the number is even.
	turns []atomic.Int64
	// balancer must use an instance again before the next one is replaced; it may be nil.
	balancer *stage.Balancer
}

func newRolling(t *trial) *rolling {
	return &rolling{trial: t, turns: make([]atomic.Int64, len(t.Instances))}
}

func (r *rolling) run() error {
	defer r.watchReady()()
	r.migrate()
	steps := []string{r.Begins} // the old program must also start on the new schema
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

// migrate runs the next release's migration; on a server it does so under load.
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

func (r *rolling) execute(program string, args ...string) error {
	_, err := stage.Command(r.Ctx, program, append(args, "--database", r.URL)...)
	return err
}

// replace replaces the program of an instance, and reports whether it serves. The
// balancer is not notified, so it still sends requests while the instance is down.
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

// drawOnEach demands a draw from every instance.
func (r *rolling) drawOnEach() {
	for _, o := range r.asking(r.Pool(client.MainPool), len(r.Instances)) {
		o.Client = 8000
		if err := r.insist(o); err != nil {
			r.Verdict.Say(history.Fault, "instance %d (%s): %v", o.Instance, r.Instances[o.Instance].Program, err)
		}
	}
}

// watchReady keeps requesting the readiness of each instance, until stop is called: an
// instance in service must be ready. It asks twice, since the first request may time out
// on a busy machine.
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

func (t *trial) drawn() (n int) {
	for _, o := range t.History.Ops() {
		if o.Kind == history.Draw && o.Won() {
			n++
		}
	}
	return n
}

// updateDelay is longer than the balancer needs to notice that an instance is shutting
// down.
const updateDelay = "3s"

// updateWorkers is how many clients draw: few, because the update lasts a minute.
const updateWorkers = 4

// rollingUpdate updates to the next release and back, with a balancer that notices
// late. With a longer shutdown delay, no client notices.
func rollingUpdate(flags ...string) Experiment {
	return Experiment{
		Name: "rolling update behind a balancer, there and back", tries: history.Ahead, begins: stage.Released, flags: flags,
		places: []place{{"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}}, own: true,
		run: updatedBehindBalancer,
	}
}

// noDelay is the control of rollingUpdate.
func noDelay(database string) Cell {
	e := rollingUpdate()
	e.places = []place{{database, lockmode.ForUpdate, "", 3}}
	return e.control("the service behind a balancer, without `--shutdown-delay`")
}

func updatedBehindBalancer(t *trial) error {
	var urls []string
	for _, i := range t.Instances {
		urls = append(urls, i.URL())
	}
	b := stage.StartBalancer(t.Site, stage.BalancerEvery, urls...)
	t.Front = b.URL
	r := newRolling(t)
	r.balancer = b
	t.Must(t.UnderLoadOf(updateWorkers, r.run))
	if refused, cut := b.Refused.Load(), b.Cut.Load(); refused+cut > 0 {
		t.Verdict.Say(history.Fault, "instances refused %d connections, and ended %d before the response", refused, cut)
	}
	t.sawNothing()
	return nil
}

// sawNothing demands that every request was decided. A violation states the number of
// undecided requests by their answers.
func (t *trial) sawNothing() {
	failed := t.nobodySaw(func(o *history.Op) bool { return o.Status == 0 || o.Status >= 500 })
	t.Note("%d of %d requests decided at once", t.History.Len()-failed, t.History.Len())
}

// nobodySaw demands that no answer is bad, and returns the number of bad answers.
func (t *trial) nobodySaw(isBad func(o *history.Op) bool) (n int) {
	seen, first := map[string]int{}, ""
	for _, o := range t.History.Ops() {
		if isBad(&o) {
			n++
			seen[fmt.Sprintf("%d %s", o.Status, o.Answer())]++
			first = cmp.Or(first, o.String())
		}
	}
	if n > 0 {
		t.Verdict.Say(history.Fault, "clients saw %v; the first: %s", seen, first)
	}
	return n
}

// nginxFaults happen while all calls go through the nginx of docs/reverse-proxy.md.
func nginxFaults() []Experiment { return []Experiment{nginxRollout(""), nginxOutage("")} }

// nginxRollout restarts the instances in sequence. No caller notices. It uses the
// configuration of the page without the given words.
func nginxRollout(without string) Experiment {
	return Experiment{
		Name: "nginx rollout", own: true, run: func(t *trial) error {
			t.Front = t.StartNginx(t.removing(without))
			r := newRolling(t)
			t.Must(t.UnderLoad(r.restartTwice))
			t.sawNothing()
			return nil
		},
		places: []place{{"postgres", lockmode.ForUpdate, "", 3}, {"postgres", lockmode.Optimistic, "", 3}, {"mysql", lockmode.ForUpdate, "", 3}},
	}
}

const nginxAway = 10 * time.Second

// nginxOutage kills the database, and starts it again later. Callers get the service's
// own answers.
func nginxOutage(without string) Experiment {
	return Experiment{
		Name: "database away for 10 s, through nginx", Number: 9, own: true, run: func(t *trial) error {
			t.Front = t.StartNginx(t.removing(without))
			t.Must(t.UnderLoad(t.databaseAway))
			t.answersAreTheServices()
			return nil
		},
		places: []place{{"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3}},
	}
}

// nginxWithout is the control of an experiment: it uses the page's configuration
// without the words that the experiment depends on.
func nginxWithout(words string, e func(without string) Experiment) Cell {
	return e(" " + words).control("the page's nginx without `" + words + "`")
}

// removing returns an edit that removes words from a configuration. The configuration
// must contain them.
func (t *trial) removing(words string) func(config string) string {
	return func(config string) string {
		if !strings.Contains(config, words) {
			t.Site.Fatalf("the page's configuration has no %q", words)
		}
		return strings.ReplaceAll(config, words, "")
	}
}

// restartTwice stops and starts each instance, twice.
func (r *rolling) restartTwice() error {
	defer r.watchReady()()
	for n := range 2 * len(r.Instances) {
		r.Sleep(200, 500)
		if !r.replace(n%len(r.Instances), r.Program) {
			break
		}
		r.drawOnEach()
	}
	r.Ended = time.Now()
	return nil
}

func (t *trial) databaseAway() error {
	t.Server.Kill()
	t.Wait(nginxAway)
	return t.Server.Start()
}

// answersAreTheServices demands that every answer comes from the service, and that some
// state that the database is unavailable.
func (t *trial) answersAreTheServices() {
	t.nobodySaw(func(o *history.Op) bool { return o.Status >= 500 && o.Code == "" })
	away := map[string]int{}
	for _, o := range t.History.Ops() {
		if o.Status >= 500 {
			away[fmt.Sprintf("%d %s", o.Status, o.Code)]++
		}
	}
	if away["503 store-unavailable"] == 0 {
		t.Verdict.Say(history.Fault, "no answer says that the database is away: %v", away)
	}
	t.Note("meanwhile callers were answered %v", away)
}
