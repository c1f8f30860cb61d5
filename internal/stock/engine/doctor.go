package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
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

// Serving tells a check-up how the service is going to be run.
type Serving struct {
	// Lock is the scheme of external mode's lock, such as "table".
	Lock string
	// LockTTL and LockWait are its lease and the longest wait for it.
	LockTTL, LockWait time.Duration
}

// Doctor is what a check-up asks of one kind of database.
type Doctor struct {
	// Vitals reads the settings and the state that the rules read, as a session of the
	// service sees them. tables are the service's.
	Vitals func(ctx context.Context, e *Engine, tables []string) (Vitals, error)
	Rules  func() []Rule
}

// Vitals are settings and states of a database by their names.
type Vitals map[string]string

// Has reports whether a setting has one of the values, whatever their case.
func (v Vitals) Has(name string, values ...string) bool {
	return slices.ContainsFunc(values, func(bad string) bool { return strings.EqualFold(v[name], bad) })
}

// Shorter returns what is wrong with a time limit, in units of unit and 0 for none, that
// ends what may last for longer, "" for nothing.
func (v Vitals) Shorter(name string, unit, than time.Duration) string {
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

// Rule is one thing that a database can have wrong.
type Rule struct {
	Name  string
	Level Level
	// Broken returns what is wrong, "" for nothing.
	Broken      func(v Vitals, o Serving) string
	Why, Remedy string
	// LosesVersions is set where a failover may lose versions.
	LosesVersions bool
}

// LosingVersions returns the rule as one of a failover that may lose versions.
func (r Rule) LosingVersions() Rule {
	r.LosesVersions = true
	return r
}

// NewRule returns a rule of a database.
func NewRule(name string, level Level, broken func(v Vitals, o Serving) string, why, remedy string) Rule {
	return Rule{Name: name, Level: level, Broken: broken, Why: why, Remedy: remedy}
}
