package experiments

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"drawsvc/internal/lockmode"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
)

// commitmentRestored restores a backup of a committed pool, and skips its lost versions
// as docs/backup.md says. A second pool was committed after the backup, and is
// committed again after the restore. The control restores without the skip.
func commitmentRestored(skips bool) Experiment {
	return Experiment{
		Name: "restore after a commitment", base: onDatabaseOfThePageWithKeys, loses: true, codes: []string{"paused"}, flags: stage.SeedFlags(),
		run: func(t *trial) error { return (&committedRestore{restore: newRestore(t), skips: skips}).run() },
		places: []place{
			{"postgres", lockmode.ForUpdate, "", 2}, {"postgres", lockmode.Optimistic, "", 2}, {"mysql", lockmode.ForUpdate, "", 2},
			{"sqlite", lockmode.Optimistic, "", 1},
		},
	}
}

func onDatabaseOfThePageWithKeys(g *stage.Ground, s *harness.Site, kind string) *stage.Base {
	stage.MakeSeedKeys(s)
	return onDatabaseOfThePage(g, s, kind)
}

const lateCommitted = "autumn"

var skipLine = regexp.MustCompile(`(?m)^drawsvc pool skip ` + pagePool + ` --to 4711 .*$`)

type committedRestore struct {
	*restore
	skips bool
	// restored is the time of the first draw from the restored database.
	restored time.Duration
}

func (r *committedRestore) run() error {
	backup, restored := r.steps()
	r.Must(errors.Join(r.create(pagePool), r.create(lateCommitted), r.commit(pagePool)))
	r.call()
	defer r.quiet()
	r.Sleep(300, 600)
	r.Must(r.do(backup...))
	r.Must(r.commit(lateCommitted))
	r.drawFrom(lateCommitted)
	r.Sleep(500, 1000)
	r.Must(r.replaceAndSkip(restored))
	r.restored = r.History.Now()
	r.Must(r.open())
	r.Must(r.commit(lateCommitted))
	r.drawFrom(lateCommitted)
	r.stopped = make(chan struct{})
	r.call()
	r.Sleep(800, 1200)
	r.quiet()
	r.Ended = time.Now()
	r.Judges = append(r.Judges, r.judge)
	return nil
}

func (r *committedRestore) create(pool string) error {
	prizes := []map[string]any{
		{"id": "gold", "name": "Gold", "value": "19.90", "stock": 300}, {"id": "silver", "name": "Silver", "value": "5.00", "stock": 29_700},
	}
	r.Made[pool] = []history.Prize{{ID: "gold", Stock: 300}, {ID: "silver", Stock: 29_700}}
	return r.Operate(http.MethodPost, "/admin/pools", map[string]any{"id": pool, "name": "Committed", "state": "paused", "prizes": prizes}, http.StatusCreated)
}

// commit commits a paused pool that answers each draw with a receipt, and opens it.
func (r *committedRestore) commit(pool string) error {
	path := "/admin/pools/" + pool
	return errors.Join(
		r.callUntil(http.MethodPost, path+"/commitment", `{"receipts":true,"epochs":64,"epoch_length":1000}`, http.StatusCreated),
		r.callUntil(http.MethodPatch, path, `{"state":"open"}`, http.StatusOK))
}

// drawFrom draws from a pool on every instance.
func (r *committedRestore) drawFrom(pool string) {
	for _, o := range r.asking(pool, 10*len(r.Instances)) {
		r.Must(r.insist(o))
	}
}

func (r *committedRestore) replaceAndSkip(steps []string) error {
	if r.Kind != "sqlite" {
		r.Must(r.do(steps...))
		r.quiet()
		return r.skip()
	}
	r.Must(r.Instances[0].Stop())
	r.quiet()
	r.Must(r.do(steps...))
	r.Must(r.skip())
	return errors.Join(r.reopen(), r.Instances[0].Again(r.Ctx))
}

func (r *committedRestore) skip() error {
	if !r.skips {
		return nil
	}
	text, err := os.ReadFile(backupPage)
	r.Must(err)
	line := skipLine.FindString(string(text))
	if line == "" {
		return fmt.Errorf("%s skips nothing", backupPage)
	}
	var highest int64
	for _, o := range r.wonOf(pagePool) {
		highest = max(highest, o.Awards[0].Version)
	}
	return r.execute(strings.Replace(line, "4711", fmt.Sprint(highest), 1))
}

