package experiments

import (
	"fmt"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
)

// nginxFaults happen while all calls go through the nginx of docs/reverse-proxy.md.
func nginxFaults() []Experiment { return []Experiment{nginxRollout(""), nginxOutage("")} }

// nginxRollout restarts one instance after another. No caller notices. The
// configuration of the page is used without the given words.
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

// nginxAway is how long the database is away.
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

// nginxWithout is the control of an experiment: the page's configuration without the
// words that it makes the difference for.
func nginxWithout(words string, e func(without string) Experiment) Cell {
	return e(" " + words).control("the page's nginx without `" + words + "`")
}

// removing returns an edit that removes words from a configuration, which has them.
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

// answersAreTheServices wants every answer to be one of the service, and some to say
// that the database is away.
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
