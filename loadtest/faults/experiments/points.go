package experiments

import (
	"fmt"
	"syscall"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

func points() []Experiment {
	var all []Experiment
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
			Experiment{
				Name: "service killed " + p.words, Number: p.number, places: everywhere(2), points: true, soaks: true,
				run: killedAt(p.point),
			},
			Experiment{
				Name: "panic " + p.words, Number: 21, places: everywhere(2), points: true, Internal: true, soaks: true,
				run: panicAt(p.point),
			},
			Experiment{
				Name: "service stopped for 3 s " + p.words, Number: 14, places: everywhere(2), points: true, soaks: true,
				run: stoppedAt(p.point),
			},
		)
	}
	return append(all,
		serviceKilled(),
		Experiment{Name: "SIGTERM under load", Number: 8, places: everywhere(2), soaks: true, run: terminated},
	)
}

func serviceKilled() Experiment {
	return Experiment{Name: "service killed", Number: 7, places: everywhere(2), soaks: true, run: kills(func(_ *trial, i *stage.Instance) error {
		i.Kill()
		return nil
	})}
}

func killedAt(p fault.Point) func(*trial) error {
	return kills(func(_ *trial, i *stage.Instance) error {
		if err := i.Arm(p, "kill"); err != nil {
			return err
		}
		return i.AwaitTaken()
	})
}

// panicAt makes a batch panic, several times: its draws are retried one by one.
func panicAt(p fault.Point) func(*trial) error {
	return func(t *trial) error {
		for range 5 {
			i := t.Any()
			t.Must(i.Arm(p, "panic"))
			t.Must(i.AwaitTaken())
			t.Sleep(20, 150)
		}
		return nil
	}
}

// stoppedAt pauses the whole process for longer than the timeout of a request and a
// lease.
func stoppedAt(p fault.Point) func(*trial) error {
	return func(t *trial) error {
		return t.Any().HaltAt(p, stage.LockTTL+time.Second)
	}
}

func terminated(t *trial) error {
	i := t.Any()
	i.Expect()
	began := time.Now()
	i.Signal(syscall.SIGTERM)
	if err := i.Process.AwaitEnd(); err != nil {
		t.Verdict.Say(history.EndedBadly, "instance %d after SIGTERM: %v", i.Number, err)
	}
	t.Note("ended %v after SIGTERM", time.Since(began).Round(time.Millisecond))
	t.Sleep(100, 300)
	t.Ended = time.Now()
	if err := i.Again(t.Ctx); err != nil {
		return fmt.Errorf("after SIGTERM: %w", err)
	}
	return nil
}