// judge requires that no draw after the restore repeats a result that a lost draw has
// disclosed, that receipts are signed with the key of the commitment in force, and that
// both verifiers accept the files.
func (r *committedRestore) judge() error {
	stands, _, err := r.standing(pagePool)
	r.Must(err)
	lost, after, same := map[int64]history.Op{}, 0, 0
	won := r.wonOf(pagePool)
	for _, o := range won {
		if o.Call < r.restored && !stands(&o) {
			lost[o.Awards[0].Version] = o
		}
	}
	for _, o := range won {
		if o.Call < r.restored || o.Replayed {
			continue
		}
		after++
		if shown, isShown := lost[o.Awards[0].Version]; isShown {
			r.Verdict.Say(history.Fault, "version %d was shown to %s and then given to %s", o.Awards[0].Version, shown.Key, o.Key)
			if shown.Awards[0].Prize == o.Awards[0].Prize {
				same++
			}
		}
	}
	if r.Note("%d draws lost, %d after the restore, %d of them with the prize that was shown", len(lost), after, same); len(lost) == 0 || after == 0 {
		r.Verdict.Say(history.Fault, "nothing was lost, or nothing drawn after it")
	}
	r.verify(pagePool)
	r.verify(lateCommitted)
	return nil
}

// wonOf returns the answers 200 to draws of a pool.
func (r *committedRestore) wonOf(pool string) (won []history.Op) {
	for _, o := range r.History.Ops() {
		if o.Pool == pool && o.Kind == history.Draw && o.Won() {
			won = append(won, o)
		}
	}
	return won
}

// standing returns the number of a pool's awards, and a function that reports whether
// an answer agrees with the pool's rows.
func (r *committedRestore) standing(pool string) (stands func(o *history.Op) bool, awards int64, err error) {
	rows, err := r.Rows(pool)
	at := map[string]int64{}
	for _, a := range rows.Awards {
		at[a.Draw] = a.Version
	}
	return func(o *history.Op) bool { return at[o.Key] == o.Awards[0].Version }, int64(len(rows.Awards)), err
}

// receiptsEach is how many receipts of a pool are checked individually.
const receiptsEach = 12

// verify makes both verifiers check the public files of a pool, with all receipts of
// its draws. Some receipts are checked individually. Those of a revoked commitment must
// fail.
func (r *committedRestore) verify(pool string) {
	folder, err := r.publishProof(pool)
	r.Must(err)
	stands, awards, err := r.standing(pool)
	r.Must(err)
	key, err := os.ReadFile(filepath.Join(folder, "key"))
	r.Must(err)
	var receipts strings.Builder
	holding, failing := 0, 0
	for _, o := range r.wonOf(pool) {
		isLost := !stands(&o)
		if !isLost {
			fmt.Fprintf(&receipts, "%s\n", o.Receipt)
		}
		switch {
		case isLost && pool == lateCommitted && failing < receiptsEach:
			failing++
			if r.receiptHolds(&o, key) == nil {
				r.Verdict.Say(history.Fault, "by the key in force a receipt of a commitment holds that was taken back: %s", o.Receipt)
			}
		case !isLost && o.Call > r.restored && !o.Replayed && holding < receiptsEach:
			holding++
			if err := r.receiptHolds(&o, key); err != nil {
				r.Verdict.Say(history.Fault, "instance %d: %v", o.Instance, err)
			}
		}
	}
	if holding == 0 || failing == 0 && pool == lateCommitted {
		r.Verdict.Say(history.Fault, "%d receipts of pool %s were checked, and %d lost ones", holding, pool, failing)
	}
	file := filepath.Join(r.work, "receipts-"+pool)
	r.Must(os.WriteFile(file, []byte(receipts.String()), 0o600))
	r.bothVerify(folder, awards, "--receipts", file)
}

func (r *committedRestore) receiptHolds(o *history.Op, key []byte) error {
	file := filepath.Join(r.work, "receipt.json")
	r.Must(os.WriteFile(file, o.Receipt, 0o600))
	_, err := stage.Command(r.Ctx, stage.Released, "receipt", "verify", file, "--key", strings.TrimSpace(string(key)), "--draw", o.Key, "--user", o.User)
	return err
}
