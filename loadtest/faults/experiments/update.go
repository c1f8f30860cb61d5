package experiments

import (
	"cmp"
	"fmt"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

// updateDelay is longer than the balancer takes to learn that an instance leaves.
const updateDelay = "3s"

// updateWorkers is how many clients draw: few, for the minute that it lasts.
const updateWorkers = 4

// rollingUpdate goes to the next release and back behind a balancer that learns
// late. With a delay that is longer, no client sees anything of it.
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

// sawNothing wants every request to have been decided, and counts the others by
// what they were answered.
func (t *trial) sawNothing() {
	failed := t.nobodySaw(func(o *history.Op) bool { return o.Status == 0 || o.Status >= 500 })
	t.Note("%d of %d requests decided at once", t.History.Len()-failed, t.History.Len())
}

// nobodySaw wants no answer of a sort, and returns how many there are.
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
