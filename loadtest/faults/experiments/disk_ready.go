package experiments

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

const (
	// fullFor is how long the disk stays full.
	fullFor = 6 * time.Second
	// readyWithin is how soon readiness follows a write that fails, or works again.
	readyWithin = 2 * time.Second
	// fullSaid is what answers and readiness say of a full disk.
	fullSaid = "disk is full"
)

// diskFull fills the disk under load for some time, and judges the readiness of each
// instance meanwhile.
func diskFull() Experiment {
	return Experiment{Name: "disk full", Number: 17, places: everywhere(2), base: onSmallDisk, own: true, run: diskFilled}
}

func diskFilled(t *trial) error {
	watch := t.watchReadiness()
	defer watch.stop()
	t.Must(t.UnderLoad(func() error { return t.fillDisk(watch) }))
	t.Wait(readyWithin + stage.Grace)
	watch.stop()
	watch.judge(t)
	return nil
}

// fillDisk fills the disk for some time. A server that ended of it is started again, as
// its operator would.
func (t *trial) fillDisk(watch *readinessWatch) error {
	folder := filepath.Dir(t.File)
	if t.Server != nil {
		folder = filepath.Join(t.Server.Dir(), "data")
	}
	disk := &servertest.SmallDisk{Dir: folder}
	watch.filled = t.History.Now()
	for until := time.Now().Add(fullFor); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if err := disk.Fill(); err != nil { // and what the database has freed meanwhile
			return err
		}
	}
	watch.freed = t.History.Now()
	t.Must(disk.Free())
	if t.Server == nil {
		return nil
	}
	err := stage.Within(t.Ctx, harness.StartMax, func() error { // one that is about to end runs still
		if err := stage.Revive(t.Server); err != nil {
			return err
		}
		return t.Base.Admin.PingContext(t.Ctx)
	})
	t.Ended = time.Now()
	return err
}

// readinessWatch asks each instance for its readiness all the time.
type readinessWatch struct {
	// filled and freed are when the disk was.
	filled, freed time.Duration
	// said are the answers of each instance, in order.
	said [][]readinessSaid
	stop func()
}

// readinessSaid is one answer; at is when it was complete.
type readinessSaid struct {
	at      time.Duration
	isReady bool
	detail  string
}

func (t *trial) watchReadiness() *readinessWatch {
	ctx, end := context.WithCancel(t.Ctx)
	w := &readinessWatch{said: make([][]readinessSaid, len(t.Instances))}
	var all sync.WaitGroup
	for n, i := range t.Instances {
		all.Go(func() {
			for ; ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
				body, status, err := harness.Call(ctx, http.MethodGet, i.URL()+"/readyz", "")
				var answer struct{ Detail string }
				if err == nil && json.Unmarshal(body, &answer) == nil {
					w.said[n] = append(w.said[n], readinessSaid{t.History.Now(), status == http.StatusOK, answer.Detail})
				}
			}
		})
	}
	w.stop = func() { end(); all.Wait() }
	return w
}

// judge wants each instance whose write fails on the full disk to say so soon and as
// long as the disk is full, and to be ready soon after a write that works.
func (w *readinessWatch) judge(t *trial) {
	grace := readyWithin + stage.Grace + time.Duration(t.Lag.Load())
	refused := 0
	for n := range t.Instances {
		full, works := w.writes(t.History.Ops(), n)
		if full == 0 {
			continue
		}
		refused++
		lost := w.first(n, w.filled, func(s readinessSaid) bool { return !s.isReady && strings.Contains(s.detail, fullSaid) })
		if lost < 0 || lost > full+grace {
			t.Verdict.Say(history.Fault, "instance %d refused a draw for the full disk at %v, and says so in its readiness at %v", n, full, lost)
		}
		if early := w.first(n, full+grace, func(s readinessSaid) bool { return s.isReady }); early >= 0 && early < w.freed {
			t.Verdict.Say(history.Fault, "instance %d is ready at %v, while the disk is full until %v", n, early, w.freed)
		}
		ready := w.first(n, w.freed, func(s readinessSaid) bool { return s.isReady })
		if works == 0 || ready < 0 || ready > works+grace {
			t.Verdict.Say(history.Fault, "instance %d draws again at %v, and is ready at %v", n, works, ready)
		}
		t.Note("instance %d: not ready %v after the first refusal, ready again %v after the first write that worked", n, (lost - full).Round(time.Millisecond),
			(ready - works).Round(time.Millisecond))
	}
	if refused == 0 {
		t.Verdict.Say(history.Fault, "no draw was refused for the full disk")
	}
}

// writes are when an instance first refused a write for the full disk, and when the
// first one worked after there was room again; 0 for never.
func (w *readinessWatch) writes(ops []history.Op, instance int) (full, works time.Duration) {
	for _, o := range ops {
		switch {
		case o.Instance != instance:
		case strings.Contains(o.Detail, fullSaid) && (full == 0 || o.Return < full):
			full = o.Return
		case o.Won() && !o.Replayed && o.Call > w.freed && (works == 0 || o.Return < works):
			works = o.Return
		}
	}
	return full, works
}

// first is when an instance first said something since a time, -1 for never.
func (w *readinessWatch) first(instance int, since time.Duration, is func(s readinessSaid) bool) time.Duration {
	for _, s := range w.said[instance] {
		if s.at >= since && is(s) {
			return s.at
		}
	}
	return -1
}
