package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"drawsvc/internal/draw"
	"drawsvc/internal/stock"
	"drawsvc/internal/stock/stocktest"
	"drawsvc/loadtest/adminpage"
	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/faults/stage"
	"drawsvc/loadtest/harness"
	"drawsvc/loadtest/place"
	"drawsvc/loadtest/report"
)

// The names of what is measured.
const (
	databaseSize  = "database on disk, GB"
	auditTime     = "audit, s"
	deepTime      = "deep audit, s"
	exportTime    = "export of a tenth of the awards, committed, s"
	verifyTime    = "verify of that tenth, s"
	dumpTime      = "backup, s"
	dumpSize      = "backup, GB"
	restoreTime   = "restore, s"
	copyAudit     = "audit of what was restored, s"
	diskPeak      = "disk with the backup and its copy, GB"
	databaseStart = "start of the killed database, s"
	auditMemory   = "audit, MB of memory"
	deepMemory    = "deep audit, MB of memory"
	verifyMemory  = "verify, MB of memory"
	serviceStart  = "start of the killed service, s"
	serviceMemory = "service, MB of memory"
	millionDraws  = "a million awards by draws of a hundred, s"
	knownKey      = "answer to a known key, ms"
	feedTime      = "feed from its middle, a page of 1000, ms"
	pageTime      = "slowest call of the admin page, ms"
	migrateTime   = "online migration, s"
	migrateDraw   = "slowest draw during it, ms"
)

// tries is how often short things are measured, for a median.
const tries = 9

// measure measures everything at the present size. Broken rules that it finds are added
// to the verdict.
func (f *filler) measure(step int) (took map[string]float64, err error) {
	took = map[string]float64{}
	for name, all := range f.took {
		took[name] = median(all)
	}
	for _, part := range []func(map[string]float64) error{
		f.measureDraws, f.measureKeys, f.measureFeed, f.measurePage, f.measureAudits,
		func(took map[string]float64) error { return f.measureProof(proofPool(step), took) },
		f.measureBackup,
	} {
		if err = part(took); err != nil {
			return nil, err
		}
	}
	return took, nil
}

// measureDraws draws for some seconds while nothing is killed.
func (f *filler) measureDraws(took map[string]float64) error {
	awards, begun := max(5000, min(100_000, f.drawn[large]/10)), time.Now()
	if err := f.round(large, int(awards/draw.CountMax), nil); err != nil {
		return err
	}
	took[millionDraws] = time.Since(begun).Seconds() * 1e6 / float64(awards)
	m := f.Metrics(f.Instances[0])
	took[serviceMemory] = m["process_resident_memory_bytes"] / 1e6
	return nil
}

func (f *filler) measureKeys(took map[string]float64) error {
	var all []float64
	for _, o := range f.known {
		body := fmt.Sprintf(`{"pool":%q,"user":%q,"count":%d}`, o.Pool, o.User, o.Count)
		begun := time.Now()
		text, status, err := harness.Call(f.Ctx, http.MethodPost, f.Instances[0].URL()+"/draw", body, "Idempotency-Key", o.Key)
		all = append(all, report.Milliseconds(time.Since(begun)))
		var said struct {
			Replayed bool            `json:"replayed"`
			Awards   []history.Award `json:"awards"`
		}
		if err == nil {
			err = json.Unmarshal(text, &said)
		}
		if err != nil || !said.Replayed || !slices.Equal(said.Awards, o.Awards) {
			f.Verdict.Say(history.AnswersDiffer, "%s: a retry gave %d %.300s %v", &o, status, text, err)
		}
	}
	took[knownKey] = median(all)
	return nil
}

// page is a page of the feed.
type page struct {
	Awards []json.RawMessage `json:"awards"`
	Next   string            `json:"next"`
}

func (f *filler) feedPage(after string) (p page, took time.Duration, err error) {
	begun := time.Now()
	err = harness.FetchJSON(f.Ctx, f.Instances[0].URL()+"/admin/awards?limit=1000&after="+url.QueryEscape(after), &p)
	return p, time.Since(begun), err
}

// measureFeed reads pages from the cursor that is nearest to the middle.
func (f *filler) measureFeed(took map[string]float64) error {
	middle := slices.MinFunc(f.places, func(a, b feedPlace) int {
		return cmp.Compare(max(a.awards-f.drawn[large]/2, f.drawn[large]/2-a.awards), max(b.awards-f.drawn[large]/2, f.drawn[large]/2-b.awards))
	})
	var all []float64
	for after := middle.cursor; len(all) < tries; {
		p, took, err := f.feedPage(after)
		if err != nil {
			return err
		}
		if len(p.Awards) == 0 { // few awards have few pages
			break
		}
		all, after = append(all, report.Milliseconds(took)), p.Next
	}
	if len(all) == 0 {
		f.Verdict.Say(history.Fault, "the feed ends in its middle")
	}
	took[feedTime] = median(all)
	return nil
}

// measurePage makes the calls of the admin page, except those that read everything.
func (f *filler) measurePage(took map[string]float64) error {
	for _, c := range adminpage.Calls(large, int(f.since[large]), `{"win":"1/2","fallback":"none"}`) {
		if c.IsWhole() {
			continue
		}
		t, err := c.Measure(f.Ctx, f.Instances[0].URL())
		if err != nil {
			f.Verdict.Say(history.Fault, "%v", err)
			continue
		}
		if ms := report.Milliseconds(t.Median); ms > took[pageTime] {
			took[pageTime] = ms
			harness.Say(f.out, "%s: %.0f ms\n", c.Path, ms)
		}
	}
	return nil
}

