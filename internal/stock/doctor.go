package stock

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"drawsvc/internal/stock/engine"
)

// Level says how much a finding of a check-up matters.
type Level string

// The levels, from the worst.
const (
	// LevelDanger: what the service promises does not hold, or not for long.
	LevelDanger Level = "danger"
	// LevelWarning: the promises hold, at a price that may surprise.
	LevelWarning Level = "warning"
	// LevelNote is worth knowing.
	LevelNote Level = "note"
)

// Finding is something about the database that a check-up found.
type Finding struct {
	Level Level
	// Rule is a short word that stays the same, such as "fsync".
	Rule string
	// Detail is what was found, Why what it endangers, Remedy what to do.
	Detail, Why, Remedy string
}

// CheckUpOptions tell a check-up how the service is going to be run.
type CheckUpOptions struct {
	// Lock is the scheme of external mode's lock, such as "table".
	Lock string
	// LockTTL and LockWait are its lease and the longest wait for it.
	LockTTL, LockWait time.Duration
}

// doctor is what a check-up asks of one kind of database.
type doctor struct {
	// clock reads the database's clock; "" where it is this machine's.
	clock string
	// vitals reads the settings and the state that the rules look at, as a
	// session of the service sees them.
	vitals func(ctx context.Context, s *Store) (vitals, error)
	rules  func() []rule
}

// doctors has one for each dialect.
func doctors() map[string]doctor {
	return map[string]doctor{"sqlite": sqliteDoctor(), "postgres": postgresDoctor(), "mysql": mysqlDoctor()}
}

// vitals are settings and states of a database by their names.
type vitals map[string]string

// rule is one thing that a database can have wrong.
type rule struct {
	name  string
	level Level
	// broken says what is wrong, "" for nothing.
	broken      func(v vitals, o CheckUpOptions) string
	why, remedy string
}

// CheckUp reads the database's settings and returns what endangers the
// service's promises there, or may surprise, the worst first. It writes
// nothing to the database; on SQLite it makes and removes a file beside it.
// Errors: CodeStoreUnavailable when the database does not answer.
func (s *Store) CheckUp(ctx context.Context, o CheckUpOptions) ([]Finding, error) {
	doctor := doctors()[s.Dialect()]
	v, err := doctor.vitals(ctx, s)
	if err != nil {
		return nil, engine.Public(engine.Classify(err, s.engine.ByCode))
	}
	var found []Finding
	for _, r := range doctor.rules() {
		if detail := r.broken(v, o); detail != "" {
			found = append(found, Finding{Level: r.level, Rule: r.name, Detail: detail, Why: r.why, Remedy: r.remedy})
		}
	}
	for _, check := range []func(context.Context) ([]Finding, error){s.checkClock, s.checkSchema} {
		more, err := check(ctx)
		if err != nil && !slices.ContainsFunc(found, func(f Finding) bool { return f.Level == LevelDanger }) {
			return nil, err
		}
		found = append(found, more...) // a damaged file may not let its schema be read
	}
	worst := []Level{LevelDanger, LevelWarning, LevelNote}
	slices.SortStableFunc(found, func(a, b Finding) int { return slices.Index(worst, a.Level) - slices.Index(worst, b.Level) })
	return found, nil
}

// The differences of clocks that are worth a word.
const (
	clockWarning = time.Second
	clockDanger  = time.Minute
)

// checkClock compares the database's clock with this machine's.
func (s *Store) checkClock(ctx context.Context) ([]Finding, error) {
	clock := doctors()[s.Dialect()].clock
	if clock == "" {
		return nil, nil
	}
	var there time.Time
	before := time.Now()
	if err := s.engine.Read.QueryRowContext(ctx, clock).Scan(&there); err != nil {
		return nil, engine.Public(engine.Classify(err, s.engine.ByCode))
	}
	trip := time.Since(before)
	off := there.Sub(before.Add(trip / 2))
	if off.Abs() <= clockWarning+trip/2 { // it was read at any moment of the trip
		return nil, nil
	}
	f := Finding{
		Level: LevelWarning, Rule: "clock",
		Detail: fmt.Sprintf("the database's clock is %s %s this machine's", off.Abs().Round(time.Second), aheadOrBehind(off)),
		Why:    "instances stamp awards with their machines' clocks: those of several are out of order in time, though never in version",
		Remedy: "synchronize the clocks of all machines (NTP)",
	}
	if off.Abs() > clockDanger {
		f.Level = LevelDanger
		f.Why = "one of the clocks is wrong: awards bear times at which they were not won"
	}
	return []Finding{f}, nil
}

