package experiments

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"drawsvc/internal/fault"
	"drawsvc/internal/lockmode"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/faults/client"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// winFaults are the faults after a win: of codes, claims, steps and hooks. Draws are
// written before all of these, so that one mode represents the others.
func winFaults() []Experiment {
	return []Experiment{winsKilled(winKills()...), twoRelays(), deadReceivers(), restoredBehind(), deadlinesApart(), keysRotated(true)}
}

// ofWins returns the controls of those faults.
func ofWins() []Cell {
	three := winServers()[0]
	kills := winKills()
	return []Cell{
		doubled(winsKilled(kills[0]), history.RepeatsImports, three),
		doubled(winsKilled(kills[3]), history.GivesCodesOnce, three, history.AnswersDiffer, history.Fault),
		doubled(winsKilled(kills[5]), history.KeepsCodes, three, history.AuditDiffers),
		doubled(twoRelays(), history.HastyRelay, three),
		doubled(deadReceivers(), history.OneQueue, three, history.Overdue),
		doubled(restoredBehind(), history.PassesForks, three),
		doubled(deadlinesApart(), history.OwnClocks, three),
		keysRotated(false).control("an operator, who removes the former seal key before `codes reseal`"),
	}
}

func winServers() []place {
	return []place{{"postgres", lockmode.ForUpdate, "", 3}, {"mysql", lockmode.Optimistic, "", 3}}
}

func winPlaces() []place {
	return append([]place{{"sqlite", lockmode.Optimistic, "", 1}}, winServers()...)
}

// ofWin returns an experiment under the load of wins.
func ofWin(name string, places []place, isCalm bool, fault func(w *wins) error) Experiment {
	return Experiment{
		Name: "after the win, " + name, places: places, own: true, sealKeys: stocktest.SealKeyLine("k1") + "\n", run: afterWins(isCalm, fault),
		Longest: 10 * time.Minute,
	}
}

// winKill kills an instance at a point.
type winKill struct {
	name  string
	point fault.Point
	// isOfJob means that only the instance that runs a job reaches the point.
	isOfJob bool
	// begin, if not nil, makes an armed instance reach the point. It returns the actions
	// after the restart.
	begin func(w *wins, i *stage.Instance) (end func() error)
}

// winKills are the kills at every point after a win.
func winKills() []winKill {
	return []winKill{
		{"import, after a part", fault.AfterCodesPart, false, (*wins).importMore},
		{"import, before its move", fault.BeforeCodesMove, false, (*wins).importMore},
		{"draw, before COMMIT", fault.BeforeCommit, false, nil},
		{"hand-out", fault.BeforeCodes, false, nil},
		{"step", fault.StepsBeforeCommit, false, nil},
		{"return by expiry", fault.StepsBeforeCommit, true, (*wins).claimNothing},
		{"relay, before its cursor", fault.BeforeCursor, true, nil},
		{"relay, after its cursor", fault.AfterCursor, true, nil},
		{"step, before its answer", fault.StepsAfterCommit, false, nil},
	}
}

func winsKilled(kills ...winKill) Experiment {
	e := ofWin("service killed at every point", winPlaces(), false, func(w *wins) error {
		for _, k := range kills {
			began := time.Now()
			if err := w.kill(k); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
			w.Note("killed: %s, after %.0f s", k.name, time.Since(began).Seconds())
		}
		w.Wait(winWithin)
		return nil
	})
	e.points = true
	return e
}

// kill kills the instance that reaches the point first, and starts it again.
func (w *wins) kill(k winKill) error {
	armed, end := w.Instances, nothing
	if !k.isOfJob {
		armed = []*stage.Instance{w.Any()}
	}
	if k.begin != nil {
		end = k.begin(w, armed[0])
	}
	for _, i := range armed {
		w.Must(i.Arm(k.point, "kill"))
	}
	err := stage.Within(w.Ctx, jobMax, func() error {
		if !slices.ContainsFunc(armed, (*stage.Instance).IsTaken) {
			return fmt.Errorf("nothing comes to the fault point within %v", jobMax)
		}
		return nil
	})
	for _, i := range armed {
		i.Disarm()
	}
	if err != nil {
		w.Verdict.Say(history.Fault, "killed: %s: %v", k.name, err)
	}
	for _, i := range armed {
		if !i.IsTaken() {
			continue
		}
		i.Expect()
		if err := i.Process.AwaitEnd(); err == nil {
			return fmt.Errorf("instance %d ended in good order though it was killed", i.Number)
		}
		w.Sleep(100, 400)
		w.Must(i.Again(w.Ctx))
	}
	return end()
}

