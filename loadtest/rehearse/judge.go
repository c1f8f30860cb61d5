package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"drawsvc/loadtest/faults/history"
	"drawsvc/loadtest/report"
)

// evidence holds the observations of callers during an evening, and the deployment's
// data about it.
type evidence struct {
	ops   []history.Op
	audit audit
	// rows are the pool's log as an operator reads it, sql is the same log read by SQL,
	// nil if SQL cannot reach the database.
	rows history.Rows
	sql  *history.Rows
	// closed is the version that closed the pool, 0 if it was not closed.
	closed int64
	// k6 are the thresholds that the script crossed.
	k6       []string
	verified []check
}

type audit struct {
	OK         bool                `json:"ok"`
	Version    int64               `json:"version"`
	Violations []history.Violation `json:"violations"`
	Prizes     []struct {
		Prize           string `json:"prize"`
		Stocked, Issued int64
	} `json:"prizes"`
}

// logEntry is a line of a pool's log.
type logEntry struct {
	Kind    string `json:"kind"`
	Version int64  `json:"version"`
	Draw    string `json:"draw"`
	Ordinal int    `json:"ordinal"`
	User    string `json:"user"`
	Prize   string `json:"prize"`
	Unit    int64  `json:"unit"`
	Delta   int64  `json:"delta"`
	Stocked int64  `json:"stocked"`
	Issued  int64  `json:"issued"`
	What    string `json:"what"`
	Body    struct {
		State string `json:"state"`
	} `json:"body"`
}

// read reads a pool's log, a JSON object on each line. Version and counters come from
// the audit.
func (e *evidence) read(pool string, log []byte) error {
	e.rows = history.Rows{Pool: pool, Version: e.audit.Version}
	for _, p := range e.audit.Prizes {
		e.rows.Prizes = append(e.rows.Prizes, history.PrizeRow{ID: p.Prize, Stocked: p.Stocked, Issued: p.Issued})
	}
	lines := bufio.NewScanner(bytes.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l logEntry
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("the log of %s: %w", pool, err)
		}
		switch l.Kind {
		case "award":
			e.rows.Awards = append(e.rows.Awards, history.AwardRow{Version: l.Version, Draw: l.Draw, Ordinal: l.Ordinal, User: l.User, Prize: l.Prize, Unit: l.Unit})
		case "move":
			e.rows.Moves = append(e.rows.Moves, history.MoveRow{Version: l.Version, Prize: l.Prize, Delta: l.Delta, Stocked: l.Stocked, Issued: l.Issued})
		default:
			e.rows.Changes = append(e.rows.Changes, l.Version)
			if l.What == "state" && l.Body.State == "closed" {
				e.closed = l.Version
			}
		}
	}
	return lines.Err()
}

// check is one law of an evening, and whether it held.
type check struct {
	report.Outcome
	Faults []string `json:"faults"`
}

func newCheck(name, skipped string, faults ...error) check {
	c := check{Outcome: report.Outcome{Name: name, Skipped: skipped}, Faults: []string{}}
	for _, fault := range faults {
		if fault != nil {
			c.Faults = append(c.Faults, fault.Error())
		}
	}
	c.Passed = skipped == "" && len(c.Faults) == 0
	return c
}

// checks judges the evidence by the laws of the fault experiments.
func (e *evidence) checks() []check {
	var v history.Verdict
	history.Laws(&v, e.rows)
	history.Match(&v, e.ops, e.rows, history.Terms{})
	broken := map[string][]error{}
	for _, violation := range v.Violations {
		broken[violation.Rule] = append(broken[violation.Rule], errors.New(violation.String()))
	}
	law := func(name string, rules ...string) check {
		var faults []error
		for _, rule := range rules {
			faults = append(faults, broken[rule]...)
			delete(broken, rule)
		}
		return newCheck(name, "", faults...)
	}
	all := []check{
		law("issued is never above stock", history.OverIssued, history.UnitTwice, history.Counters),
		law("every acknowledged award is in the log", history.AcknowledgedLost, history.AnswersDiffer),
		law("a key is one draw of one user", history.DrawTwice),
		law("the log has no award that nobody requested or that was refused", history.Unasked, history.NothingHappened),
		law("no version is missing or duplicate", history.Versions),
		newCheck("callers drew, and nothing is awarded after the close", "", e.drew()),
		newCheck("the audit is clean", "", e.audited()),
	}
	for _, rest := range broken {
		all = append(all, newCheck("the other laws", "", rest...))
	}
	skipped := "only the operator can read the rows"
	if e.sql != nil {
		skipped = ""
	}
	all = append(all, newCheck("the rows by SQL are those of the log", skipped, e.sameRows()))
	var crossed []error
	for _, line := range e.k6 {
		crossed = append(crossed, errors.New(line))
	}
	all = append(all, newCheck("the script's own count agrees", "", crossed...))
	return append(all, e.verified...)
}

// drew demands that draws were answered 200, that the pool was closed, and that no award
// is later.
func (e *evidence) drew() error {
	won := 0
	for i := range e.ops {
		if e.ops[i].Won() {
			won++
		}
	}
	last := int64(0)
	for _, a := range e.rows.Awards {
		last = max(last, a.Version)
	}
	switch {
	case won == 0:
		return errors.New("no draw was answered 200")
	case e.closed == 0:
		return errors.New("the pool was not closed")
	case last > e.closed:
		return fmt.Errorf("version %d is an award after the close, version %d", last, e.closed)
	}
	return nil
}

func (e *evidence) audited() error {
	if !e.audit.OK || len(e.audit.Violations) > 0 {
		return fmt.Errorf("the audit reports %v", e.audit.Violations)
	}
	return nil
}

// sameRows compares the log with the rows, whose moves also have keys.
func (e *evidence) sameRows() error {
	if e.sql == nil {
		return nil
	}
	if len(e.sql.Awards) == 0 || !reflect.DeepEqual(e.sql.Awards, e.rows.Awards) {
		return fmt.Errorf("SQL finds %d awards, and the log has %d, or others", len(e.sql.Awards), len(e.rows.Awards))
	}
	return nil
}
