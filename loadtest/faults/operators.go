package main

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
)

// operatorFaults are what the people do who run the service.
func operatorFaults() []experiment {
	return []experiment{
		{name: "instances in different modes on one pool", number: 19, places: twoModes(), run: modesMixed},
		{name: "mode switched under load", number: 19, places: everywhere(2), soaks: true, run: modeSwitched},
		{name: "pool paused and opened under load", number: 18, places: everywhere(2), soaks: true, run: poolPaused},
		rollingUpgrade(),
		{name: "four processes migrate at once", number: 23, places: []place{{"postgres", "for-update", "", 1}, {"mysql", "for-update", "", 1}}, own: true, run: migratedAtOnce},
	}
}

// twoModes has one instance for each mode; which is the first follows the place.
func twoModes() []place {
	return []place{{"postgres", "for-update", "table", 3}, {"mysql", "for-update", "table", 3}}
}

// modesMixed starts the instances again, each in another mode.
func modesMixed(t *trial) error {
	for n, i := range t.instances {
		if err := i.stop(); err != nil {
			return err
		}
		i.args = append(i.args, "--mode", lockmode.Names()[n%len(lockmode.Names())])
		if err := i.again(t.ctx); err != nil {
			return err
		}
	}
	t.sleep(2000, 3000)
	return nil
}

func modeSwitched(t *trial) error {
	names := lockmode.Names()
	for until := time.Now().Add(2 * time.Second); time.Now().Before(until); t.sleep(20, 120) {
		name := t.pool(mainPool)
		if len(t.small) > 0 && t.rng.IntN(2) == 0 {
			name = t.small[t.rng.IntN(len(t.small))].name
		}
		err := t.admin(http.MethodPatch, "/admin/pools/"+name, map[string]any{"mode": names[t.rng.IntN(len(names))]}, http.StatusOK)
		if err != nil {
			return fmt.Errorf("switch the mode: %w", err)
		}
	}
	for _, p := range t.small {
		if err := t.admin(http.MethodPatch, "/admin/pools/"+p.name, map[string]any{"mode": nil}, http.StatusOK); err != nil {
			return err
		}
	}
	return t.admin(http.MethodPatch, "/admin/pools/"+t.pool(mainPool), map[string]any{"mode": nil}, http.StatusOK)
}

// poolPaused pauses the main pool: from the answer on no new draw wins on any
// instance, and known ones are answered.
func poolPaused(t *trial) error {
	state := func(state string) error {
		return t.admin(http.MethodPatch, "/admin/pools/"+t.pool(mainPool), map[string]any{"state": state}, http.StatusOK)
	}
	for range 3 {
		if err := state("paused"); err != nil {
			return err
		}
		from := t.history.Now()
		t.sleep(300, 500)
		for _, o := range t.history.Ops() {
			if o.Call > from && o.Pool == t.pool(mainPool) && o.Kind == "draw" && o.Won() && !o.Replayed {
				t.verdict.Say(history.Fault, "won though the pool was paused: %s", &o)
			}
		}
		if err := state("open"); err != nil {
			return err
		}
		t.sleep(100, 300)
	}
	return nil
}

// migratedAtOnce starts processes on databases that are empty.
func migratedAtOnce(t *trial) error {
	for range 5 {
		b := t.ground.database(t.Site, t.kind, t.server)
		var failed [4]error
		parallel(len(failed), func(n int) {
			output, err := exec.CommandContext(t.ctx, filepath.Join(bin, released), "migrate", "up", "--database", b.url).CombinedOutput()
			if err != nil {
				failed[n] = fmt.Errorf("%w: %s", err, output)
			}
		})
		if err := errors.Join(failed[:]...); err != nil {
			t.verdict.Say(history.Fault, "%v", err)
		}
	}
	return nil
}