// winImport is the number of codes of an import that is killed; the import has two
// parts.
const winImport = 6000

// importMore sends an import to an instance that is about to be armed. The returned
// function sends the import again, with the same key, until it is complete.
func (w *wins) importMore(i *stage.Instance) func() error {
	pool, name := w.pools[0], fmt.Sprint("more-", len(w.lines[w.pools[0]+"/card"]))
	lines := stocktest.CodeLines(strings.ToUpper(name), winImport)
	w.lines[pool+"/card"] = append(w.lines[pool+"/card"], lines...)
	w.all.Go(func() {
		w.Wait(200 * time.Millisecond) // by then the instance is armed
		_ = w.importCodes(i, pool, "card", name, lines)
	})
	return func() error {
		if err := stage.Within(w.Ctx, client.SettleMax, func() error { return w.importCodes(w.Any(), pool, "card", name, lines) }); err != nil {
			w.Verdict.Say(history.Fault, "sent again under its key: %v", err)
		}
		return nil
	}
}

// claimNothing stops all claims until its end: gold expires.
func (w *wins) claimNothing(*stage.Instance) func() error {
	w.isUnclaimed.Store(true)
	w.Wait(300 * time.Millisecond) // for claims under way
	return func() error { w.isUnclaimed.Store(false); return nil }
}

// twoRelays pauses the instance whose relay sends, until another relay sends, and wakes
// it in the middle of that relay's messages.
func twoRelays() Experiment {
	return ofWin("relay stopped until another one sends, then woken", winServers(), false, func(w *wins) error {
		j := &jobTrial{trial: w.trial}
		for range 2 {
			var before jobRow
			w.Must(stage.Within(w.Ctx, jobMax, func() (err error) {
				if before, err = j.row("hooks"); err == nil && before.Status != "running" {
					err = errors.New("no relay sends")
				}
				return err
			}))
			runner := w.Instances[slices.IndexFunc(w.Instances, func(i *stage.Instance) bool { return stage.HostName(i.Number) == before.Holder })]
			runner.Halt()
			err := stage.Within(w.Ctx, jobMax, func() error {
				after, err := j.rowBut(runner, "hooks")
				if err == nil && (after.Token == before.Token || after.Status != "running") {
					err = fmt.Errorf("no other relay sends: %+v", after)
				}
				return err
			})
			w.Wait(time.Second) // the other instance has begun
			runner.Signal(syscall.SIGCONT)
			runner.Answers()
			w.Must(err)
			w.Wait(2 * time.Second)
		}
		return nil
	})
}

const (
	// winDead is one less than the maximum number of hooks.
	winDead = 19
	// winLag is the maximum time from the answer to a draw to its event.
	winLag = 5 * time.Second
)

// deadReceivers adds hooks whose receivers never answer to a hook whose receiver works:
// the events of the working receiver arrive in time, and memory does not grow.
func deadReceivers() Experiment {
	return ofWin("19 receivers that hang beside one that works", winPlaces(), true, func(w *wins) error {
		ended := make(chan struct{})
		address := harness.Serve(w.Site, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}))
		before := w.memory()
		var dead []string
		for n := range winDead {
			path, _, err := w.addHook(fmt.Sprintf("http://%s/%d", address, n), "null", "start")
			w.Must(err)
			dead = append(dead, path)
		}
		for until := time.Now().Add(4 * winLag); time.Now().Before(until); w.Wait(time.Second) {
			w.judgeLag()
		}
		for n, now := range w.memory() {
			if now > before[n]+memoryMore {
				w.Verdict.Say(history.Fault, "instance %d has %.0f MiB, %.0f before the hooks", n, now/(1<<20), before[n]/(1<<20))
			}
		}
		for _, path := range dead {
			_, err := harness.Operate(w.Ctx, http.MethodDelete, w.Instances[0].URL()+path, "", http.StatusNoContent)
			w.Must(err)
		}
		close(ended)
		return nil
	})
}

// judgeLag demands the events of the draws that were answered some time ago.
func (w *wins) judgeLag() {
	now, arrived := w.History.Now()-winLag-time.Duration(w.Lag.Load()), map[string]map[int64]bool{}
	for _, pool := range w.pools {
		events, _, _ := w.receiver.Of(pool)
		arrived[pool] = map[int64]bool{}
		for _, e := range events {
			arrived[pool][e.Version] = true
		}
	}
	late := 0
	for _, o := range w.History.Ops() {
		if arrived[o.Pool] != nil && o.Won() && o.Return < now && !arrived[o.Pool][o.Awards[0].Version] {
			late++
		}
	}
	if late > 0 {
		w.Verdict.Say(history.Overdue, "the events of %d draws did not arrive within %v", late, winLag)
	}
}