func aheadOrBehind(off time.Duration) string {
	if off > 0 {
		return "ahead of"
	}
	return "behind"
}

// checkSchema compares the schema with what this binary needs.
func (s *Store) checkSchema(ctx context.Context) ([]Finding, error) {
	schema, err := s.Schema(ctx)
	if err != nil {
		return nil, err
	}
	found := s.judgeSchema(schema)
	if schema.Current < schema.Target {
		return found, nil // and not all tables are made
	}
	missing, err := s.missingTables(ctx)
	if err != nil {
		return nil, err
	}
	if len(missing) > 0 {
		found = append(found, Finding{
			LevelDanger, "tables", "there is no table " + strings.Join(missing, ", ") + ", although the schema's version says so",
			"draws fail, or what the missing tables said is lost", "restore the database from a backup, then run `drawsvc audit`",
		})
	}
	return found, nil
}

// judgeSchema says whether this binary can work on the schema, and how long.
func (s *Store) judgeSchema(schema Schema) []Finding {
	f := Finding{Rule: "schema", Detail: fmt.Sprintf("the schema has version %d, this drawsvc knows %d", schema.Current, schema.Target)}
	const migrate = "run `drawsvc migrate up`, or serve with --migrate"
	switch refused := schema.Check() != nil; {
	case refused && schema.Current >= schema.Oldest:
		f.Level = LevelDanger
		f.Why = "the schema does not admit this drawsvc: it refuses to start, and refuses draws where it runs already"
		f.Remedy = "run a newer drawsvc"
	case refused && s.engine.Name == "sqlite":
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

// tables are the names of all tables that the migrations make.
func tables() []string {
	return []string{"schema_admits", "pools", "prizes", "awards", "moves", "locks", "lock_rows", "lock_tokens"}
}

func (s *Store) missingTables(ctx context.Context) (missing []string, err error) {
	for _, table := range tables() {
		err := s.engine.Read.QueryRowContext(ctx, `SELECT COUNT(*) FROM `+table+` WHERE 1 = 0`).Scan(new(int))
		if err == nil {
			continue
		}
		if s.engine.ByCode(err) == nil || !s.engine.IsNoTable(err) {
			return nil, engine.Public(engine.Classify(err, s.engine.ByCode))
		}
		missing = append(missing, table)
	}
	return missing, nil
}

// readVitals adds the pairs of names and values that a query answers.
func (s *Store) readVitals(ctx context.Context, v vitals, query string) error {
	type pair struct{ name, value string }
	pairs, err := engine.QueryAll(ctx, s.engine.Read, func(row engine.Scanner) (p pair, err error) {
		err = row.Scan(&p.name, &p.value)
		return p, err
	}, query)
	for _, p := range pairs {
		v[strings.ToLower(p.name)] = p.value
	}
	return err
}

// has says that a setting has one of the values, whatever their case.
func (v vitals) has(name string, values ...string) bool {
	return slices.ContainsFunc(values, func(bad string) bool { return strings.EqualFold(v[name], bad) })
}

// setTo is broken when a setting has one of the values.
func setTo(name string, values ...string) func(vitals, CheckUpOptions) string {
	return func(v vitals, _ CheckUpOptions) string {
		if _, known := v[name]; known && v.has(name, values...) {
			return name + " = " + v[name]
		}
		return ""
	}
}

// notSetTo is broken when a setting has none of the values.
func notSetTo(name string, values ...string) func(vitals, CheckUpOptions) string {
	return func(v vitals, _ CheckUpOptions) string {
		if v.has(name, values...) {
			return ""
		}
		return name + " = " + v[name]
	}
}

// shorter is broken when a time limit, in units of unit and 0 for none, ends
// what may last for longer.
func (v vitals) shorter(name string, unit, than time.Duration) string {
	limit, err := time.ParseDuration(v[name] + "s")
	if err != nil {
		return "" // there is no such setting
	}
	limit = time.Duration(limit.Seconds() * float64(unit))
	if limit <= 0 || limit >= than {
		return ""
	}
	return fmt.Sprintf("%s = %s", name, limit)
}
