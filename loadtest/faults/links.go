package main

import (
	"errors"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
)

// linkFaults are those of the way to the database.
func linkFaults() []experiment {
	forUpdate := []place{{"postgres", "for-update", "", 2}, {"mysql", "for-update", "", 2}}
	return []experiment{
		{name: "session killed before COMMIT", number: 10, places: servers(), points: true, soaks: true, run: atCommit(sessionAtCommit)},
		{name: "COMMIT cut before it arrives", number: 10, places: servers(), points: true, links: true, soaks: true, run: atCommit(commitCut)},
		{name: "answer cut at COMMIT", number: 10, places: servers(), points: true, links: true, soaks: true, run: atCommit(answerCut)},
		{name: "link cut", number: 11, places: servers(), links: true, soaks: true, run: linksCut},
		{name: "link silent for 6 s", number: 11, places: servers(), links: true, soaks: true, run: linksSilent(6 * time.Second)},
		{name: "link silent for 30 s", number: 11, places: forUpdate, links: true, run: linksSilent(30 * time.Second)},
		{name: "answers held for 3 s", number: 11, places: servers(), links: true, soaks: true, run: answersHeld},
	}
}

// commitPause is how long a batch stands still before its COMMIT.
const commitPause = 200 * time.Millisecond

// atCommit breaks something while a batch stands before its COMMIT, some times.
// Its callers are to be answered 200: the batch is run again with its keys. A
// lock that lives in the database went with the link, and its term may outlast
// the caller's time.
func atCommit(sever func(t *trial, i *instance) error) func(*trial) error {
	return func(t *trial) error {
		from := t.history.Now()
		for range 5 {
			i := t.any()
			if err := i.arm(fault.BeforeCommit, "sleep "+commitPause.String()); err != nil {
				return err
			}
			if err := i.awaitTaken(); err != nil {
				return err
			}
			if err := sever(t, i); err != nil {
				return err
			}
			t.sleep(50, 200)
		}
		doubts := 0
		for _, o := range t.history.Ops() {
			if o.Call < from || !o.Unknown() || o.Kind != history.Draw {
				continue
			}
			if doubts++; t.mode != lockmode.External {
				t.verdict.Say(history.Fault, "it was not settled for the caller: %s", &o)
			}
		}
		t.note("%d in doubt", doubts)
		return nil
	}
}

func sessionAtCommit(t *trial, _ *instance) error {
	killed, err := t.killSessions()
	if err == nil && killed == 0 {
		err = errors.New("the service had no session")
	}
	return err
}

func commitCut(t *trial, i *instance) error {
	t.links[i.number].Cut()
	time.Sleep(2 * commitPause)
	t.links[i.number].Pass()
	return nil
}

// answerCut lets COMMIT through and its answer not.
func answerCut(t *trial, i *instance) error {
	t.links[i.number].HoldAnswers()
	time.Sleep(2 * commitPause)
	t.links[i.number].Cut()
	t.sleep(10, 50)
	t.links[i.number].Pass()
	return nil
}

func (t *trial) each(do func(*servertest.Proxy)) {
	for _, link := range t.links {
		do(link)
	}
}

func linksCut(t *trial) error {
	t.each((*servertest.Proxy).Cut)
	t.sleep(300, 2000)
	t.each((*servertest.Proxy).Pass)
	return nil
}

func linksSilent(d time.Duration) func(*trial) error {
	return func(t *trial) error {
		t.each((*servertest.Proxy).Hold)
		defer t.each((*servertest.Proxy).Pass)
		select {
		case <-time.After(d):
		case <-t.ctx.Done():
		}
		return nil
	}
}

func answersHeld(t *trial) error {
	t.each((*servertest.Proxy).HoldAnswers)
	defer t.each((*servertest.Proxy).Pass)
	time.Sleep(3 * time.Second)
	return nil
}