// measureCommand measures a command of the service; a broken rule is added to the
// verdict.
func (f *filler) measureCommand(rule string, args ...string) (harness.Measured, error) {
	m, err := harness.Measure(exec.CommandContext(f.Ctx, filepath.Join(stage.Bin, stage.Released), args...)) //nolint:gosec // its own program
	if err == nil && m.Code != 0 {
		f.Verdict.Say(rule, "drawsvc %s ended with code %d: %s", args[0], m.Code, m.Says)
	}
	return m, err
}

func (f *filler) measureAudits(took map[string]float64) error {
	plain, err := f.measureCommand(history.AuditDiffers, "audit", "--pool", large, "--database", f.URL)
	if err != nil {
		return err
	}
	deep, err := f.measureCommand(history.AuditDiffers, "audit", "--deep", "--pool", large, "--database", f.URL)
	took[auditTime], took[auditMemory] = plain.Took.Seconds(), megabytes(plain.Memory)
	took[deepTime], took[deepMemory] = deep.Took.Seconds(), megabytes(deep.Memory)
	return err
}

// measureProof closes a committed pool, exports and verifies it.
func (f *filler) measureProof(pool string, took map[string]float64) error {
	folder := filepath.Join(f.Site.TempDir(), "proof")
	defer func() { _ = os.RemoveAll(folder) }()
	if _, err := f.measureCommand(history.Fault, "pool", "close", pool, "--reveal", "--seed-identity-file", stage.SeedIdentity, "--database", f.URL); err != nil {
		return err
	}
	export, err := f.measureCommand(history.Fault, "pool", "export-proof", "--pool", pool, folder, "--seed-identity-file", stage.SeedIdentity, "--database", f.URL)
	if err != nil {
		return err
	}
	verify, err := f.measureCommand(history.Fault, "verify", folder)
	took[exportTime], took[verifyTime], took[verifyMemory] = export.Took.Seconds(), verify.Took.Seconds(), megabytes(verify.Memory)
	harness.Say(f.out, "%s\n", verify.Says)
	return err
}

// measureBackup makes a dump, restores it beside the database as docs/backup.md
// describes, audits the copy, and migrates it while draws run.
func (f *filler) measureBackup(took map[string]float64) error {
	folder := f.Site.TempDir()
	defer func() { _ = os.RemoveAll(folder) }()
	of, err := url.Parse(f.URL)
	if err != nil {
		return err
	}
	own, err := f.databaseBytes(of.Path[1:])
	if err != nil {
		return err
	}
	took[databaseSize] = gigabytes(own)
	b := backup{Site: f.Site, server: f.Server.URL(), kind: f.Kind, database: of.Path[1:], file: filepath.Join(folder, "dump")}
	dump, err := harness.MustMeasure(b.dump(f.Ctx))
	if err != nil {
		return err
	}
	written, _, err := harness.SizeOf(folder)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := b.restore(f.Ctx); err != nil {
		return err
	}
	defer b.drop()
	took[dumpTime], took[dumpSize], took[restoreTime] = dump.Took.Seconds(), gigabytes(written), time.Since(begun).Seconds()
	all, _, err := harness.SizeOf(f.Server.Dir(), folder)
	if err != nil {
		return err
	}
	took[diskPeak] = gigabytes(all)
	audit, err := f.measureCommand(history.AuditDiffers, "audit", "--pool", large, "--database", b.url())
	if err != nil {
		return err
	}
	took[copyAudit] = audit.Took.Seconds()
	return f.measureMigration(b.url(), took)
}

// databaseBytes returns the bytes of rows and indexes.
func (f *filler) databaseBytes(name string) (int64, error) {
	if f.Kind == "postgres" {
		return f.Count(f.Ctx, "SELECT pg_database_size(current_database())")
	}
	n, _, err := harness.SizeOf(filepath.Join(f.Server.Dir(), "data", name))
	return n, err
}

// measureMigration runs the migration of stocktest's next release while callers draw.
func (f *filler) measureMigration(database string, took map[string]float64) error {
	service, err := harness.Launch(f.Ctx, f.Site, filepath.Join(stage.Bin, stage.Released),
		place.ServeArgs("127.0.0.1:0", database, "for-update", "--request-timeout", timeout.String())...)
	if err != nil {
		return err
	}
	store, err := stock.Open(f.Ctx, database, stock.Options{Migrations: stocktest.Additive(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	ctx, end := context.WithCancel(f.Ctx)
	var mu sync.Mutex
	var callers sync.WaitGroup
	for n := range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				begun := time.Now()
				text, status, err := harness.Call(f.Ctx, http.MethodPost, service.URL+"/draw", fmt.Sprintf(`{"pool":%q,"user":"user-%d"}`, large, n))
				mu.Lock()
				took[migrateDraw] = max(took[migrateDraw], report.Milliseconds(time.Since(begun)))
				mu.Unlock()
				if err != nil || status != http.StatusOK {
					f.Verdict.Say(history.Fault, "a draw during the migration: %d %.300s %v", status, text, err)
					return
				}
			}
		})
	}
	time.Sleep(time.Second)
	begun := time.Now()
	err = store.Migrate(f.Ctx)
	migrated := time.Since(begun)
	end()
	callers.Wait()
	took[migrateTime] = migrated.Seconds()
	return errors.Join(err, service.Stop())
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// median returns 0 for no figures.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}
