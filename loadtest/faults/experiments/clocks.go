package experiments

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	words "drawsvc/loadtest/place"
)

// clockFaults move the clock of a database server by an hour. Campaigns move it
// further, and also move the clock of an SQLite file, which is the service's own.
func clockFaults() []Experiment {
	return []Experiment{clockLeap(), {
		Name: "database's clock an hour ahead, then back", Number: 15, clock: stage.ClockOfDatabase, run: clockMoved,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"postgres", lockmode.Optimistic, "", 2}, {"postgres", lockmode.External, "table", 2},
			{"mysql", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.Optimistic, "", 2}, {"mysql", lockmode.External, "table", 2},
		},
	}}
}

// clockMoved sets the clock forward, back to normal, backward, and back to normal.
func clockMoved(t *trial) error {
	for _, seconds := range []int64{3600, 0, -3600, 0} {
		t.setClock(seconds)
		t.Ended = time.Now()
		if seconds != 0 {
			t.Sleep(1000, 1500)
		}
	}
	return nil
}

// setClock makes the clock differ from the machine's by a number of seconds.
func (t *trial) setClock(seconds int64) {
	t.Must(t.ClockMoved.Set(fmt.Sprintf("%+ds", seconds)))
	t.Must(t.clockIsOff(seconds))
}

// clockIsOff demands that the server returns the time of the moved clock.
func (t *trial) clockIsOff(seconds int64) error {
	var shown int64
	var err error
	if t.Clock == stage.ClockOfLock {
		var answer string
		if answer, err = stage.RedisDo(t.Ctx, t.LockServers[0].Addr(), "TIME"); err == nil {
			_, err = fmt.Sscanf(answer, "[%d", &shown)
		}
	} else {
		shown, err = t.Count(t.Ctx, "SELECT "+words.Of(t.Kind).Micros)
		shown /= 1_000_000
	}
	t.Must(err)
	if off := shown - time.Now().Unix() - seconds; off < -60 || off > 60 {
		return fmt.Errorf("the clock is %d s from where it should be", off)
	}
	return nil
}

// clockLeap sets the database's clock far ahead for seconds, while users draw from a
// pool whose limit depends on it. No entry may get such a time, and the limit must work
// again when the clock is right.
func clockLeap() Experiment {
	return Experiment{
		Name: "database's clock 40 days ahead for 12 s", Number: 15, clock: stage.ClockOfDatabase, points: true, own: true, run: clockLeaps,
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"mysql", lockmode.Optimistic, "", 2}, {"sqlite", lockmode.ForUpdate, "", 1},
		},
	}
}

// clockFollowed is the control: the service follows every leap.
func clockFollowed() Cell {
	e := clockLeap()
	e.flags = followsLeaps()
	return e.control("the service follows every leap of the clock (`--clock-leap 0`)")
}

const (
	leapAhead  = 40 * 24 * time.Hour
	leapStands = 12 * time.Second
	// leapOver is the maximum time in which each user must win after the clock is right
	// again.
	leapOver = 15 * time.Second
	// leapUsers is the number of users who draw at once, each at most once per
	// leapWindow.
	leapUsers  = 8
	leapWindow = 2 * time.Second
)

func clockLeaps(t *trial) error {
	pool := t.Pool("leap")
	rules := fmt.Sprintf(`{"fallback":"none","limits":[{"of":"draws","max":1,"per":"%s"}]}`, leapWindow)
	t.Must(t.Operate(http.MethodPost, "/admin/pools", map[string]any{
		"id": pool, "name": "Leap", "rules": json.RawMessage(rules),
		"prizes": []map[string]any{{"id": "gold", "name": "Gold", "value": "1.00", "stock": 5000}, {"id": "none", "name": "No win", "kind": "blank"}},
	}, http.StatusCreated))
	t.Made[pool] = []history.Prize{{ID: "gold"}, {ID: "none"}}

	end := make(chan struct{})
	var users sync.WaitGroup
	for n := range leapUsers {
		users.Go(func() { t.drawUntil(end, pool, n) })
	}
	t.Wait(leapWindow + time.Second)
	t.setLeap(leapAhead)
	t.Wait(leapStands)
	t.setLeap(0)
	right := t.History.Now()
	t.Ended = time.Now()
	t.Wait(leapOver)
	close(end)
	users.Wait()
	t.judgeLeap(pool, right)
	return nil
}

// setLeap sets the clock of the server, or on SQLite that of the instance.
func (t *trial) setLeap(by time.Duration) {
	if t.Kind == "sqlite" {
		t.Must(t.ClockMoved.Set(by.String()))
		return
	}
	t.setClock(int64(by.Seconds()))
}

// drawUntil draws for a user, on each instance in rotation.
func (t *trial) drawUntil(end <-chan struct{}, pool string, user int) {
	for n := user; ; n++ {
		select {
		case <-end:
			return
		case <-time.After(200 * time.Millisecond):
		}
		t.Send(t.Ctx, history.Op{
			Kind: history.Draw, Pool: pool, Key: t.Key(), User: fmt.Sprint("leap-", user), Count: 1, Client: 7000 + user, Instance: n % len(t.Instances),
		})
	}
}

// judgeLeap demands that each award has the time of its request, and that each user
// wins soon after the clock is right again.
func (t *trial) judgeLeap(pool string, right time.Duration) {
	leapt, again := 0, map[string]bool{}
	for _, o := range t.History.Ops() {
		switch {
		case o.Pool != pool:
		case o.Answer() == "clock-leapt":
			leapt++
		case o.Won():
			at, err := time.Parse(time.RFC3339Nano, o.Awards[0].At)
			t.Must(err)
			if from, to := t.History.Time(o.Call).Add(-clockNear), t.History.Time(o.Return).Add(clockNear); at.Before(from) || at.After(to) {
				t.Verdict.Say(history.Fault, "an award of %v, asked for from %v to %v: %s", at, from.UTC(), to.UTC(), &o)
			}
			again[o.User] = again[o.User] || o.Call > right
		}
	}
	if leapt == 0 {
		t.Verdict.Say(history.Fault, "no draw was refused while the clock was ahead")
	}
	for n := range leapUsers {
		if user := fmt.Sprint("leap-", n); !again[user] {
			t.Verdict.Say(history.Fault, "%s won nothing within %v after the clock was right", user, leapOver)
		}
	}
	t.Note("%d draws were answered clock-leapt", leapt)
}
