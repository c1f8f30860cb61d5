package main

import (
	"fmt"
	"syscall"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/history"
)

// points are the faults inside the service, at its named points.
func points() []experiment {
	var all []experiment
	for _, p := range []struct {
		point  fault.Point
		words  string
		number int
	}{
		{fault.BeforeWrite, "before the write", 6},
		{fault.BeforeCommit, "before COMMIT", 6},
		{fault.AfterCommit, "after COMMIT, before the answer", 7},
	} {
		all = append(all,
			experiment{
				name: "service killed " + p.words, number: p.number, places: everywhere(2), points: true, soaks: true,
				run: killedAt(p.point),
			},
			experiment{
				name: "panic " + p.words, number: 21, places: everywhere(2), points: true, internal: true, soaks: true,
				run: panicAt(p.point),
			},
			experiment{
				name: "service stopped for 3 s " + p.words, number: 14, places: everywhere(2), points: true, soaks: true,
				run: stoppedAt(p.point),
			},
		)
	}
	return append(all,
		experiment{name: "service killed", number: 7, places: everywhere(2), soaks: true, run: kills(func(_ *trial, i *instance) error {
			i.kill()
			return nil
		})},
		experiment{name: "SIGTERM under load", number: 8, places: everywhere(2), soaks: true, run: terminated},
	)
}

func killedAt(p fault.Point) func(*trial) error {
	return kills(func(_ *trial, i *instance) error {
		if err := i.arm(p, "kill"); err != nil {
			return err
		}
		return i.awaitTaken()
	})
}

// panicAt makes a batch panic, some times: its draws are tried one by one.
func panicAt(p fault.Point) func(*trial) error {
	return func(t *trial) error {
		for range 5 {
			i := t.any()
			if err := i.arm(p, "panic"); err != nil {
				return err
			}
			if err := i.awaitTaken(); err != nil {
				return err
			}
			t.sleep(20, 150)
		}
		return nil
	}
}

// stoppedAt stops the whole process for longer than a request may take and a
// lease lasts.
func stoppedAt(p fault.Point) func(*trial) error {
	return func(t *trial) error {
		return t.any().haltAt(p, lockTTL+time.Second)
	}
}

func terminated(t *trial) error {
	i := t.any()
	i.expect()
	began := time.Now()
	i.signal(syscall.SIGTERM)
	if err := i.process.AwaitEnd(); err != nil {
		t.verdict.Say(history.EndedBadly, "instance %d after SIGTERM: %v", i.number, err)
	}
	t.note("ended %v after SIGTERM", time.Since(began).Round(time.Millisecond))
	t.sleep(100, 300)
	t.ended = time.Now()
	if err := i.again(t.ctx); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}
