package checkup

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

// Options tell a check-up how the service is going to be run.
type Options struct {
	// Lock is the scheme of external mode's lock, such as "table".
	Lock string
	// LockTTL and LockWait are its lease and the longest wait for it.
	LockTTL, LockWait time.Duration
}

// doctor is what a check-up asks of one kind of database.
type doctor struct {
	// vitals reads the settings and the state that the rules read, as a
	// session of the service sees them.
	vitals func(ctx context.Context, e *engine.Engine) (vitals, error)
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
	broken      func(v vitals, o Options) string
	why, remedy string
}

// finding is what the rule found. Where a failover may lose versions, it is a
// danger once pools are committed to their numbers: their logs fork.
func (r *rule) finding(detail string, committed int) Finding {
	f := Finding{Level: r.level, Rule: r.name, Detail: detail, Why: r.why, Remedy: r.remedy}
	if committed > 0 && (r.name == asynchronousStandby || r.name == asynchronousReplica) {
		f.Level = LevelDanger
		f.Why += fmt.Sprintf("; %d pools are committed to their numbers: their signed logs would disagree with the rows, and later draws get the outcomes again "+
			"that were lost, which somebody has seen", committed)
	}
	return f
}

// The rules by which a failover loses versions.
const (
	asynchronousStandby = "asynchronous-standby"
	asynchronousReplica = "asynchronous-replica"
)

// readVitals adds the pairs of names and values that a query answers.
func readVitals(ctx context.Context, e *engine.Engine, v vitals, query string) error {
	type pair struct{ name, value string }
	pairs, err := engine.QueryAll(ctx, e.Read, func(row engine.Scanner) (p pair, err error) {
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
func setTo(name string, values ...string) func(vitals, Options) string {
	return func(v vitals, _ Options) string {
		if _, known := v[name]; known && v.has(name, values...) {
			return name + " = " + v[name]
		}
		return ""
	}
}

// notSetTo is broken when a setting has none of the values.
func notSetTo(name string, values ...string) func(vitals, Options) string {
	return func(v vitals, _ Options) string {
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
