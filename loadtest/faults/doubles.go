package main

import (
	"encoding/json"
	"fmt"
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

// edit replaces a text that occurs once in a file, which is named from the root
// of the repository.
type edit struct{ file, from, to string }

// The doubles.
const (
	refusesKnown   = "drawsvc-refuses-known"
	keepsLooks     = "drawsvc-keeps-looks"
	picksAgain     = "drawsvc-picks-again"
	versionsAlone  = "drawsvc-versions-alone"
	trustsStandbys = "drawsvc-trusts-standbys"
	heedless       = "drawsvc-heedless"
	noTurns        = "drawsvc-no-turns"
)

func doubles() []double {
	return []double{
		{refusesKnown, "the service, which refuses a key without a look at the log", []edit{
			{"internal/draw/log.go", `w.mayBeKnown() && !w.asked {`, `w.mayBeKnown() && !w.asked && false {`},
		}},
		{keepsLooks, "the service, which refuses a key by what the log said in an attempt before", []edit{
			{"internal/draw/log.go", `w.asked, w.known = false, nil`, `_ = w`},
		}},
		{picksAgain, "the service, which picks again after a write that failed", []edit{
			{"internal/draw/urn.go", `u.deck.of(version)`, `newDeck().of(version)`},
		}},
		{versionsAlone, "the service, which knows a history by its version alone", []edit{
			{"internal/draw/head.go", ` && h.Mark == other.Mark }`, ` }`},
			{"internal/draw/head.go", ` && h.Trail.has(other.Mark)`, ``},
			{"internal/stock/postgres_tx.go", ` AND mark = $16`, ` AND $16::bigint IS NOT NULL`},
			{"internal/stock/postgres_joint.go", ` AND pools.mark = planned.mark`, ``},
			{"internal/stock/sql_tx.go", ` AND mark = ?`, ` AND ? IS NOT NULL`},
		}},
		{trustsStandbys, "the service, which refuses on the word of any server", []edit{
			{"internal/stock/postgres_tx.go", `NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off'`, `TRUE`},
			{"internal/stock/mysql.go", `@@global.read_only IN ('0', 'OFF')`, `TRUE`},
		}},
		{heedless, "the service, whose changes do not heed the end of the wait for a standby", []edit{
			{"internal/stock/query.go", `s.dialect.commit == nil`, `s.dialect.commit == nil || true`},
		}},
		{noTurns, "the service, whose optimistic draws never lock the row", []edit{
			{"internal/lockmode/optimistic.go", `lockLast: true`, `lockLast: false`},
		}},
	}
}

// doubleOf finds the double that a program is.
func doubleOf(program string) (double, bool) {
	for _, d := range doubles() {
		if d.program == program {
			return d, true
		}
	}
	return double{}, false
}

// overlay writes the double's files into a folder, and returns the file for the
// flag -overlay of the go command. The repository's root is given.
func (d *double) overlay(root, folder string) (string, error) {
	replaced := map[string]string{}
	for n, e := range d.edits {
		source := filepath.Join(root, e.file)
		from := source
		if replaced[source] != "" {
			from = replaced[source] // it has been edited already
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if strings.Count(string(text), e.from) != 1 {
			return "", fmt.Errorf("%s: %s does not hold %q once", d.program, e.file, e.from)
		}
		to := filepath.Join(folder, fmt.Sprint(d.program, "-", n, ".go"))
		if err := os.WriteFile(to, []byte(strings.Replace(string(text), e.from, e.to, 1)), 0o600); err != nil {
			return "", err
		}
		replaced[source] = to
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, d.program+".json")
	return file, os.WriteFile(file, text, 0o600)
}
