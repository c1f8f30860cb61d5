package experiments

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

func operatorFaults() []Experiment {
	return []Experiment{
		{Name: "instances in different modes on one pool", Number: 19, places: twoModes(), run: modesMixed},
		{Name: "mode switched under load", Number: 19, places: everywhere(2), soaks: true, run: modeSwitched},
		{Name: "pool paused and opened under load", Number: 18, places: everywhere(2), soaks: true, run: poolPaused},
		rollingUpgrade(),
		rollingUpdate("--shutdown-delay", updateDelay),
		tokenReplaced(),
		alerts(),
		{Name: "four processes migrate at once", Number: 23, places: []place{{"postgres", "for-update", "", 1}, {"mysql", "for-update", "", 1}}, own: true, run: migratedAtOnce},
	}
}

// twoModes returns places with one instance for each mode; the mode of the place is that
// of the first instance.
func twoModes() []place {
	return []place{{"postgres", "for-update", "table", 3}, {"mysql", "for-update", "table", 3}}
}

// modesMixed starts the instances again, each in another mode.
func modesMixed(t *trial) error {
	for n, i := range t.Instances {
		t.Must(i.Stop())
		i.Args = append(i.Args, "--mode", lockmode.Names()[n%len(lockmode.Names())])
		t.Must(i.Again(t.Ctx))
	}
	t.Sleep(2000, 3000)
	return nil
}

func modeSwitched(t *trial) error {
	names := lockmode.Names()
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); t.Sleep(20, 120) {
		name := t.Pool(client.MainPool)
		if len(t.Small) > 0 && t.Rand.IntN(2) == 0 {
			name = t.Small[t.Rand.IntN(len(t.Small))].Name
		}
		err := t.Operate(http.MethodPatch, "/admin/pools/"+name, map[string]any{"mode": names[t.Rand.IntN(len(names))]}, http.StatusOK)
		if err != nil {
			return fmt.Errorf("switch the mode: %w", err)
		}
	}
	for _, p := range t.Small {
		t.Must(t.Operate(http.MethodPatch, "/admin/pools/"+p.Name, map[string]any{"mode": nil}, http.StatusOK))
	}
	return t.Operate(http.MethodPatch, "/admin/pools/"+t.Pool(client.MainPool), map[string]any{"mode": nil}, http.StatusOK)
}

// poolPaused pauses the main pool: after the answer no new draw wins on any instance,
// and known draws are still answered.
func poolPaused(t *trial) error {
	state := func(state string) error {
		return t.Operate(http.MethodPatch, "/admin/pools/"+t.Pool(client.MainPool), map[string]any{"state": state}, http.StatusOK)
	}
	for range 3 {
		t.Must(state("paused"))
		from := t.History.Now()
		t.Sleep(300, 500)
		for _, o := range t.History.Ops() {
			if o.Call > from && o.Pool == t.Pool(client.MainPool) && o.Kind == "draw" && o.Won() && !o.Replayed {
				t.Verdict.Say(history.Fault, "won though the pool was paused: %s", &o)
			}
		}
		t.Must(state("open"))
		t.Sleep(100, 300)
	}
	return nil
}

func migratedAtOnce(t *trial) error {
	for range 5 {
		b := t.Ground.Database(t.Site, t.Kind, t.Server)
		var failed [4]error
		client.Parallel(len(failed), func(n int) {
			_, failed[n] = stage.Command(t.Ctx, stage.Released, "migrate", "up", "--database", b.URL)
		})
		if err := errors.Join(failed[:]...); err != nil {
			t.Verdict.Say(history.Fault, "%v", err)
		}
	}
	return nil
}
