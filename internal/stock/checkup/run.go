package checkup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/stock"
	"drawsvc/internal/stock/engine"
)

// The types of a check-up: see package engine.
type (
	// Level is how much a finding of a check-up matters.
	Level = engine.Level
	// Finding is something that a check-up found in the database.
	Finding = engine.Finding
	// Options describe to a check-up how the service will run.
	Options = engine.Serving
)

// The levels, from the worst.
const (
	LevelDanger  = engine.LevelDanger
	LevelWarning = engine.LevelWarning
	LevelNote    = engine.LevelNote
)

// Run reads the database's settings and returns the findings about them, the worst first:
// a finding endangers the service's promises, or may surprise. Run writes nothing to the
// database. On SQLite it creates and removes a file beside the database file. Error:
// CodeStoreUnavailable if the database does not answer.
func Run(ctx context.Context, s *stock.Store, o Options) ([]Finding, error) {
	e := s.Engine()
	v, err := e.Doctor.Vitals(ctx, e, stock.Tables())
	if err != nil {
		return nil, engine.PublicRead(engine.Classify(err, e.ByCode))
	}
	committed, err := s.PublicHeads(ctx, "")
	if err != nil { // the schema is older; checkSchema reports that
		committed = nil
	}
	var found []Finding
	for _, r := range e.Doctor.Rules() {
		if detail := r.Broken(v, o); detail != "" {
			found = append(found, findingOf(&r, detail, len(committed)))
		}
	}
	for _, check := range []func(context.Context, *stock.Store) ([]Finding, error){checkClock, checkStored} {
		more, err := check(ctx, s)
		found = append(found, more...) // a damaged file may make its schema unreadable
		if err != nil && !slices.ContainsFunc(found, func(f Finding) bool { return f.Level == LevelDanger }) {
			return nil, err
		}
	}
	Sort(found)
	return found, nil
}

// Sort puts the worst findings first, and keeps the order of findings of the same level.
func Sort(found []Finding) {
	worst := []Level{LevelDanger, LevelWarning, LevelNote}
	slices.SortStableFunc(found, func(a, b Finding) int { return slices.Index(worst, a.Level) - slices.Index(worst, b.Level) })
}

// findingOf returns the finding of a rule. If a failover may lose versions, that is a
// danger as soon as a pool is committed to its numbers: its log would fork.
func findingOf(r *engine.Rule, detail string, committed int) Finding {
	f := Finding{Level: r.Level, Rule: r.Name, Detail: detail, Why: r.Why, Remedy: r.Remedy}
	if committed > 0 && r.LosesVersions {
		f.Level = LevelDanger
		f.Why += fmt.Sprintf("; %d pools are committed to their numbers: their signed logs would disagree with the rows, and later draws get the outcomes again "+
			"that were lost, which somebody has seen", committed)
	}
	return f
}

// A difference between the clocks that exceeds one of these gives a finding.
const (
	clockWarning = time.Second
	clockDanger  = time.Minute
)

// checkClock compares the database's clock with this machine's.
func checkClock(ctx context.Context, s *stock.Store) ([]Finding, error) {
	e := s.Engine()
	if e.Clock == "" {
		return nil, nil
	}
	var there time.Time
	before := time.Now()
	if err := e.Read.QueryRowContext(ctx, `SELECT `+e.Clock).Scan(&there); err != nil {
		return nil, engine.PublicRead(engine.Classify(err, e.ByCode))
	}
	trip := time.Since(before)
	off := there.Sub(before.Add(trip / 2))
	if off.Abs() <= clockWarning+trip/2 { // the database read its clock at some moment of the round trip
		return nil, nil
	}
	f := Finding{
		Level: LevelWarning, Rule: "clock",
		Detail: fmt.Sprintf("the database's clock is %s %s this machine's", off.Abs().Round(time.Second), aheadOrBehind(off)),
		Why:    "times of awards, windows of limits and the end of tickets follow the database's clock: callers and logs follow others",
		Remedy: "synchronize the clocks of all machines (NTP)",
	}
	if off.Abs() > clockDanger {
		f.Level = LevelDanger
		f.Why = "one of the clocks is wrong: where it is the database's, awards bear times at which they were not won, and days of limits begin wrongly"
	}
	return []Finding{f}, nil
}

func aheadOrBehind(off time.Duration) string {
	if off > 0 {
		return "ahead of"
	}
	return "behind"
}

// checkSchema compares the schema with the one that this binary needs.
func checkSchema(ctx context.Context, s *stock.Store, schema stock.Schema) ([]Finding, error) {
	found := judgeSchema(schema, s.Engine().BackupTools == "")
	if schema.Current < schema.Target {
		return found, nil // some tables do not exist yet
	}
	missing, err := s.MissingTables(ctx)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		found = append(found, Finding{
			Level: LevelDanger, Rule: "tables", Detail: "there is no table " + strings.Join(missing, ", ") + ", although the schema's version says so",
			Why: "draws fail, or what the missing tables said is lost", Remedy: "restore the database from a backup, then run `drawsvc audit`",
		})
	}
	return found, nil
}

// judgeSchema returns a finding unless the schema is the one that this binary knows.
func judgeSchema(schema stock.Schema, embedded bool) []Finding {
	f := Finding{Rule: "schema", Detail: fmt.Sprintf("the schema has version %d, this drawsvc knows %d", schema.Current, schema.Target)}
	const migrate = "run `drawsvc migrate up`, or serve with --migrate"
	switch refused := schema.Check() != nil; {
	case refused && schema.Current >= schema.Oldest:
		f.Level = LevelDanger
		f.Why = "the schema does not admit this drawsvc: it refuses to start, and refuses draws where it runs already"
		f.Remedy = "run a newer drawsvc"
	case refused && embedded:
		f.Level, f.Why, f.Remedy = LevelNote, "the next command that writes brings an embedded database up to date by itself", "none is needed"
	case refused:
		f.Level, f.Why, f.Remedy = LevelDanger, "drawsvc refuses to serve", migrate
	case schema.Current < schema.Target:
		f.Level, f.Why, f.Remedy = LevelWarning, "drawsvc can work on this schema, but the next release need not", migrate
	case schema.Current > schema.Target:
		f.Level, f.Why = LevelNote, "the schema admits this drawsvc, but need not after the next migration"
		f.Remedy = "replace this drawsvc by the release that brought the schema"
	default:
		return nil
	}
	return []Finding{f}
}
