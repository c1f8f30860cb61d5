package experiments

import (
	"errors"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
)

func linkFaults() []Experiment {
	forUpdate := []place{{"postgres", "for-update", "", 2}, {"mysql", "for-update", "", 2}}
	return []Experiment{
		{Name: "session killed before COMMIT", Number: 10, places: servers(), points: true, soaks: true, timeout: commitTimeout, run: atCommit(sessionAtCommit)},
		{Name: "COMMIT cut before it arrives", Number: 10, places: servers(), points: true, links: true, soaks: true, timeout: commitTimeout, run: atCommit(commitCut)},
		{Name: "answer cut at COMMIT", Number: 10, places: servers(), points: true, links: true, soaks: true, timeout: commitTimeout, run: atCommit(answerCut)},
		{Name: "link cut", Number: 11, places: servers(), links: true, soaks: true, run: linksCut},
		{Name: "link silent for 6 s", Number: 11, places: servers(), links: true, soaks: true, run: linksSilent(6 * time.Second)},
		{Name: "link silent for 30 s", Number: 11, places: forUpdate, links: true, run: linksSilent(30 * time.Second)},
		{Name: "answers held for 3 s", Number: 11, places: servers(), links: true, soaks: true, run: answersHeld},
	}
}

const (
	// commitPause is how long a batch pauses before its COMMIT.
	commitPause = 200 * time.Millisecond
	// commitTimeout is the service's timeout of a request in cells that may leave no
	// caller in doubt: long enough that a machine that pauses for seconds does not use
	// it up.
	commitTimeout = 10 * time.Second
)

// atCommit breaks something while a batch pauses before its COMMIT, several times. The
// batch's callers must be answered 200, because the batch is run again with its keys.
// Only a replay may end unknown, because the database cannot be reached. A lock in the
// database is lost with the link, and its term may be longer than the caller's timeout.
func atCommit(sever func(t *trial, i *stage.Instance) error) func(*trial) error {
	return func(t *trial) error {
		from := t.History.Now()
		for range 5 {
			i := t.Any()
			t.Must(i.Arm(fault.BeforeCommit, "sleep "+commitPause.String()))
			t.Must(i.AwaitTaken())
			t.Must(sever(t, i))
			t.Sleep(50, 200)
		}
		ops, doubts := t.History.Ops(), 0
		isReplay := history.IsAgain(ops)
		for _, o := range ops {
			if o.Call < from || !o.Unknown() || o.Kind != history.Draw || isReplay(&o) {
				continue
			}
			if doubts++; t.Mode != lockmode.External {
				t.Verdict.Say(history.Fault, "it was not settled for the caller: %s", &o)
			}
		}
		t.Note("%d in doubt", doubts)
		return nil
	}
}

func sessionAtCommit(t *trial, _ *stage.Instance) error {
	if t.killSessions() == 0 {
		return errors.New("the service had no session")
	}
	return nil
}

func commitCut(t *trial, i *stage.Instance) error {
	t.Links[i.Number].Cut()
	time.Sleep(2 * commitPause)
	t.Links[i.Number].Pass()
	return nil
}

// answerCut passes COMMIT on, but not its answer.
func answerCut(t *trial, i *stage.Instance) error {
	t.Links[i.Number].HoldAnswers()
	time.Sleep(2 * commitPause)
	t.Links[i.Number].Cut()
	t.Sleep(10, 50)
	t.Links[i.Number].Pass()
	return nil
}

func (t *trial) each(do func(*servertest.Proxy)) {
	for _, link := range t.Links {
		do(link)
	}
}

func linksCut(t *trial) error {
	t.each((*servertest.Proxy).Cut)
	t.Sleep(300, 2000)
	t.each((*servertest.Proxy).Pass)
	return nil
}

func linksSilent(d time.Duration) func(*trial) error {
	return func(t *trial) error {
		t.each((*servertest.Proxy).Hold)
		defer t.each((*servertest.Proxy).Pass)
		t.Wait(d)
		return nil
	}
}

func answersHeld(t *trial) error {
	t.each((*servertest.Proxy).HoldAnswers)
	defer t.each((*servertest.Proxy).Pass)
	time.Sleep(3 * time.Second)
	return nil
}