const winLost, winAfter = 20, 30

// restoredBehind resets the rows of a pool to an earlier state, after events of later
// versions were sent, and draws until the pool has more versions than before.
func restoredBehind() Experiment {
	e := ofWin("rows put back to before the cursor of a hook", winPlaces(), false, func(w *wins) error {
		w.Wait(winWithin)
		w.stop()
		w.settle()
		w.await()
		pool := w.pools[0]
		from, kept := w.placeOf(pool)
		conn, leave := w.otherSession()
		defer leave()
		w.keepRows(conn, []string{pool})
		w.Must(w.drawOn(pool, 0, winLost))
		w.Must(w.arrive(pool, from.events+winLost))
		lost, _, _ := w.receiver.Of(pool)
		w.Must(w.putRowsBack(conn, []string{pool}))
		w.from[pool] = from
		w.Must(w.drawOn(pool, 1%len(w.Instances), winAfter))
		var hook struct{ State, Why string }
		if err := stage.Within(w.Ctx, jobMax/2, func() error {
			err := harness.FetchJSON(w.Ctx, w.Instances[0].URL()+w.hook, &hook)
			if err == nil && (hook.State != "forked" || !strings.Contains(hook.Why, pool)) {
				err = fmt.Errorf("another history was passed over: the hook is %+v", hook)
			}
			return err
		}); err != nil {
			w.Verdict.Say(history.Fault, "%v", err)
			return nil
		}
		other, _ := w.placeOf(w.pools[1])
		w.Must(w.drawOn(w.pools[1], 0, 1))
		w.Must(w.arrive(w.pools[1], other.events+1)) // other pools continue
		from.events = w.events(pool)
		w.from[pool] = from
		w.Must(w.Admin(http.MethodPost, w.hook+"/replay", map[string]any{"pool": pool, "after": kept, "after_step": from.steps}, http.StatusAccepted))
		w.Must(w.arrive(pool, from.events+winAfter))
		again, _, _ := w.receiver.Of(pool)
		for _, e := range again[from.events:] {
			if slices.ContainsFunc(lost, func(l stocktest.Received) bool { return l.ID == e.ID }) {
				w.Verdict.Say(history.Fault, "an event of another history has the id of a lost one: %+v", e)
			}
		}
		return nil
	})
	e.loses = true
	return e
}

// events returns the number of events of a pool that have arrived.
func (w *wins) events(pool string) int {
	events, _, _ := w.receiver.Of(pool)
	return len(events)
}

// placeOf returns the present place and the version of a pool.
func (w *wins) placeOf(pool string) (winPlace, int64) {
	rows, err := w.Rows(pool)
	w.Must(err)
	steps, err := w.steps(pool)
	w.Must(err)
	return winPlace{w.events(pool), len(rows.Awards), len(steps)}, rows.Version
}

// arrive waits until at least the given number of events of a pool have arrived.
func (w *wins) arrive(pool string, least int) error {
	return stage.Within(w.Ctx, jobMax, func() error {
		if n := w.events(pool); n < least {
			return errors.Join(fmt.Errorf("%d of %d events of pool %s have arrived", n, least, pool), w.retry())
		}
		return nil
	})
}

// drawOn draws on one instance.
func (w *wins) drawOn(pool string, instance, n int) error {
	for _, o := range w.asking(pool, n) {
		o.Instance = instance
		if err := w.insist(o); err != nil {
			return err
		}
	}
	return nil
}

// deadlinesApart gives two instances clocks that are 90 s wrong, while gold is claimed and
// expires around its deadlines, and kills the instance that ends awards.
func deadlinesApart() Experiment {
	e := ofWin("deadlines, clocks of the instances 90 s apart from the database's", winServers(), false, func(w *wins) error {
		w.Wait(2 * winWithin)
		w.Must(w.kill(winKills()[5]))
		w.Wait(winWithin)
		return nil
	})
	e.Number, e.clock, e.points = 15, stage.ClockOfDatabase, true
	return e
}

