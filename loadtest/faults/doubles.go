package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// double is the service with a law left out of its source. It is built from the
// source as it is, with some places replaced, so that the released program
// holds no switch for it.
type double struct {
	program string
	// flaw is what it does wrong, in the words of the page.
	flaw  string
	edits []edit
}

// edit replaces a text that the source holds once.
type edit struct{ from, to string }

// The doubles.
const (
	refusesKnown   = "drawsvc-refuses-known"
	keepsLooks     = "drawsvc-keeps-looks"
	picksAgain     = "drawsvc-picks-again"
	versionsAlone  = "drawsvc-versions-alone"
	trustsStandbys = "drawsvc-trusts-standbys"
	heedless       = "drawsvc-heedless"
	noTurns        = "drawsvc-no-turns"
	unfenced       = "drawsvc-unfenced"
	excludes       = "drawsvc-excludes"
	trustsFiles    = "drawsvc-trusts-files"
)

func doubles() []double {
	return []double{
		{refusesKnown, "the service, which refuses a key without a look at the log", []edit{
			{`w.mayBeKnown() && !w.asked {`, `w.mayBeKnown() && !w.asked && false {`},
		}},
		{keepsLooks, "the service, which refuses a key by what the log said in an attempt before", []edit{
			{`w.asked, w.Known = false, nil`, `_ = w`},
		}},
		{picksAgain, "the service, which picks again after a write that failed", []edit{
			{`u.deck.of(version)`, `newDeck().of(version)`},
		}},
		{versionsAlone, "the service, which knows a history by its version alone", []edit{
			{` && h.Mark == other.Mark }`, ` }`},
			{` && h.Trail.has(other.Mark)`, ``},
			{` AND mark = $10`, ` AND $10::bigint IS NOT NULL`},
			{` AND pools.mark = planned.mark`, ``},
			{` AND mark = ?`, ` AND ? IS NOT NULL`},
		}},
		{trustsStandbys, "the service, which refuses on the word of any server", []edit{
			{`NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'`, `TRUE`},
			{`@@global.read_only IN ('0', 'OFF')`, `TRUE`},
		}},
		{heedless, "the service, whose changes do not heed the end of the wait for a standby", []edit{
			{`s.engine.Commit == nil`, `s.engine.Commit == nil || true`},
		}},
		{unfenced, "the service, whose jobs neither end with their lock nor are fenced", []edit{
			{`context.WithTimeoutCause(ctx, d.Max, `, `context.WithTimeoutCause(context.WithoutCancel(ctx), 10*d.Max, `},
			{`if r.Token != run.Token || r.Status != job.StatusRunning {`, `if false {`},
		}},
		{noTurns, "the service, whose optimistic draws never lock the row", []edit{
			{`lockLast: true`, `lockLast: false`},
		}},
		{trustsFiles, "the service, which takes an open file for the one at its path", []edit{
			{`case !os.SameFile(is, opened):`, `case false && !os.SameFile(is, opened):`},
		}},
		{excludes, "the service's next release, whose schema does not admit the present one", nextSchema("Excluding")},
	}
}

// nextSchema gives the service a schema of package stocktest, which is one
// ahead of its own.
func nextSchema(name string) []edit {
	return []edit{
		{`start(migrations.Embedded())`, `start(stocktest.` + name + `())`},
		{`"syscall"

	"drawsvc/db/migrations"
)`, `"syscall"

	"drawsvc/db/migrations"
	"drawsvc/internal/stock/stocktest"
)`},
	}
}

// edited are all programs that are made of an edited source.
func edited() []double {
	return append(doubles(), double{ahead, "", nextSchema("Additive")})
}

// doubleOf finds the double that a program is.
func doubleOf(program string) (double, bool) { return find(doubles(), program) }

func find(all []double, program string) (double, bool) {
	for _, d := range all {
		if d.program == program {
			return d, true
		}
	}
	return double{}, false
}

// overlay writes the double's files into a folder, and returns the file for the
// flag -overlay of the go command. The repository's root is given.
func (d *double) overlay(root, folder string) (string, error) {
	texts, err := sources(filepath.Join(root, "internal"), filepath.Join(root, "cmd"))
	if err != nil {
		return "", err
	}
	changed := map[string]bool{}
	for _, e := range d.edits {
		found := 0
		for file, text := range texts {
			if n := strings.Count(text, e.from); n > 0 {
				found += n
				texts[file], changed[file] = strings.Replace(text, e.from, e.to, 1), true
			}
		}
		if found != 1 {
			return "", fmt.Errorf("%s: the source holds %q %d times, and has to hold it once", d.program, e.from, found)
		}
	}
	replaced := map[string]string{}
	for file := range changed {
		to := filepath.Join(folder, fmt.Sprint(d.program, "-", len(replaced), ".go"))
		if err := os.WriteFile(to, []byte(texts[file]), 0o600); err != nil {
			return "", err
		}
		replaced[file] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, d.program+".json")
	return file, os.WriteFile(file, text, 0o600)
}

// sources are the texts of the packages in the folders, without tests and fault
// points, by their files.
func sources(folders ...string) (texts map[string]string, err error) {
	texts = map[string]string{}
	add := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "fault":
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		texts[path] = string(text)
		return err
	}
	for _, folder := range folders {
		err = errors.Join(err, filepath.WalkDir(folder, add))
	}
	return texts, err
}
