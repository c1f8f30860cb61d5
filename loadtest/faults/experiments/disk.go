package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"drawsvc/internal/servertest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	words "drawsvc/loadtest/place"
)

func diskFaults() []Experiment {
	return []Experiment{
		diskFull(),
		{Name: "killed ten times", Number: 20, places: at(1, "sqlite"), run: killedTenTimes},
		{Name: "file opened by a second process", Number: 20, places: at(1, "sqlite"), soaks: true, run: openedTwice},
	}
}

// room is the free space of the disk, in bytes. blocksOfFile bounds what a file takes
// beside its bytes: the rest of its last block, and one block more.
const room, blocksOfFile = 24 << 20, 8192

// onSmallDisk creates the cell's database on a small file system in memory. Only root
// may mount one.
func onSmallDisk(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	if os.Geteuid() != 0 {
		s.Skip("only root can mount a small file system")
	}
	if kind == "sqlite" {
		b := g.Database(s, kind, nil)
		mount(s, filepath.Dir(b.File), room)
		return b
	}
	server := servertest.Start(s, kind, servertest.Args(words.Of(kind).Small...))
	server.Stop()
	data, aside := filepath.Join(server.Dir(), "data"), filepath.Join(server.Dir(), "aside")
	s.Must(os.Rename(data, aside))
	s.Must(os.Mkdir(data, 0o700))
	bytes, files, err := harness.SizeOf(aside)
	s.Must(err)
	mount(s, data, bytes+files*blocksOfFile+room)
	s.Cleanup(server.Stop) // before the disk is unmounted
	if output, err := exec.Command("cp", "-a", aside+"/.", data).CombinedOutput(); err != nil {
		s.Fatalf("copy the data: %v\n%s", err, output)
	}
	s.Must(server.Start())
	return g.Database(s, kind, server)
}

// mount mounts an empty file system on a folder, until the site ends.
func mount(s *harness.Site, folder string, size int64) {
	disk, err := servertest.MountSmallDisk(folder, size)
	if err != nil {
		s.Skip(err.Error())
	}
	s.Cleanup(func() { _ = disk.Unmount() })
}

func killedTenTimes(t *trial) error {
	for range 10 {
		i := t.Instances[0]
		i.Kill()
		t.Ended = time.Now()
		t.Must(i.Again(t.Ctx))
		t.Sleep(50, 300)
	}
	return t.integrity()
}

// integrity runs SQLite's own check.
func (t *trial) integrity() error {
	var said string
	t.Must(t.Base.Admin.QueryRowContext(t.Ctx, `PRAGMA integrity_check`).Scan(&said))
	if said != "ok" {
		t.Verdict.Say(history.Fault, "integrity_check says %s", said)
	}
	return nil
}

// openedTwice starts a second program on the file: it must be refused, with a line that
// states why.
func openedTwice(t *trial) error {
	ctx, cancel := context.WithTimeout(t.Ctx, harness.StartMax)
	defer cancel()
	for _, args := range [][]string{
		{"serve", "--listen", "127.0.0.1:0", "--database", t.URL},
		{"stock", "add", "--database", t.URL, "--pool", t.Pool(client.MainPool), "--prize", "tin", "--delta", "5", "--reason", "second"},
	} {
		output, err := stage.Command(ctx, stage.Released, args...)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 || !strings.Contains(output, "in use by another process") {
			t.Verdict.Say(history.Fault, "a second process on the file: %v: %s", err, output)
		}
	}
	return nil
}

const (
	// fullFor is how long the disk stays full.
	fullFor = 6 * time.Second
	// readyWithin is the maximum time until readiness follows a write that fails, or
	// works again.
	readyWithin = 2 * time.Second
	// fullSaid is the text of answers and readiness on a full disk.
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

// fillDisk fills the disk for some time. If the server exits because of that, it is
// started again, as its operator would.
func (t *trial) fillDisk(watch *readinessWatch) error {
	folder := filepath.Dir(t.File)
	if t.Server != nil {
		folder = filepath.Join(t.Server.Dir(), "data")
	}
	disk := &servertest.SmallDisk{Dir: folder}
	watch.filled = t.History.Now()
	for until := time.Now().Add(fullFor); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if err := disk.Fill(); err != nil { // also the space that the database has freed meanwhile
			return err
		}
	}
	watch.freed = t.History.Now()
	t.Must(disk.Free())
	if t.Server == nil {
		return nil
	}
	err := stage.Within(t.Ctx, harness.StartMax, func() error { // a server that is about to exit still runs
		if err := stage.Revive(t.Server); err != nil {
			return err
		}
		return t.Base.Admin.PingContext(t.Ctx)
	})
	t.Ended = time.Now()
	return err
}

// readinessWatch keeps requesting the readiness of each instance.
type readinessWatch struct {
	// filled is when the disk was full, freed is when the disk had free space again.
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

// judge requires two things of each instance whose write fails on the full disk. The
// instance must soon report that it is not ready, as long as the disk is full, and must
// be ready soon after a write that succeeds.
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

// writes returns when an instance first refused a write because of the full disk, and
// when a write first succeeded after that; 0 means never.
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

// first returns when, after the given time, an instance first gave an answer for which is
// reports true; -1 for never.
func (w *readinessWatch) first(instance int, since time.Duration, is func(s readinessSaid) bool) time.Duration {
	for _, s := range w.said[instance] {
		if s.at >= since && is(s) {
			return s.at
		}
	}
	return -1
}