// keysRotated follows the page on codes: a new key seals on every instance, a command
// that is killed once reseals all codes, and the former key is removed. isInOrder is
// false for an operator who removes that key too early. Then one instance gets wrong
// bytes.
func keysRotated(isInOrder bool) Experiment {
	e := ofWin("seal keys rotated under load", winServers(), false, func(w *wins) error {
		spare := w.Pool("spare")
		w.Must(w.Operate(http.MethodPost, "/admin/pools", map[string]any{
			"id": spare, "name": "Spare", "prizes": []map[string]any{{"id": "card", "name": "Card", "codes": true}},
		}, http.StatusCreated))
		first, second := stocktest.SealKeyLine("k1")+"\n", stocktest.SealKeyLine("k2")+"\n"
		for _, i := range w.Instances {
			w.Must(w.useKeys(i, spare, second+first))
		}
		w.Sleep(500, 1000)
		if isInOrder {
			w.Must(w.reseal())
		}
		for _, i := range w.Instances {
			w.Must(stage.Replace(i.Keys, second, 0o600))
			i.Signal(syscall.SIGHUP)
			w.Sleep(500, 1000)
		}
		w.Wait(2 * time.Second)
		if n := w.countKeyless(0); n > 0 {
			w.Verdict.Say(history.Fault, "%d draws were refused for want of a key while keys were rotated", n)
		}
		if !isInOrder {
			for _, i := range w.Instances {
				w.Must(w.useKeys(i, spare, second+first))
			}
			return nil
		}
		return w.wrongBytes(second)
	})
	e.codes = []string{"seal-key-missing"}
	return e
}

// useKeys gives an instance a file of keys, whose first is k2, and waits until it seals
// with k2.
func (w *wins) useKeys(i *stage.Instance, spare, keys string) error {
	w.Must(stage.Replace(i.Keys, keys, 0o600))
	i.Signal(syscall.SIGHUP)
	return stage.Within(w.Ctx, knownMax, func() error {
		var before, after struct{ Keys map[string]int64 }
		at, key := i.URL()+"/admin/pools/"+spare+"/prizes/card/codes", w.Key()
		err := errors.Join(harness.FetchJSON(w.Ctx, at, &before), w.importCodes(i, spare, "card", key, []string{key}), harness.FetchJSON(w.Ctx, at, &after))
		if err == nil && after.Keys["k2"] == before.Keys["k2"] {
			err = fmt.Errorf("instance %d does not seal with the new key", i.Number)
		}
		return err
	})
}

// reseal reseals all codes, with a command that is killed, and then with a second
// command.
func (w *wins) reseal() error {
	args := []string{"codes", "reseal", "--seal-keys", w.Instances[0].Keys, "--database", w.URL}
	killed := exec.CommandContext(w.Ctx, filepath.Join(stage.Bin, stage.Released), args...)
	w.Must(killed.Start())
	w.Sleep(100, 500)
	_ = killed.Process.Kill() // unless it has ended
	_ = killed.Wait()
	_, err := stage.Command(w.Ctx, stage.Released, args...)
	return err
}

// countKeyless counts the draws since a time that were refused for want of a key.
func (w *wins) countKeyless(since time.Duration) (n int) {
	for _, o := range w.History.Ops() {
		if o.Call >= since && o.Code == "seal-key-missing" {
			n++
		}
	}
	return n
}

// wrongBytes gives one instance other bytes under the id of the key, until its draws
// are refused. The refused draws must have no effect, and the other instances continue
// to draw.
func (w *wins) wrongBytes(keys string) error {
	i, since := w.Instances[0], w.History.Now()
	wrong := "k2 " + strings.Fields(stocktest.SealKeyLine("wrong"))[1] + "\n"
	w.Must(stage.Replace(i.Keys, wrong, 0o600))
	i.Signal(syscall.SIGHUP)
	w.Must(stage.Within(w.Ctx, knownMax, func() error {
		if w.countKeyless(since) < 5 {
			return errors.New("no draw is refused for want of a key")
		}
		return nil
	}))
	w.Must(stage.Replace(i.Keys, keys, 0o600))
	i.Signal(syscall.SIGHUP)
	refused := map[int]int{}
	for _, o := range w.History.Ops() {
		if o.Code == "seal-key-missing" {
			refused[o.Instance]++
		}
	}
	w.Note("draws refused for want of a key, by instance: %v", refused)
	if len(refused) != 1 || refused[0] == 0 {
		w.Verdict.Say(history.Fault, "instances whose keys are right refused draws: %v", refused)
	}
	return stage.Within(w.Ctx, knownMax, func() error {
		o := w.asking(w.pools[0], 1)[0]
		o.Instance = 0
		if answered := w.Send(w.Ctx, o); !answered.Won() {
			return fmt.Errorf("with the right key again: %s", &answered)
		}
		return nil
	})
}
